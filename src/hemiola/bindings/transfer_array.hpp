// SPDX-License-Identifier: Apache-2.0
// Transfers as the NumPy arrays that hemiola.algorithms.transfer_rows describes: TRANSFER_DTYPE, and SLOT_TRANSFER_DTYPE
// where there are scratch slots.
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

  static constexpr const char* kDtype = "TRANSFER_DTYPE";
  static TransferRow of(const Transfer& t) { return {t.step, t.src, t.dst, t.chunk, t.reduce}; }
};

/// The same of a schedule with scratch slots.
struct [[gnu::packed]] SlotTransferRow {
  TransferRow transfer;
  std::int32_t src_slot, dst_slot;

  static constexpr const char* kDtype = "SLOT_TRANSFER_DTYPE";
  static SlotTransferRow of(const Transfer& t) { return {TransferRow::of(t), t.src_slot, t.dst_slot}; }
};

/// Takes the rows as they are.
template <typename Row>
nanobind::object transfer_array(std::unique_ptr<Row[]> rows, std::size_t count) {
  namespace nb = nanobind;
  Row* data = rows.release();
  const nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<Row*>(p); });
  const nb::object bytes = nb::cast(nb::ndarray<nb::numpy, std::uint8_t, nb::ndim<1>>(
      reinterpret_cast<std::uint8_t*>(data), {count * sizeof(Row)}, owner));
  return bytes.attr("view")(nb::module_::import_("hemiola.algorithms.transfer_rows").attr(Row::kDtype));
}

}  // namespace hemiola::bindings
