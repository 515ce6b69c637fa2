// SPDX-License-Identifier: Apache-2.0
#include "hemiola/schedule/transform/repeat_per_slice.hpp"

#include <string>
#include <utility>

#include "hemiola/base/error.hpp"

namespace hemiola {
namespace {

Chunk slice_of(Chunk chunk, int slice, int slice_count) {
  return Chunk{chunk * slice_count + slice};
}

void check_arguments(const Schedule& schedule, std::int64_t slice_count, std::int64_t stagger) {
  const std::int64_t most = Collective::kMaxChunks / schedule.chunk_count();
  if (slice_count < 1 || slice_count > most)
    throw ArgumentError("repeat_per_slice: expected a slice count in 1 … " + std::to_string(most) +
                        ", found " + std::to_string(slice_count));
  const std::int64_t room = ScheduleBuilder::kMaxSteps - schedule.step_count();
  if (stagger < 0 || (slice_count > 1 && stagger > room / (slice_count - 1)))
    throw ArgumentError(
        "repeat_per_slice: expected a stagger >= 0 that keeps the schedule below 2^24 steps, found " +
        std::to_string(stagger));
}

template <typename T>
std::vector<T> repeat_each(const std::vector<T>& values, int count) {
  std::vector<T> repeated;
  repeated.reserve(values.size() * static_cast<std::size_t>(count));
  for (const T& value : values) repeated.insert(repeated.end(), static_cast<std::size_t>(count), value);
  return repeated;
}

std::vector<Collective::Place> slice_places(const std::vector<Collective::Place>& places, int slice_count) {
  std::vector<Collective::Place> sliced;
  for (const auto& [rank, chunk] : places)
    for (int i = 0; i < slice_count; ++i) sliced.emplace_back(rank, slice_of(chunk, i, slice_count));
  return sliced;
}

Collective slice_collective(const Collective& c, int slice_count) {
  if (c.kind() == CollectiveKind::custom)
    return Collective::custom(c.rank_count(), std::int64_t{c.chunk_count()} * slice_count,
                              slice_places(c.before(), slice_count), slice_places(c.after(), slice_count),
                              c.is_reducing());
  return Collective::with_owners(c.kind(), c.rank_count(), repeat_each(c.owner(), slice_count), c.root());
}

}  // namespace

Schedule repeat_per_slice(const Schedule& schedule, std::int64_t slice_count, std::int64_t stagger) {
  check_arguments(schedule, slice_count, stagger);
  const int slices = static_cast<int>(slice_count), delay = static_cast<int>(stagger);
  ScheduleBuilder builder(slice_collective(schedule.collective(), slices));
  if (!schedule.chunk_weights().empty())
    builder.set_chunk_weights(repeat_each(schedule.chunk_weights(), slices));
  builder.reserve(schedule.transfer_count() * slices);
  schedule.for_each([&](const Transfer& t) {
    for (int i = 0; i < slices; ++i)
      builder.add({Step{t.step + delay * i}, t.src, t.dst, slice_of(t.chunk, i, slices), t.reduce, t.src_slot,
                   t.dst_slot});
  });
  return builder.finish();
}

}  // namespace hemiola
