#include "hemiola/bindings/array_argument.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string_view>

namespace nb = nanobind;

namespace hemiola::bindings {
namespace {

std::optional<DType> integer(bool is_signed, Py_ssize_t bytes) {
  switch (bytes) {
    case 1:
      return is_signed ? DType::int8 : DType::uint8;
    case 2:
      return is_signed ? DType::int16 : DType::uint16;
    case 4:
      return is_signed ? DType::int32 : DType::uint32;
    case 8:
      return is_signed ? DType::int64 : DType::uint64;
    default:
      return std::nullopt;
  }
}

/// Formats of the struct module in native byte order, as PEP 3118 has them.
std::optional<DType> dtype_of(std::string_view format, Py_ssize_t item_bytes) {
  if (format == "Zf") return DType::complex64;
  if (format == "Zd") return DType::complex128;
  if (format.size() == 2 && (format[0] == '@' || format[0] == '=')) format.remove_prefix(1);
  if (format.size() != 1) return std::nullopt;
  constexpr std::string_view kSigned = "bhilqn", kUnsigned = "BHILQN";
  if (kSigned.find(format[0]) != kSigned.npos) return integer(true, item_bytes);
  if (kUnsigned.find(format[0]) != kUnsigned.npos) return integer(false, item_bytes);
  switch (format[0]) {
    case 'e':
      return DType::float16;
    case 'f':
      return DType::float32;
    case 'd':
      return DType::float64;
    case '?':
      return DType::boolean;
    default:
      return std::nullopt;
  }
}

std::string unknown_dtype(std::string_view found) {
  std::string known;
  for (std::string_view name : kDTypeNames) known += (known.empty() ? "" : ", ") + std::string(name);
  return "expected a dtype of " + known + ", found " + std::string(found);
}

std::string no_array(nb::handle object) {
  return "expected a NumPy array, found " + nb::cast<std::string>(object.type().attr("__name__"));
}

}  // namespace

ArrayArgument::~ArrayArgument() {
  if (holds_) PyBuffer_Release(&buffer_);
}

std::string ArrayArgument::take(nb::handle object) {
  if (PyObject_GetBuffer(object.ptr(), &buffer_, PyBUF_STRIDES | PyBUF_FORMAT) == 0) [[likely]] {
    holds_ = true;
    return take_buffer();
  }
  PyErr_Clear();
  try {
    return take_interface(object);
  } catch (const nb::python_error& e) {
    if (!e.matches(PyExc_Exception)) throw;  // an interrupt
  } catch (const nb::cast_error&) {
  }
  return no_array(object);
}

std::string ArrayArgument::take_buffer() {
  const auto dtype = dtype_of(buffer_.format, buffer_.itemsize);
  if (!dtype) return unknown_dtype("one with the format '" + std::string(buffer_.format).substr(0, 60) + "'");
  static_assert(sizeof(Py_ssize_t) == sizeof(std::int64_t));
  view_ = {
      .data = static_cast<std::byte*>(buffer_.buf),
      .dtype = *dtype,
      .shape = {reinterpret_cast<const std::int64_t*>(buffer_.shape), static_cast<std::size_t>(buffer_.ndim)},
      .contiguous = PyBuffer_IsContiguous(&buffer_, 'C') != 0,
      .writable = buffer_.readonly == 0};
  return {};
}

std::string ArrayArgument::take_interface(nb::handle object) {
  if (!nb::hasattr(object, "__array_interface__")) return no_array(object);
  const auto name = nb::cast<std::string>(object.attr("dtype").attr("name"));
  const auto dtype = dtype_named(name);
  if (!dtype) return unknown_dtype(name);
  owner_ = nb::borrow(object);
  shape_ = nb::cast<std::vector<std::int64_t>>(object.attr("shape"));
  const nb::object interface = object.attr("__array_interface__");
  view_ = {.data = reinterpret_cast<std::byte*>(nb::cast<std::uintptr_t>(interface["data"][0])),
           .dtype = *dtype,
           .shape = shape_,
           .contiguous = nb::cast<bool>(object.attr("flags").attr("c_contiguous")),
           .writable = !nb::cast<bool>(interface["data"][1])};
  return {};
}

}  // namespace hemiola::bindings
