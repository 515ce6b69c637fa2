// SPDX-License-Identifier: Apache-2.0
#include "hemiola/bindings/call_memo.hpp"

#include <algorithm>
#include <utility>

#include "hemiola/bindings/numpy_array.hpp"

namespace nb = nanobind;

namespace hemiola::bindings {
namespace {

/// A core takes some 10 µs to move these bytes.
constexpr std::int64_t kMuch = 64 << 10;

/// Of NumPy's module, for as long as Python runs: a memo may look at arrays while the interpreter ends.
PyObject* numpys(const char* name) {
  return nb::object(nb::module_::import_("numpy").attr(name)).release().ptr();
}

/// Values that stay as they are for as long as they live.
bool is_constant(PyObject* object) {
  return object == Py_None || PyBool_Check(object) || PyUnicode_CheckExact(object) ||
         PyLong_CheckExact(object) || PyFloat_CheckExact(object);
}

}  // namespace

const NumpyArray* numpy_array(PyObject* object) {
  static PyTypeObject* const type = reinterpret_cast<PyTypeObject*>(numpys("ndarray"));
  return Py_TYPE(object) == type ? reinterpret_cast<const NumpyArray*>(object) : nullptr;
}

std::optional<SeenArgument> SeenArgument::of(PyObject* argument) {
  SeenArgument seen;
  if (const NumpyArray* const array = numpy_array(argument)) {
    if (array->axes > kMostAxes) return std::nullopt;
    seen.is_array_ = true;
    seen.same_ = nb::borrow(array->dtype);
    seen.data_ = array->data;
    seen.flags_ = array->flags & NumpyArray::kContiguousAlignedWritable;
    seen.axes_ = array->axes;
    std::copy_n(array->shape, array->axes, seen.shape_.begin());
    return seen;
  }
  if (!is_constant(argument)) return std::nullopt;
  seen.same_ = nb::borrow(argument);
  return seen;
}

bool SeenArgument::is(PyObject* argument) const {
  if (!is_array_) return argument == same_.ptr();
  const NumpyArray* const array = numpy_array(argument);
  return array != nullptr && array->data == data_ && array->dtype == same_.ptr() &&
         (array->flags & NumpyArray::kContiguousAlignedWritable) == flags_ && array->axes == axes_ &&
         std::equal(array->shape, array->shape + axes_, shape_.begin());
}

nb::object NewResult::make() const {
  PyObject* const arguments[] = {shape.ptr(), dtype.ptr()};
  static PyObject* const empty = numpys("empty");
  PyObject* const made = PyObject_Vectorcall(empty, arguments, 2, nullptr);
  if (made == nullptr) throw nb::python_error();
  return nb::steal(made);
}

std::unique_ptr<CallMemo> CallMemo::of(const Arguments& arguments, nb::handle result, PreparedCall prepared) {
  const Buffers& buffers = prepared.operation.buffers;
  if (prepared.operation.course || !prepared.complaint.empty() || buffers.device || buffers.input_blocks ||
      buffers.output_blocks)
    return nullptr;
  std::unique_ptr<CallMemo> memo(new CallMemo);
  for (PyObject* const value : arguments.values) {
    auto seen = SeenArgument::of(value);
    if (!seen) return nullptr;
    if (value == result.ptr() && seen->memory() != nullptr)
      memo->result_ = static_cast<int>(memo->seen_.size());
    memo->seen_.push_back(*std::move(seen));
  }
  const NumpyArray* const array = numpy_array(result.ptr());
  if (memo->result_ < 0 && array != nullptr && array->can_be_result() && array->data == buffers.output)
    memo->new_result_ = {nb::handle(result).attr("shape"), nb::borrow(array->dtype)};
  else if (memo->result_ < 0 && !result.is_none())
    return nullptr;
  if (!memo->depends_on_arguments(buffers.input) ||
      (!memo->new_result_ && !memo->depends_on_arguments(buffers.output)))
    return nullptr;
  memo->names_ = nb::borrow(arguments.names);
  memo->moves_much_ = prepared.operation.signature.byte_count() > kMuch;
  memo->prepared_ = std::move(prepared);
  return memo;
}

/// Memory that no argument shows may be another one's the next time.
bool CallMemo::depends_on_arguments(const std::byte* memory) const {
  return memory == nullptr ||
         std::ranges::any_of(seen_, [&](const SeenArgument& one) { return one.memory() == memory; });
}

bool CallMemo::is_for(const Arguments& arguments) const {
  return arguments.names == names_.ptr() && arguments.values.size() == seen_.size() &&
         std::equal(seen_.begin(), seen_.end(), arguments.values.begin(),
                    [](const SeenArgument& seen, PyObject* value) { return seen.is(value); });
}

nb::object CallMemo::result(const Arguments& arguments) {
  if (result_ >= 0) return nb::borrow(arguments.values[static_cast<std::size_t>(result_)]);
  if (!new_result_) return nb::none();
  nb::object made = new_result_->make();
  prepared_.operation.buffers.output = numpy_array(made.ptr())->data;
  return made;
}

}  // namespace hemiola::bindings
