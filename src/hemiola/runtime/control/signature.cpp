// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/control/signature.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

namespace hemiola {
namespace {

/// In a shape of blocks, where there are fewer.
constexpr std::int64_t kNoBlock = -1;

std::string describe_blocks(const Signature& signature) {
  std::string text;
  std::int64_t shown = 0;
  for (const std::int64_t elements : signature.shape) {
    if (elements == kNoBlock) break;
    text += (text.empty() ? "blocks of " : ", ") + std::to_string(elements);
    shown += elements;
  }
  text += shown < signature.element_count ? ", …" : "";
  return text + " elements of " + std::string(name_of(signature.dtype));
}

}  // namespace

std::string_view name_of(OperationKind kind) {
  return kind == OperationKind::barrier ? "barrier" : name_of(static_cast<CollectiveKind>(kind));
}

void Signature::set_shape(std::span<const std::int64_t> dimensions) {
  dimension_count = static_cast<std::uint8_t>(std::min<std::size_t>(dimensions.size(), kBlocks - 1));
  shape = {};
  std::copy_n(dimensions.begin(), std::min(dimensions.size(), kShownDimensions), shape.begin());
  element_count = std::accumulate(dimensions.begin(), dimensions.end(), std::int64_t{1}, std::multiplies<>());
}

void Signature::set_blocks(std::span<const std::int64_t> block_sizes) {
  dimension_count = std::ranges::min(block_sizes) > 0 ? kFullBlocks : kBlocks;
  shape.fill(kNoBlock);
  std::copy_n(block_sizes.begin(), std::min(block_sizes.size(), kShownDimensions), shape.begin());
  element_count = std::accumulate(block_sizes.begin(), block_sizes.end(), std::int64_t{0});
}

/// All-reduce and all-gather bring something of everybody to everybody. In a reduce-scatter and an all-to-all every rank
/// gets a part of its own, which is nothing where there are fewer elements than ranks; and nothing is not sent.
bool Signature::everybody_depends_on_everybody(int rank_count) const {
  if (dimension_count == kBlocks) return false;
  switch (kind) {
    case OperationKind::all_reduce:
    case OperationKind::all_gather:
      return element_count > 0;
    case OperationKind::reduce_scatter:
    case OperationKind::all_to_all:
      return element_count >= rank_count;
    default:
      return false;
  }
}

std::string describe_array(const Signature& signature) {
  if (signature.has_blocks()) return describe_blocks(signature);
  std::string text(name_of(signature.dtype));
  text += "[";
  const std::size_t shown = std::min<std::size_t>(signature.dimension_count, Signature::kShownDimensions);
  for (std::size_t i = 0; i < shown; ++i) text += (i == 0 ? "" : ", ") + std::to_string(signature.shape[i]);
  return text + (signature.dimension_count > shown ? ", …]" : "]");
}

}  // namespace hemiola
