// SPDX-License-Identifier: Apache-2.0
// An array from Python as an ArrayView of the core: NumPy's, anything with the buffer protocol or DLPack's,
// or an address.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "hemiola/runtime/communicator/call_desk.hpp"

namespace hemiola::bindings {

/// Memory that its owner keeps there: contiguous, and writable.
struct RawMemory {
  /// Throws ArgumentError for a dtype or shape that there is not, and for elements at address 0.
  RawMemory(std::int64_t address, const std::string& dtype, std::vector<std::int64_t> shape);

  std::int64_t address;
  DType dtype;
  std::vector<std::int64_t> shape;
};

/// Holds the buffer while it lives. Needs the GIL when it is made and when it ends.
class ArrayArgument {
 public:
  ArrayArgument() = default;
  ~ArrayArgument();
  ArrayArgument(const ArrayArgument&) = delete;
  ArrayArgument& operator=(const ArrayArgument&) = delete;

  /// Returns the object's error, or nothing.
  std::string take(nanobind::handle object);
  /// The same of a list or tuple of arrays of one size and dtype, as a view of blocks; of anything else as `take`.
  std::string take_blocks(nanobind::handle object);
  /// The same of a list or tuple of arrays of any sizes.
  std::string take_blocks_of_any_size(nanobind::handle object);
  /// Has the view show bytes, whatever lies there.
  void take_as_bytes();
  const ArrayView& view() const { return view_; }

 private:
  std::string take_list(nanobind::handle object, bool of_any_size);
  std::string take_buffer();
  /// NumPy gives no buffer of dtypes it did not define, such as ml_dtypes.bfloat16, but gives the data's
  /// address.
  std::string take_interface(nanobind::handle object);
  /// PyTorch, JAX, CuPy and others.
  std::string take_dlpack(nanobind::handle object);
  void take_raw(const RawMemory& memory);

  Py_buffer buffer_{};
  bool holds_ = false;
  nanobind::object owner_;
  nanobind::ndarray<nanobind::ro> exported_;
  std::vector<std::int64_t> shape_;
  std::vector<std::unique_ptr<ArrayArgument>> parts_;
  ArrayView view_;
};

}  // namespace hemiola::bindings
