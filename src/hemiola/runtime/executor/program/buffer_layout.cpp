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
                           std::int64_t block_elements, int element_bytes)
    : collective_(&collective),
      block_bytes_(block_elements * element_bytes),
      input_blocks_(input_block_count(collective)),
      output_blocks_(output_block_count(collective)),
      places_(static_cast<std::size_t>(collective.chunk_count())) {
  HEMIOLA_CHECK(block_elements != kBlocksByWeight || collective.kind() == CollectiveKind::all_to_all,
                "blocks by weight of another collective than an all_to_all");
  place_chunks(chunk_weights, block_elements, element_bytes);
}

void BufferLayout::place_chunks(std::span<const std::int64_t> chunk_weights, std::int64_t block_elements,
                                int element_bytes) {
  const bool by_weight = block_elements == kBlocksByWeight;
  std::vector<std::int64_t> total = block_weights(chunk_weights);
  for (std::size_t block = 0; block < total.size(); ++block)
    if (total[block] == 0 && block_elements > 0)
      throw ArgumentError("schedule: rank " +
                          std::to_string(block % static_cast<std::size_t>(collective_->rank_count())) +
                          " owns no chunk of positive weight, so its block of " +
                          std::to_string(block_elements) + " elements has no place; give every rank a chunk");
  std::vector<std::int64_t> prefix(total.size()), begin(total.size());
  for (Chunk chunk : indices<Chunk>(collective_->chunk_count())) {
    const std::size_t block = block_of(chunk);
    prefix[block] += chunk_weights.empty() ? 1 : chunk_weights[static_cast<std::size_t>(chunk)];
    const std::int64_t elements = by_weight ? total[block] : block_elements;
    const std::int64_t end = total[block] == 0 ? 0 : share_of(elements, prefix[block], total[block]);
    places_[static_cast<std::size_t>(chunk)] = {begin[block] * element_bytes,
                                                (end - begin[block]) * element_bytes};
    begin[block] = end;
  }
  if (!by_weight) return;
  for (std::int64_t& elements : total) elements *= element_bytes;
  bytes_of_block_ = std::move(total);
  place_blocks();
}

void BufferLayout::place_blocks() {
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
  if (bytes_of_block_.empty()) return block_bytes_;
  return bytes_of_block_[static_cast<std::size_t>(src) * ranks + static_cast<std::size_t>(dst)];
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
