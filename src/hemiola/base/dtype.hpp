// SPDX-License-Identifier: Apache-2.0
// The element types and reduction operations that the runtime knows, with the names that NumPy gives them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace hemiola {

enum class DType : std::uint8_t {
  float16,
  bfloat16,
  float32,
  float64,
  int8,
  int16,
  int32,
  int64,
  uint8,
  uint16,
  uint32,
  uint64,
  boolean,
  complex64,
  complex128,
  float8_e4m3fn,    ///< no infinity; beyond 448 is NaN
  float8_e5m2,      ///< float16's upper byte
  float8_e4m3fnuz,  ///< neither infinity nor -0.0, whose bits are NaN
  float8_e5m2fnuz,
};

/// How two contributions become one. `average` sums and leaves the division to `Scale`; `premul_sum` sums the
/// products of each rank's values and its own factor. `band`, `bor` and `bxor` are logical on booleans and
/// bitwise on integers.
enum class Op : std::uint8_t { sum, product, min, max, average, band, bor, bxor, premul_sum };

/// Codes are written in coded messages (docs/reference/formats/coded.md): new types come last.
inline constexpr std::array<std::string_view, 19> kDTypeNames = {
    "float16",    "bfloat16",      "float32",     "float64",         "int8",           "int16", "int32",
    "int64",      "uint8",         "uint16",      "uint32",          "uint64",         "bool",  "complex64",
    "complex128", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz"};
inline constexpr std::array<std::size_t, 19> kDTypeBytes = {2, 2, 4, 8, 1,  2, 4, 8, 1, 2,
                                                            4, 8, 1, 8, 16, 1, 1, 1, 1};
inline constexpr std::array<std::string_view, 9> kOpNames = {"sum", "product", "min", "max",       "average",
                                                             "and", "or",      "xor", "premul_sum"};

constexpr std::string_view name_of(DType dtype) {
  return kDTypeNames[static_cast<std::size_t>(dtype)];
}
constexpr std::string_view name_of(Op op) {
  return kOpNames[static_cast<std::size_t>(op)];
}
constexpr std::size_t bytes_of(DType dtype) {
  return kDTypeBytes[static_cast<std::size_t>(dtype)];
}

constexpr bool is_complex(DType dtype) {
  return dtype == DType::complex64 || dtype == DType::complex128;
}
constexpr bool is_float(DType dtype) {
  return dtype <= DType::float64 || (dtype >= DType::float8_e4m3fn && dtype <= DType::float8_e5m2fnuz);
}

/// Whether the operation is defined for the element type: no bits of floats, no order of complex numbers, no average of
/// integers and booleans.
constexpr bool is_defined(Op op, DType dtype) {
  switch (op) {
    case Op::sum:
    case Op::product:
      return true;
    case Op::min:
    case Op::max:
      return !is_complex(dtype);
    case Op::average:
    case Op::premul_sum:
      return is_float(dtype) || is_complex(dtype);
    case Op::band:
    case Op::bor:
    case Op::bxor:
      return !is_float(dtype) && !is_complex(dtype);
  }
  return false;
}

/// The element type or operation of that name; nothing for any other text.
constexpr std::optional<DType> dtype_named(std::string_view name) {
  for (std::size_t i = 0; i < kDTypeNames.size(); ++i)
    if (kDTypeNames[i] == name) return static_cast<DType>(i);
  return std::nullopt;
}
constexpr std::optional<Op> op_named(std::string_view name) {
  for (std::size_t i = 0; i < kOpNames.size(); ++i)
    if (kOpNames[i] == name) return static_cast<Op>(i);
  return std::nullopt;
}

}  // namespace hemiola
