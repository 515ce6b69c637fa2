// Schedules that are known rank by rank.
#include "hemiola/schedule/schedule_parts.hpp"

#include <algorithm>
#include <memory>

#include "hemiola/base/error.hpp"
#include "hemiola/bindings/bindings.hpp"
#include "hemiola/bindings/transfer_array.hpp"
#include "hemiola/runtime/executor/program/compile.hpp"

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

constexpr const char* kTaskCountDoc = R"(Compile a rank's program and return how many tasks it has.

Parameters
----------
rank : int, 0 … rank_count-1.
element_count : int, 0 … 2^48, of a float32 buffer that is reduced in place.

Returns
-------
int: messages to send and to receive, slices counted one by one; tells, with a clock beside it, what a rank pays for a new
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
}

}  // namespace hemiola::bindings
