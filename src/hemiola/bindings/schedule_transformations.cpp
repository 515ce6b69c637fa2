// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <optional>

#include "hemiola/bindings/arrays.hpp"
#include "hemiola/bindings/bindings.hpp"
#include "hemiola/bindings/long_call.hpp"
#include "hemiola/schedule/transform/concatenate.hpp"
#include "hemiola/schedule/transform/one_shot.hpp"
#include "hemiola/schedule/transform/relabel.hpp"
#include "hemiola/schedule/transform/repeat_per_slice.hpp"
#include "hemiola/schedule/transform/reverse.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace hemiola::bindings {
namespace {

using Numbers = std::vector<std::int64_t>;

template <typename I>
std::vector<I> to_indices(const Numbers& numbers, const char* what) {
  std::vector<I> indices;
  indices.reserve(numbers.size());
  for (std::int64_t number : numbers) indices.push_back(to_index<I>(number, what));
  return indices;
}

Schedule relabel(const Schedule& schedule, const std::optional<Numbers>& ranks,
                 const std::optional<Numbers>& chunks) {
  const LongCall call;
  const Schedule renamed = ranks ? relabel_ranks(schedule, to_indices<Rank>(*ranks, "ranks")) : schedule;
  return chunks ? relabel_chunks(renamed, to_indices<Chunk>(*chunks, "chunks")) : renamed;
}

}  // namespace

void bind_schedule_transformations(nb::module_&) {
  const auto unlocked = nb::call_guard<LongCall>();
  nb::borrow<nb::class_<Schedule>>(nb::type<Schedule>())
      .def("reverse", &reverse, unlocked,
           R"(Return the schedule that runs backwards.

Returns
-------
Schedule: a reduce_scatter of an all_gather, a reduce of a broadcast, a scatter of a gather, an all_to_all of an
    all_to_all, each the other way round too; of a custom collective, before and after change places. Transfers of
    values that are there already, and those that no wanted slot depends on, are left out.

Raises
------
ArgumentError
    For an all_reduce, and for a schedule with scratch slots. For a custom collective in which a chunk starts (when
    reducing: ends) on several ranks. Where a transfer reads a slot that holds nothing, and where a rank that
    contributes nothing to a sum would receive two parts of it in one step.

Notes
-----
The reverse of a right schedule is right. Costs O(n log n) time.)")
      .def("concatenate", &concatenate, "second"_a, unlocked,
           R"(Return this schedule, then a second one.

Parameters
----------
second : Schedule that only copies, of the same ranks, chunks and weights, and starts with this one's results.

Returns
-------
Schedule: reduce_scatter and all_gather, or reduce and broadcast, make an all_reduce; reduce_scatter and gather a reduce;
    scatter and all_gather a broadcast; gather and broadcast an all_gather; reduce and scatter a reduce_scatter; others a
    custom collective. The second's steps follow the first's.

Raises
------
ArgumentError
    If the two do not match; names the difference.)")
      .def(
          "one_shot_all_reduce", &one_shot_all_reduce, unlocked,
          R"(Return an all-reduce that uses this all-gather: every rank's buffer goes to every rank, and each adds up
          all.

Returns
-------
Schedule: an all_reduce of as many chunks as each rank has here, with a scratch slot for every rank. All ranks add up in
    the order of the ranks, and so get the same bits.

Raises
------
ArgumentError
    If this is no all_gather of chunks of one weight, equally many of each rank, without scratch, of at most 2047 ranks.

Notes
-----
One all-gather's latency instead of a reduce-scatter's and an all-gather's. Every rank receives n-1 whole buffers and
keeps n in scratch, so it is for small ones. Costs O(n log n) time.)")
      .def("relabel", &relabel, nb::kw_only(), "ranks"_a = nb::none(), "chunks"_a = nb::none(),
           R"(Return the schedule with ranks or chunks called by other numbers.

Parameters
----------
ranks : permutation of the ranks; rank r becomes ranks[r]. Chunks keep their numbers and follow their owners, except in an
    all_to_all, where chunks are named after their ranks.
chunks : permutation of the chunks, applied after `ranks`; chunk c becomes chunks[c].

Returns
-------
Schedule

Raises
------
ArgumentError
    If either is not a permutation, or moves a chunk of an all_to_all between other ranks.)")
      .def("repeat_per_slice", &repeat_per_slice, "slice_count"_a, nb::kw_only(), "stagger"_a = 0, unlocked,
           R"(Return the schedule with every chunk cut into slices that run it one by one.

Parameters
----------
slice_count : int >= 1; chunk c becomes the chunks c * slice_count … c * slice_count + slice_count - 1.
stagger : int >= 0; slice i runs that many steps later than slice i - 1. 1 makes a pipeline.

Returns
-------
Schedule

Raises
------
ArgumentError
    If there would be more than 2^28 chunks or 2^24 steps.)");
}

}  // namespace hemiola::bindings
