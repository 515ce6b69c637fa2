// Transfers as the NumPy array that hemiola.algorithms.transfer_rows.TRANSFER_DTYPE describes.
#pragma once

#include <nanobind/ndarray.h>

#include <cstdint>
#include <memory>

#include "hemiola/bindings/bindings.hpp"
#include "hemiola/schedule/schedule.hpp"

namespace hemiola::bindings {

/// One row, as NumPy lays it out.
struct [[gnu::packed]] TransferRow {
  std::int32_t step, src, dst, chunk;
  bool reduce;

  static TransferRow of(const Transfer& t) { return {t.step, t.src, t.dst, t.chunk, t.reduce}; }
};

/// Takes the rows as they are.
inline nanobind::object transfer_array(std::unique_ptr<TransferRow[]> rows, std::size_t count) {
  namespace nb = nanobind;
  TransferRow* data = rows.release();
  const nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<TransferRow*>(p); });
  const nb::object bytes = nb::cast(nb::ndarray<nb::numpy, std::uint8_t, nb::ndim<1>>(
      reinterpret_cast<std::uint8_t*>(data), {count * sizeof(TransferRow)}, owner));
  return bytes.attr("view")(nb::module_::import_("hemiola.algorithms.transfer_rows").attr("TRANSFER_DTYPE"));
}

}  // namespace hemiola::bindings
