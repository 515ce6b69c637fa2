// SPDX-License-Identifier: Apache-2.0
#include "hemiola/bindings/array_argument.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "hemiola/base/error.hpp"
#include "hemiola/base/hash.hpp"
#include "hemiola/bindings/bindings.hpp"
#include "hemiola/bindings/class_name.hpp"
#include "hemiola/bindings/gil.hpp"
#include "hemiola/bindings/value_class.hpp"

namespace nb = nanobind;
using namespace nb::literals;

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
  return "expected an array (NumPy's, or of DLPack or the buffer protocol), found " + class_of(object);
}

/// As DLPack numbers them; nanobind has no names for floats of 8 bits.
std::optional<DType> dtype_of(const nb::dlpack::dtype& type) {
  constexpr std::uint8_t kFloat8E4M3FN = 10, kFloat8E4M3FNUZ = 11, kFloat8E5M2 = 12, kFloat8E5M2FNUZ = 13;
  const int bytes = type.bits / 8;
  if (type.lanes != 1 || type.bits % 8 != 0) return std::nullopt;
  switch (type.code) {
    case static_cast<std::uint8_t>(nb::dlpack::dtype_code::Int):
    case static_cast<std::uint8_t>(nb::dlpack::dtype_code::UInt):
      return integer(type.code == static_cast<std::uint8_t>(nb::dlpack::dtype_code::Int), bytes);
    case static_cast<std::uint8_t>(nb::dlpack::dtype_code::Float):
      return bytes == 2   ? std::optional(DType::float16)
             : bytes == 4 ? std::optional(DType::float32)
             : bytes == 8 ? std::optional(DType::float64)
                          : std::nullopt;
    case static_cast<std::uint8_t>(nb::dlpack::dtype_code::Bfloat):
      return bytes == 2 ? std::optional(DType::bfloat16) : std::nullopt;
    case static_cast<std::uint8_t>(nb::dlpack::dtype_code::Complex):
      return bytes == 8    ? std::optional(DType::complex64)
             : bytes == 16 ? std::optional(DType::complex128)
                           : std::nullopt;
    case static_cast<std::uint8_t>(nb::dlpack::dtype_code::Bool):
      return bytes == 1 ? std::optional(DType::boolean) : std::nullopt;
    case kFloat8E4M3FN:
      return DType::float8_e4m3fn;
    case kFloat8E4M3FNUZ:
      return DType::float8_e4m3fnuz;
    case kFloat8E5M2:
      return DType::float8_e5m2;
    case kFloat8E5M2FNUZ:
      return DType::float8_e5m2fnuz;
    default:
      return std::nullopt;
  }
}

/// In C order, with nothing in between.
bool is_contiguous(const nb::ndarray<nb::ro>& array) {
  std::int64_t expected = 1;
  for (std::size_t i = array.ndim(); i-- > 0;) {
    if (array.shape(i) == 0) return true;
    if (array.shape(i) != 1 && array.stride(i) != expected) return false;
    expected *= static_cast<std::int64_t>(array.shape(i));
  }
  return true;
}

/// Of the host, pinned or not, as DLPack numbers them.
bool is_host(int device_type) {
  constexpr int kCudaHost = 3, kRocmHost = 11;
  return device_type == nb::device::cpu::value || device_type == kCudaHost || device_type == kRocmHost;
}

/// Exporters from before 2023 know no versions.
nb::object dlpack_capsule(nb::handle object) {
  const nb::object exporter = object.attr("__dlpack__");
  try {
    return exporter("max_version"_a = nb::make_tuple(1, 0));
  } catch (const nb::python_error& e) {
    if (!e.matches(PyExc_TypeError)) throw;
  }
  return exporter();
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
  if (nb::isinstance<RawMemory>(object)) {
    owner_ = nb::borrow(object);
    take_raw(nb::cast<const RawMemory&>(object));
    return {};
  }
  try {
    if (nb::hasattr(object, "__array_interface__")) return take_interface(object);
    if (nb::hasattr(object, "__dlpack__")) return take_dlpack(object);
  } catch (const nb::python_error& e) {
    if (!e.matches(PyExc_Exception)) throw;  // an interrupt
  } catch (const nb::cast_error&) {
  }
  return no_array(object);
}

std::string ArrayArgument::take_blocks(nb::handle object) {
  if (!nb::isinstance<nb::list>(object) && !nb::isinstance<nb::tuple>(object)) [[likely]]
    return take(object);
  return take_list(object, false);
}

std::string ArrayArgument::take_blocks_of_any_size(nb::handle object) {
  if (!nb::isinstance<nb::list>(object) && !nb::isinstance<nb::tuple>(object)) return take(object);
  return take_list(object, true);
}

