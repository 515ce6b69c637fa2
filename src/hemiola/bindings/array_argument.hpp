// A NumPy array (or anything with the buffer protocol) as an ArrayView of the core.
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <vector>

#include "hemiola/runtime/communicator/call_desk.hpp"

namespace hemiola::bindings {

/// Holds the buffer while it lives. Needs the GIL when it is made and when it ends.
class ArrayArgument {
 public:
  ArrayArgument() = default;
  ~ArrayArgument();
  ArrayArgument(const ArrayArgument&) = delete;
  ArrayArgument& operator=(const ArrayArgument&) = delete;

  /// Returns what is wrong with the object, or nothing.
  std::string take(nanobind::handle object);
  const ArrayView& view() const { return view_; }

 private:
  std::string take_buffer();
  /// NumPy gives no buffer of dtypes it did not define, such as ml_dtypes.bfloat16, but tells where the data is.
  std::string take_interface(nanobind::handle object);

  Py_buffer buffer_{};
  bool holds_ = false;
  nanobind::object owner_;
  std::vector<std::int64_t> shape_;
  ArrayView view_;
};

}  // namespace hemiola::bindings
