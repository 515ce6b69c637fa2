// SPDX-License-Identifier: Apache-2.0
// NumPy's arrays by the layout that its binary interface fixes, without NumPy's headers. Of exactly numpy.ndarray: a
// subclass may answer otherwise than its memory does.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>

namespace hemiola::bindings {

/// As PyArrayObject_fields in numpy/ndarraytypes.h, the same in NumPy 1 and 2.
struct NumpyArray {
  PyObject_HEAD std::byte* data;
  int axes;
  Py_ssize_t* shape;
  Py_ssize_t* strides;
  PyObject* base;
  PyObject* dtype;
  int flags;

  /// In C order, aligned and writable, of the flags above.
  static constexpr int kContiguousAlignedWritable = 0x0001 | 0x0100 | 0x0400;

  bool can_be_result() const { return (flags & kContiguousAlignedWritable) == kContiguousAlignedWritable; }
};

/// Null for anything but a numpy.ndarray.
const NumpyArray* numpy_array(PyObject* object);

}  // namespace hemiola::bindings
