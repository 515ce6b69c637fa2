// SPDX-License-Identifier: Apache-2.0
#include "hemiola/schedule/schedule.hpp"

#include <nanobind/operators.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <utility>

#include "hemiola/base/error.hpp"
#include "hemiola/bindings/arrays.hpp"
#include "hemiola/bindings/bindings.hpp"
#include "hemiola/bindings/long_call.hpp"
#include "hemiola/bindings/transfer_array.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace hemiola::bindings {
namespace {

/// Of five columns, or of seven with the slots.
using TransferRows = nb::ndarray<nb::numpy, const std::int64_t, nb::shape<-1, -1>, nb::c_contig>;

std::int32_t to_slot(std::int64_t slot) {
  if (slot < 0 || slot > ScheduleBuilder::kMaxScratch)
    throw ArgumentError("transfer: expected slots in 0 … " + std::to_string(ScheduleBuilder::kMaxScratch) +
                        ", found " + std::to_string(slot));
  return static_cast<std::int32_t>(slot);
}

Transfer to_transfer(const std::int64_t* row, bool has_slots) {
  return {to_index<Step>(row[0], "step"),
          to_index<Rank>(row[1], "src"),
          to_index<Rank>(row[2], "dst"),
          to_index<Chunk>(row[3], "chunk"),
          row[4] != 0,
          has_slots ? to_slot(row[5]) : 0,
          has_slots ? to_slot(row[6]) : 0};
}

Schedule from_transfers(const Collective& collective, const nb::object& rows,
                        std::optional<std::vector<std::int64_t>> chunk_weights) {
  const auto table = nb::cast<TransferRows>(
      nb::module_::import_("hemiola.algorithms.transfer_rows").attr("transfer_rows")(rows));
  const LongCall call;
  ScheduleBuilder builder(collective);
  if (chunk_weights) builder.set_chunk_weights(std::move(*chunk_weights));
  builder.reserve(static_cast<std::int64_t>(table.shape(0)));
  const std::size_t columns = table.shape(1);
  for (std::size_t i = 0; i < table.shape(0); ++i)
    builder.add(to_transfer(table.data() + columns * i, columns == 7));
  return builder.finish();
}

template <typename Row>
nb::object rows_of(const Schedule& schedule) {
  auto rows = std::make_unique<Row[]>(static_cast<std::size_t>(schedule.transfer_count()));
  std::size_t i = 0;
  schedule.for_each([&](const Transfer& t) { rows[i++] = Row::of(t); });
  return transfer_array(std::move(rows), i);
}

nb::object transfers(const Schedule& schedule) {
  return schedule.scratch_count() == 0 ? rows_of<TransferRow>(schedule) : rows_of<SlotTransferRow>(schedule);
}

/// Columns [first, first + 2) of the table of pairs.
nb::object pair_columns(nb::handle self, std::size_t first) {
  constexpr std::size_t kColumns = 4;
  static_assert(sizeof(RankPair) == kColumns * sizeof(std::int32_t));
  const std::span<const RankPair> table = nb::cast<const Schedule&>(self).pairs();
  return nb::cast(nb::ndarray<nb::numpy, const std::int32_t, nb::ndim<2>>(
      reinterpret_cast<const std::int32_t*>(table.data()) + (table.empty() ? 0 : first), {table.size(), 2},
      self, {kColumns, 1}));
}

nb::object chunk_weights(nb::handle self) {
  const auto& schedule = nb::cast<const Schedule&>(self);
  if (!schedule.chunk_weights().empty()) return view_of(std::span(schedule.chunk_weights()), self);
  return nb::module_::import_("numpy").attr("ones")(schedule.chunk_count(), "int64");
}

std::string describe_schedule(const Schedule& s) {
  return "<Schedule " + std::string(name_of(s.collective().kind())) + ": " + std::to_string(s.rank_count()) +
         " ranks, " + std::to_string(s.chunk_count()) + " chunks, " + std::to_string(s.step_count()) +
         " steps, " + std::to_string(s.transfer_count()) + " transfers>";
}

/// Wraps a column getter as a zero-copy property.
template <typename Column>
auto column(Column get) {
  return [get](nb::handle self) { return view_of((nb::cast<const Schedule&>(self).*get)(), self); };
}

}  // namespace

