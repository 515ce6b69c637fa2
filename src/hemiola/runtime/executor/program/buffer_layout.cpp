// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/executor/program/buffer_layout.hpp"

#include <string>
#include <utility>

#include "hemiola/base/error.hpp"
#include "hemiola/base/rounding.hpp"

namespace hemiola {
namespace {

bool gathers(CollectiveKind kind) {
  return kind == CollectiveKind::all_gather || kind == CollectiveKind::gather;
}
bool scatters(CollectiveKind kind) {
  return kind == CollectiveKind::reduce_scatter || kind == CollectiveKind::scatter;
}

std::size_t block_count(const Collective& collective) {
  const auto ranks = static_cast<std::size_t>(collective.rank_count());
  if (collective.kind() == CollectiveKind::all_to_all) return ranks * ranks;
  return gathers(collective.kind()) || scatters(collective.kind()) ? ranks : 1;
}

}  // namespace

int input_block_count(const Collective& collective) {
  const bool many = scatters(collective.kind()) || collective.kind() == CollectiveKind::all_to_all;
  return many ? collective.rank_count() : 1;
}

int output_block_count(const Collective& collective) {
  const bool many = gathers(collective.kind()) || collective.kind() == CollectiveKind::all_to_all;
  return many ? collective.rank_count() : 1;
}

std::size_t BufferLayout::block_of(Chunk chunk) const {
  const auto ranks = static_cast<std::size_t>(collective_->rank_count());
  if (collective_->kind() == CollectiveKind::all_to_all)
    return static_cast<std::size_t>(chunk) / (places_.size() / (ranks * ranks));
  const bool by_owner = gathers(collective_->kind()) || scatters(collective_->kind());
  return by_owner ? static_cast<std::size_t>(collective_->owner_of(chunk)) : 0;
}

std::vector<std::int64_t> BufferLayout::block_weights(std::span<const std::int64_t> chunk_weights) const {
  std::vector<std::int64_t> total(block_count(*collective_));
  for (Chunk chunk : indices<Chunk>(collective_->chunk_count()))
    total[block_of(chunk)] += chunk_weights.empty() ? 1 : chunk_weights[static_cast<std::size_t>(chunk)];
  return total;
}

BufferLayout::BufferLayout(const Collective& collective, std::span<const std::int64_t> chunk_weights,
                           std::int64_t block_elements, int element_bytes,
                           std::span<const std::int64_t> block_sizes)
    : collective_(&collective),
      block_bytes_(block_elements * element_bytes),
      input_blocks_(input_block_count(collective)),
      output_blocks_(output_block_count(collective)),
      places_(static_cast<std::size_t>(collective.chunk_count())) {
  HEMIOLA_CHECK(block_elements != kBlocksByWeight || collective.kind() == CollectiveKind::all_to_all,
                "blocks by weight of another collective than an all_to_all");
  HEMIOLA_CHECK(block_sizes.empty() || block_sizes.size() == block_count(collective),
                "sizes of another number of blocks");
  const bool by_weight = block_elements == kBlocksByWeight;
  if (by_weight)
    bytes_of_block_ = block_weights(chunk_weights);
  else
    bytes_of_block_.assign(block_sizes.begin(), block_sizes.end());
  const std::vector<std::int64_t> one_size(bytes_of_block_.empty() ? block_count(collective) : 0,
                                           block_elements);
  place_chunks(chunk_weights, bytes_of_block_.empty() ? one_size : bytes_of_block_, element_bytes);
  if (bytes_of_block_.empty()) return;
  for (std::int64_t& elements : bytes_of_block_) elements *= element_bytes;
  collective.kind() == CollectiveKind::all_to_all ? place_blocks_between() : place_blocks_by_owner();
}

void BufferLayout::place_chunks(std::span<const std::int64_t> chunk_weights,
                                std::span<const std::int64_t> block_sizes, int element_bytes) {
  const std::vector<std::int64_t> total = block_weights(chunk_weights);
  for (std::size_t block = 0; block < total.size(); ++block)
    if (total[block] == 0 && block_sizes[block] > 0)
      throw ArgumentError(
          "schedule: rank " + std::to_string(block % static_cast<std::size_t>(collective_->rank_count())) +
          " owns no chunk of positive weight, so its block of " + std::to_string(block_sizes[block]) +
          " elements has no place; give every rank a chunk");
  std::vector<std::int64_t> prefix(total.size()), begin(total.size());
  for (Chunk chunk : indices<Chunk>(collective_->chunk_count())) {
    const std::size_t block = block_of(chunk);
    prefix[block] += chunk_weights.empty() ? 1 : chunk_weights[static_cast<std::size_t>(chunk)];
    const std::int64_t end =
        total[block] == 0 ? 0 : share_of(block_sizes[block], prefix[block], total[block]);
    places_[static_cast<std::size_t>(chunk)] = {begin[block] * element_bytes,
                                                (end - begin[block]) * element_bytes};
    begin[block] = end;
  }
}

void BufferLayout::place_blocks_by_owner() {
  std::vector<std::int64_t> begins, zeros(bytes_of_block_.size());
  for (std::int64_t begin = 0; const std::int64_t bytes : bytes_of_block_) {
    begins.push_back(begin);
    begin += bytes;
  }
  const bool brings_all = scatters(collective_->kind());
  input_begin_ = brings_all ? begins : zeros;
  output_begin_ = brings_all ? zeros : begins;
}

void BufferLayout::place_blocks_between() {
  const int ranks = collective_->rank_count();
  std::vector<std::int64_t> given(static_cast<std::size_t>(ranks)), taken(given.size());
  for (int src = 0; src < ranks; ++src)
    for (int dst = 0; dst < ranks; ++dst) {
      input_begin_.push_back(given[static_cast<std::size_t>(src)]);
      output_begin_.push_back(taken[static_cast<std::size_t>(dst)]);
      given[static_cast<std::size_t>(src)] += bytes_between(src, dst);
      taken[static_cast<std::size_t>(dst)] += bytes_between(src, dst);
    }
}

std::int64_t BufferLayout::bytes_between(int src, int dst) const {
  const auto ranks = static_cast<std::size_t>(collective_->rank_count());
  const auto from = static_cast<std::size_t>(src), to = static_cast<std::size_t>(dst);
  if (bytes_of_block_.empty()) return block_bytes_;
  if (gathers(collective_->kind())) return bytes_of_block_[from];
  return bytes_of_block_[scatters(collective_->kind()) ? to : from * ranks + to];
}

std::vector<std::int64_t> BufferLayout::input_begins(Rank rank) const {
  std::vector<std::int64_t> begins(1);
  for (int dst = 0; dst < input_blocks_; ++dst) begins.push_back(begins.back() + bytes_between(rank, dst));
  return begins;
}

std::vector<std::int64_t> BufferLayout::output_begins(Rank rank) const {
  std::vector<std::int64_t> begins(1);
  for (int src = 0; src < output_blocks_; ++src) begins.push_back(begins.back() + bytes_between(src, rank));
  return begins;
}

std::int64_t BufferLayout::input_offset(Chunk chunk) const {
  const std::int64_t in_block = places_[static_cast<std::size_t>(chunk)].in_block;
  if (!input_begin_.empty()) return input_begin_[block_of(chunk)] + in_block;
  if (collective_->kind() == CollectiveKind::all_to_all)
    return collective_->destination_of(chunk) * block_bytes_ + in_block;
  return scatters(collective_->kind()) ? collective_->owner_of(chunk) * block_bytes_ + in_block : in_block;
}

std::int64_t BufferLayout::output_offset(Chunk chunk) const {
  const std::int64_t in_block = places_[static_cast<std::size_t>(chunk)].in_block;
  if (!output_begin_.empty()) return output_begin_[block_of(chunk)] + in_block;
  const bool by_owner = gathers(collective_->kind()) || collective_->kind() == CollectiveKind::all_to_all;
  return by_owner ? collective_->owner_of(chunk) * block_bytes_ + in_block : in_block;
}

}  // namespace hemiola
