// SPDX-License-Identifier: Apache-2.0
// A rank's statement about its next operation. Two ranks do the same operation when their signatures agree.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "hemiola/base/dtype.hpp"
#include "hemiola/base/index.hpp"
#include "hemiola/schedule/collective.hpp"

namespace hemiola {

/// The kinds of operation: a collective of the same name, or a barrier. A CollectiveKind promises the places of data
/// afterwards, for `verify` and the bounds to judge; a barrier moves none.
enum class OperationKind : std::uint8_t {
  all_gather,
  reduce_scatter,
  all_reduce,
  broadcast,
  reduce,
  all_to_all,
  gather,
  scatter,
  custom,
  barrier,
};
inline constexpr std::size_t kOperationKinds = 10;

std::string_view name_of(OperationKind kind);
constexpr OperationKind operation_of(CollectiveKind kind) {
  return static_cast<OperationKind>(kind);
}

/// Whether messages may leave zeros out, or bits.
enum class SparseMode : std::uint8_t {
  no,
  yes,
  where_seen,  ///< where ranks have seen that it pays, and by no other schedule than without
  eight_bits,  ///< no zeros, but all but eight bits of each element
};

/// 64 bytes without gaps, so that comparing is comparing bytes. Not aligned to them: an operation of its own holds one, and
/// memory that is aligned to more than a word takes the allocator several times as long.
struct Signature {
  static constexpr std::size_t kShownDimensions = 5;
  /// As `dimension_count`: the shape has the elements of the first blocks, which differ. Each block has some; or not.
  static constexpr std::uint8_t kFullBlocks = 255, kBlocks = 254;

  OperationKind kind = OperationKind::barrier;
  DType dtype = DType::uint8;
  Op op : 6 = Op::sum;
  SparseMode sparse : 2 = SparseMode::no;
  std::uint8_t dimension_count = 0;  ///< for messages, as `shape`
  std::int32_t root = 0;
  std::uint64_t schedule_digest = 0;
  std::int64_t element_count = 0;  ///< of the array; 0 where there is none
  /// The first ones. Ranks may have cut as many elements into other shapes, so this is for messages only.
  std::array<std::int64_t, kShownDimensions> shape{};

  /// Whether no rank can be done before all have come, since each result takes something from everybody.
  bool everybody_depends_on_everybody(int rank_count) const;
  void set_shape(std::span<const std::int64_t> dimensions);
  /// Of blocks that differ, in place of a shape.
  void set_blocks(std::span<const std::int64_t> block_sizes);
  bool has_blocks() const { return dimension_count >= kBlocks; }
  /// Of the array; 0 where there is none.
  std::int64_t byte_count() const { return element_count * static_cast<std::int64_t>(bytes_of(dtype)); }
  /// The part that ranks must have in common: all but the shape.
  struct Common {
    std::uint64_t call, schedule_digest;
    std::int64_t element_count;

    friend bool operator==(const Common&, const Common&) = default;
  };
  Common common() const {
    constexpr std::uint64_t kDimensionCount = std::uint64_t{0xff} << 24;
    std::uint64_t call;
    std::memcpy(&call, this, sizeof call);
    return {call & ~kDimensionCount, schedule_digest, element_count};
  }
  bool agrees_with(const Signature& other) const { return common() == other.common(); }

 private:
  friend bool operator==(const Signature&, const Signature&) = default;
};
static_assert(sizeof(Signature) == 64 && offsetof(Signature, dimension_count) == 3 &&
              offsetof(Signature, schedule_digest) == 8);

/// "float32[100, 4]", or "blocks of 3, 0, 8 elements of float32".
std::string describe_array(const Signature& signature);
}  // namespace hemiola
