// SPDX-License-Identifier: Apache-2.0
// Schedules rank by rank: those that are known so, and one rank's part of any.
#include "hemiola/schedule/schedule_parts.hpp"

#include <algorithm>
#include <memory>
#include <string>

#include "hemiola/base/error.hpp"
#include "hemiola/bindings/bindings.hpp"
#include "hemiola/bindings/transfer_array.hpp"
#include "hemiola/runtime/executor/program/compile.hpp"
#include "hemiola/runtime/executor/program/instructions.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace hemiola::bindings {
namespace {

nb::object part_rows(const ScheduleParts& parts, int rank) {
  const std::vector<Transfer> part = parts.part(Rank{rank});
  auto rows = std::make_unique_for_overwrite<TransferRow[]>(part.size());
  std::transform(part.begin(), part.end(), rows.get(), TransferRow::of);
  return transfer_array(std::move(rows), part.size());
}

std::size_t task_count(const ScheduleParts& parts, int rank, std::int64_t element_count) {
  if (element_count < 0 || element_count > (std::int64_t{1} << 48))
    throw ArgumentError("task_count: expected 0 … 2^48 elements, found " + std::to_string(element_count));
  CompileOptions options;
  options.block_elements = element_count;
  options.element_bytes = 4;
  options.in_place = true;
  return compile(parts.collective, parts.chunk_weights, {Rank{rank}, parts.part(Rank{rank})}, options)
      .tasks.size();
}

/// One row of ten integers for each instruction, and the bytes that each region must hold.
nb::tuple instruction_rows(const Schedule& schedule, int rank, std::int64_t element_count, int element_bytes,
                           bool in_place, bool average) {
  if (rank < 0 || rank >= schedule.rank_count())
    throw ArgumentError("instructions_of: expected a rank below " + std::to_string(schedule.rank_count()) +
                        ", found " + std::to_string(rank));
  if (element_count < 0 || element_count > (std::int64_t{1} << 48) || element_bytes < 1 || element_bytes > 16)
    throw ArgumentError("instructions_of: expected 0 … 2^48 elements of 1 … 16 bytes, found " +
                        std::to_string(element_count) + " of " + std::to_string(element_bytes));
  const InstructionList list = instructions_of(schedule, Rank{rank},
                                               {.block_elements = element_count,
                                                .element_bytes = element_bytes,
                                                .in_place = in_place,
                                                .average = average});
  constexpr std::size_t kColumns = 10;
  const std::size_t count = list.instructions.size();
  auto rows = std::make_unique_for_overwrite<std::int64_t[]>(count * kColumns);
  std::int64_t* row = rows.get();
  for (const Instruction& i : list.instructions)
    for (const std::int64_t value :
         {std::int64_t(i.kind), std::int64_t(i.step), std::int64_t(i.peer), std::int64_t(i.from.region),
          i.from.offset, std::int64_t(i.operand.region), i.operand.offset, std::int64_t(i.to.region),
          i.to.offset, i.bytes})
      *row++ = value;
  std::int64_t* data = rows.release();
  const nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<std::int64_t*>(p); });
  nb::list regions;
  for (const std::int64_t bytes : list.bytes) regions.append(bytes);
  return nb::make_tuple(nb::ndarray<nb::numpy, std::int64_t>(data, {count, kColumns}, owner), regions);
}

constexpr const char* kPartDoc = R"(Return the schedule's rows in which a rank is src or dst, in its order.

Parameters
----------
rank : int, 0 … rank_count-1.

Returns
-------
structured array like Schedule.transfers.

Raises
------
ArgumentError
    if the rank does not exist.)";

constexpr const char* kInstructionsDoc =
    R"(Return a rank's work in a schedule, one instruction after the other, for executors that launch work ahead.

Parameters
----------
schedule : Schedule
rank : int, 0 … rank_count-1.
element_count : int, 0 … 2^48, of a block: a rank's input of an all-gather or gather, its output of a reduce-scatter or
    scatter, its part for each rank in an all-to-all; the whole buffer of all others.
element_bytes : int, 1 … 16.
in_place : bool. The output is the input's memory.
average : bool. Instructions to divide the results come last.

Returns
-------
int64 array, shape (n, 10): kind (0 copy, 1 send, 2 receive, 3 combine, 4 scale); step and peer of a message, else -1; region
and offset in bytes of the source, of the left operand, and of the destination; bytes. And the bytes that each region
must hold: input, output, scratch, pool, staging, saved, coded.

Raises
------
ArgumentError
    if an argument is out of range, or the rank's part cannot be run: see `verify`.

Notes
-----
Messages that follow one another and have the same step are a group, which both ends of each of its messages have.)";

constexpr const char* kTaskCountDoc = R"(Compile a rank's program and return how many tasks it has.

Parameters
----------
rank : int, 0 … rank_count-1.
element_count : int, 0 … 2^48, of a float32 buffer that is reduced in place.

Returns
-------
int: messages to send and to receive, slices counted one by one. Beside a clock it shows a rank's cost for a new
schedule before it can run it.

Raises
------
ArgumentError
    if an argument is out of range.)";

}  // namespace

void bind_schedule_parts(nb::module_& m) {
  nb::class_<ScheduleParts>(
      m, "ScheduleParts",
      "A schedule that is known rank by rank: each makes its own transfers, and nobody holds all of them.")
      .def_prop_ro("rank_count", [](const ScheduleParts& parts) { return parts.collective.rank_count(); })
      .def("part", &part_rows, "rank"_a, kPartDoc)
      .def("task_count", &task_count, "rank"_a, "element_count"_a, kTaskCountDoc);
  m.def("instructions_of", &instruction_rows, "schedule"_a, "rank"_a, nb::kw_only(), "element_count"_a,
        "element_bytes"_a, "in_place"_a = false, "average"_a = false, kInstructionsDoc);
}

}  // namespace hemiola::bindings
