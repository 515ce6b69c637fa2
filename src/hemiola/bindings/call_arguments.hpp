// SPDX-License-Identifier: Apache-2.0
// A call as Python makes it, and the values that the core reads out of it. An error in an argument is no
// exception but a complaint, which travels with the operation to the other ranks.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hemiola/bindings/array_argument.hpp"
#include "hemiola/bindings/left_to_python.hpp"
#include "hemiola/runtime/communicator/call_desk.hpp"

namespace hemiola::bindings {

/// The error in an argument; passed in its place.
struct Complaint {
  std::string text;
};

/// The operation that multiplies by a factor of this rank before it adds; passed in place of an operation's name.
struct PremulSum {
  double factor;
};

/// The bytes of an all-to-all's blocks, by giver, then taker; passed in place of a call's `schedule`.
struct BlockTable {
  std::shared_ptr<const std::vector<std::int64_t>> sizes;
};

/// Messages of eight bits an element; passed in place of a call's `sparse`.
struct EightBitMessages {
  nanobind::object residual;
  std::shared_ptr<const std::vector<bool>> rounds_to;  ///< as of Rounding
};

/// A collective or the barrier. Throws ArgumentError for another name.
OperationKind operation_named(std::string_view name);

/// The arguments as they came. Each may be a Complaint or an object of quite another type.
struct PyCall {
  std::string_view kind;
  nanobind::handle input, output, op, root, schedule, timeout_s, sparse;
};

/// A schedule of Python's, whole or in parts, kept alive by a reference to its Python object.
template <typename Made = Schedule>
std::shared_ptr<const Made> share(nanobind::handle object) {
  const Made* made = nanobind::cast<const Made*>(object);
  return {ended_with_gil(new nanobind::object(nanobind::borrow(object))), made};
}

/// The call that the core understands, and the arrays that it views. Needs the GIL when it is made and when it ends.
class CallArguments {
 public:
  explicit CallArguments(const PyCall& from);
  const Call& call() const { return call_; }

 private:
  void read_array(nanobind::handle object, ArrayArgument* argument, std::optional<ArrayView>* view);
  void read_op(nanobind::handle object);
  void read_root(nanobind::handle object);
  void read_schedule(nanobind::handle object);
  void read_timeout(nanobind::handle object);
  void read_sparse(nanobind::handle object);
  /// The first complaint counts. One that came in place of an argument says more than our own finding.
  void complain(nanobind::handle object, const std::string& expected);

  ArrayArgument input_, output_, rest_;
  Call call_;
};

}  // namespace hemiola::bindings