void ArrayArgument::take_as_bytes() {
  const auto bytes = static_cast<std::int64_t>(bytes_of(view_.dtype));
  shape_ = {view_.byte_count()};
  if (view_.block_elements) {
    auto sizes = std::make_shared<std::vector<std::int64_t>>(*view_.block_elements);
    for (std::int64_t& size : *sizes) size *= bytes;
    view_.block_elements = std::move(sizes);
  }
  view_.dtype = DType::uint8;
  view_.shape = shape_;
}

std::string ArrayArgument::take_list(nb::handle object, bool of_any_size) {
  auto sizes = std::make_shared<std::vector<std::int64_t>>();
  auto blocks = std::make_shared<std::vector<std::byte*>>();
  const nb::object items = nb::steal(PySequence_Tuple(object.ptr()));
  for (const nb::handle item : nb::borrow<nb::tuple>(items)) {
    const std::string which = "array " + std::to_string(parts_.size()) + " of the list: ";
    auto part = std::make_unique<ArrayArgument>();
    if (const std::string wrong = part->take(item); !wrong.empty()) return which + wrong;
    const ArrayView& own = part->view();
    const ArrayView& first = parts_.empty() ? own : parts_.front()->view();
    if (of_any_size && own.dtype != first.dtype)
      return which + "expected " + std::string(name_of(first.dtype)) + ", as in the first, found " +
             std::string(name_of(own.dtype));
    if (own.dtype != first.dtype || (!of_any_size && own.element_count() != first.element_count()))
      return which + "expected " + std::to_string(first.element_count()) + " elements of " +
             std::string(name_of(first.dtype)) + ", as in the first, found " +
             std::to_string(own.element_count()) + " of " + std::string(name_of(own.dtype)) +
             "; for arrays of different sizes there are all_gather_blocks and its like";
    blocks->push_back(own.data);
    sizes->push_back(own.element_count());
    view_.contiguous &= own.contiguous;
    view_.writable &= own.writable;
    parts_.push_back(std::move(part));
  }
  if (parts_.empty()) return "expected an array, or a list with one for each rank, found an empty list";
  const ArrayView& first = parts_.front()->view();
  shape_ = {static_cast<std::int64_t>(parts_.size()), first.element_count()};
  if (of_any_size) {
    shape_ = {std::accumulate(sizes->begin(), sizes->end(), std::int64_t{0})};
    view_.block_elements = std::move(sizes);
  }
  view_.data = first.data;
  view_.dtype = first.dtype;
  view_.shape = shape_;
  view_.blocks = std::move(blocks);
  return {};
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

/// Asked for its device first: some exporters copy to the host, or wait for the device, when asked for the memory.
std::string ArrayArgument::take_dlpack(nb::handle object) {
  const auto [device_type, device] = nb::cast<std::pair<int, int>>(object.attr("__dlpack_device__")());
  if (!is_host(device_type))
    return "expected memory of the host, found " + class_of(object) + " in the memory of a device (" +
           std::to_string(device) + " of DLPack's type " + std::to_string(device_type) +
           "); copy it to the host first";
  bool writable = false;
  try {
    const nb::object capsule = dlpack_capsule(object);
    nb::ndarray<> written_to;
    writable = nb::try_cast(capsule, written_to, false);
    if (writable)
      exported_ = nb::ndarray<nb::ro>(written_to);
    else if (!nb::try_cast(capsule, exported_, false))
      return "expected memory that DLPack can show, found " + class_of(object) +
             ", whose capsule cannot be read";
  } catch (const nb::python_error& e) {
    if (!e.matches(PyExc_Exception)) throw;  // an interrupt
    return "expected memory that DLPack can show, found " + class_of(object) +
           ", which says: " + nb::cast<std::string>(nb::str(e.value()));
  }
  const auto dtype = dtype_of(exported_.dtype());
  if (!dtype)
    return unknown_dtype("DLPack's code " + std::to_string(exported_.dtype().code) + " of " +
                         std::to_string(exported_.dtype().bits) + " bits");
  shape_.clear();
  for (std::size_t i = 0; i < exported_.ndim(); ++i)
    shape_.push_back(static_cast<std::int64_t>(exported_.shape(i)));
  view_ = {.data = const_cast<std::byte*>(static_cast<const std::byte*>(exported_.data())),
           .dtype = *dtype,
           .shape = shape_,
           .contiguous = is_contiguous(exported_),
           .writable = writable};
  return {};
}

void ArrayArgument::take_raw(const RawMemory& memory) {
  view_ = {
      .data = reinterpret_cast<std::byte*>(memory.address), .dtype = memory.dtype, .shape = memory.shape};
}

RawMemory::RawMemory(std::int64_t address_, const std::string& dtype_, std::vector<std::int64_t> shape_)
    : address(address_), shape(std::move(shape_)) {
  const auto known = dtype_named(dtype_);
  if (!known) throw ArgumentError("RawMemory: " + unknown_dtype("'" + dtype_.substr(0, 60) + "'"));
  dtype = *known;
  bool is_empty = false;
  for (const std::int64_t extent : shape) {
    if (extent < 0)
      throw ArgumentError("RawMemory: expected extents of at least 0, found " + std::to_string(extent));
    is_empty |= extent == 0;
  }
  if (address < 0 || (address == 0 && !is_empty))
    throw ArgumentError("RawMemory: expected an address, found " + std::to_string(address));
}

namespace {

/// The bytes of an array, which NumPy shows and which are held while it does; how many elements they are, of which dtype.
/// A digest of each `part_bytes` of memory, one behind the other.
nb::bytes digests_of(
    const nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>& memory,
    std::size_t part_bytes) {
  std::string digests;
  {
    const GilReleased release;
    const auto bytes = std::as_bytes(std::span(memory.data(), memory.size()));
    for (std::size_t begin = 0; begin < bytes.size(); begin += part_bytes) {
      Hasher hasher;
      hasher.add_bytes(bytes.subspan(begin, std::min(part_bytes, bytes.size() - begin)));
      const Hash128 digest = hasher.finish();
      digests.append(reinterpret_cast<const char*>(&digest), sizeof digest);
    }
  }
  return nb::bytes(digests.data(), digests.size());
}

nb::tuple bytes_of_array(nb::handle object) {
  auto argument = std::make_unique<ArrayArgument>();
  if (const std::string wrong = argument->take(object); !wrong.empty()) throw ArgumentError(wrong);
  const ArrayView& view = argument->view();
  if (!view.contiguous)
    throw ArgumentError("expected a contiguous array, found one that is not; pass a copy");
  const std::int64_t count = view.element_count();
  const std::size_t size = static_cast<std::size_t>(count) * bytes_of(view.dtype);
  std::byte* const data = view.data;
  const bool is_writable = view.writable;
  const nb::str dtype(name_of(view.dtype).data(), name_of(view.dtype).size());
  const nb::capsule owner(argument.release(),
                          [](void* p) noexcept { delete static_cast<ArrayArgument*>(p); });
  const nb::object bytes =
      is_writable ? nb::cast(nb::ndarray<nb::numpy, std::uint8_t, nb::ndim<1>>(data, {size}, owner))
                  : nb::cast(nb::ndarray<nb::numpy, const std::uint8_t, nb::ndim<1>>(data, {size}, owner));
  return nb::make_tuple(bytes, count, dtype);
}

}  // namespace

void bind_raw_memory(nb::module_& m) {
  m.def("digests_of", &digests_of, "memory"_a, "part_bytes"_a,
        "A digest of 16 bytes of each part of some memory, one behind the other.");
  m.def("bytes_of_array", &bytes_of_array, "array"_a.none(),
        nb::sig("def bytes_of_array(array: object) -> tuple[NDArray[numpy.uint8], int, str]"),
        "The bytes of a collective's array, where they lie; the number of elements, and their dtype's name.");
  auto raw_memory = nb::class_<RawMemory>(m, "RawMemory",
                                          R"(Memory of this process by its address; passed as an array.

Parameters
----------
address : int. Where the first element lies, in the host's memory.
dtype : str. By NumPy's or ml_dtypes' name, such as "float32" or "bfloat16".
shape : sequence of int, at least 0 each. The elements lie side by side in C order.

Raises
------
ArgumentError
    for a dtype that is not reduced, a negative extent, and elements at address 0.

Notes
-----
For callers whose memory is no Python object's. The address is not checked: its maker keeps the memory there, and
writable, until the operations on it are over.

Examples
--------
>>> import hemiola as hm, numpy as np
>>> x = np.arange(6.0)
>>> hm.RawMemory(x.ctypes.data, "float64", [2, 3]).shape
[2, 3]
)");
  raw_memory
      .def(nb::init<std::int64_t, const std::string&, std::vector<std::int64_t>>(), "address"_a, "dtype"_a,
           "shape"_a)
      .def_ro("address", &RawMemory::address, "Where the first element lies.")
      .def_prop_ro(
          "dtype", [](const RawMemory& r) { return std::string(name_of(r.dtype)); }, "The name of its type.")
      .def_ro("shape", &RawMemory::shape, "The extents of its axes.")
      .def("__repr__", [](const RawMemory& r) {
        return "<RawMemory " + std::string(name_of(r.dtype)) + ": " + std::to_string(r.shape.size()) +
               " axes at " + std::to_string(r.address) + ">";
      });
  bind_as_staying(
      raw_memory,
      "RawMemory is an address in this process, which another process or a copy cannot own; copy the "
      "elements into an array and send that");
}

}  // namespace hemiola::bindings