void bind_schedule(nb::module_& m) {
  nb::class_<Schedule>(m, "Schedule", R"(A collective plus its transfers, ordered by step. Immutable.

Notes
-----
Within one step every read happens before every write. ``copy`` overwrites the destination's slot, ``reduce`` adds the
source's slot into it. In one step a slot may be the target of one copy or of any number of reduces, which are applied
in order of (step, src). Steps are not barriers. Transfers are kept in the order (step, src, dst, chunk, reduce).

Beside the buffer's slot a rank may have scratch slots for each chunk, numbered from 1, that hold nothing before and are
forgotten after. A transfer then also says which slot of the chunk it reads and which it writes; it may join two slots
of one rank, which takes no message.)")
      .def_static("from_transfers", &from_transfers, "collective"_a, "rows"_a, "chunk_weights"_a = nb::none(),
                  R"(Make a schedule of one's own transfers.

Parameters
----------
collective : Collective
rows : transfers in any order: a structured array with the fields of `transfers`, an integer array of shape (n, 4) or
    (n, 5), or an iterable of tuples ``(step, src, dst, chunk[, reduce])``. Steps are 0 … 2^24-1; reduce defaults to
    False. With scratch slots: shape (n, 7), or tuples ``(step, src, dst, chunk, reduce, src_slot, dst_slot)``, where 0
    is the buffer's slot; at most 65,535, and 2^22 of a chunk on all ranks together.
chunk_weights : sequence of int >= 0, one per chunk, relative chunk sizes; None when all are equal.

Returns
-------
Schedule, not yet verified: see `verify`.

Raises
------
ArgumentError
    If a row has another shape, names a rank, chunk, step or slot that does not exist, or leads from a slot to itself.

Notes
-----
Costs O(n log n) time.)")
      .def_prop_ro("collective", &Schedule::collective, nb::rv_policy::reference_internal)
      .def_prop_ro("rank_count", &Schedule::rank_count)
      .def_prop_ro("chunk_count", &Schedule::chunk_count)
      .def_prop_ro("scratch_count", &Schedule::scratch_count,
                   "How many scratch slots a rank has for each chunk: the highest that a transfer names.")
      .def_prop_ro("step_count", &Schedule::step_count, "The last used step plus one.")
      .def_prop_ro("transfer_count", &Schedule::transfer_count)
      .def_prop_ro("chunk_weights", &chunk_weights,
                   "Relative chunk sizes, int64, one per chunk; all 1 when equal.")
      .def_prop_ro(
          "digest", [](const Schedule& s) { return s.digest().hex(); },
          "32 hexadecimal digits that are equal exactly when schedules are equal, on every rank and machine.")
      .def_prop_ro("transfers", &transfers,
                   "All transfers as a new structured array: step, src, dst, chunk (int32), reduce (bool); "
                   "where scratch_count is above 0 also src_slot and dst_slot (int32).")
      .def_prop_ro("step_offset", column(&Schedule::step_offset),
                   "int64, step_count + 1: transfers of step t are [step_offset[t], step_offset[t+1]). A "
                   "view, not a copy.")
      .def_prop_ro("link", column(&Schedule::link),
                   "uint32 per transfer: its row in `pairs`. A view, not a copy.")
      .def_prop_ro("chunk", column(&Schedule::chunk), "uint32 per transfer: its chunk. A view, not a copy.")
      .def_prop_ro("reduce_words", column(&Schedule::reduce_words),
                   "uint64: bit i % 64 of word i // 64 says whether transfer i reduces. A view, not a copy.")
      .def_prop_ro(
          "pairs", [](nb::handle self) { return pair_columns(self, 0); },
          "int32, shape (k, 2): the (src, dst) pairs that occur, sorted, once for each two slots that they "
          "join. A view, not a copy.")
      .def_prop_ro(
          "pair_slots", [](nb::handle self) { return pair_columns(self, 2); },
          "int32, shape (k, 2): which slots of a chunk the pair reads and writes; 0 is the buffer's. A view, "
          "not a copy.")
      .def(nb::self == nb::self, nb::sig("def __eq__(self, arg: object, /) -> bool"))
      .def("__hash__", [](const Schedule& s) { return static_cast<std::int64_t>(s.digest().low >> 2); })
      .def("_repr_html_",
           [](nb::handle self) {
             return nb::module_::import_("hemiola.algorithms.schedule_text").attr("html_of")(self);
           })
      .def("__repr__", &describe_schedule);
}

}  // namespace hemiola::bindings
