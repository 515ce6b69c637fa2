// SPDX-License-Identifier: Apache-2.0
// The latest call of one kind of collective, as Python made it, with the operation that it became. A call with the same
// arguments needs no look at them: the operation runs again.
#pragma once

#include <nanobind/nanobind.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "hemiola/runtime/communicator/prepared_call.hpp"

namespace hemiola::bindings {

/// One argument as a later call shows whether it has changed: NumPy's array by its memory, type and shape, even in
/// another object; None, a bool, a number or a text by its identity.
class SeenArgument {
 public:
  /// Nothing where nobody can tell later whether it has changed.
  static std::optional<SeenArgument> of(PyObject* argument);
  bool is(PyObject* argument) const;
  /// Where an array's elements lie; null of anything else.
  const std::byte* memory() const { return data_; }

 private:
  static constexpr int kMostAxes = 4;

  nanobind::object same_;  ///< the argument, or an array's dtype
  const std::byte* data_ = nullptr;
  bool is_array_ = false;
  int flags_ = 0;
  int axes_ = 0;
  std::array<std::intptr_t, kMostAxes> shape_{};
};

/// The array that a call makes for its result.
struct NewResult {
  nanobind::object shape;  ///< a tuple
  nanobind::object dtype;

  /// Throws NumPy's errors.
  nanobind::object make() const;
};

/// All of it is guarded by the GIL; the thread that runs its operation takes it out of its place meanwhile.
class CallMemo {
 public:
  /// A call's positional and keyword arguments, without the communicator, as vectorcall passes them.
  struct Arguments {
    std::span<PyObject* const> values;
    PyObject* names;  ///< of those at the end; null: none has a name
  };

  /// Nothing where the arguments are not of the kinds above, or are not all that the operation depends on.
  static std::unique_ptr<CallMemo> of(const Arguments& arguments, nanobind::handle result,
                                      PreparedCall prepared);

  bool is_for(const Arguments& arguments) const;
  /// The result of the call; a new array is made, and the operation writes there. Throws NumPy's errors.
  nanobind::object result(const Arguments& arguments);
  const PreparedCall& prepared() const { return prepared_; }
  /// So much that others want the GIL meanwhile.
  bool moves_much() const { return moves_much_; }

 private:
  CallMemo() = default;
  bool depends_on_arguments(const std::byte* memory) const;

  std::vector<SeenArgument> seen_;
  nanobind::object names_;
  int result_ = -1;  ///< which argument it is; -1: a new array, or None
  std::optional<NewResult> new_result_;
  PreparedCall prepared_;
  bool moves_much_ = false;
};

}  // namespace hemiola::bindings
