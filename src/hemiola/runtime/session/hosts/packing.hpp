// SPDX-License-Identifier: Apache-2.0
// The parts of messages between the ranks of a job: values as they lie in memory, and bytes behind their count. The
// session ensures that all ranks run the same version on machines of one byte order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "hemiola/base/bytes.hpp"
#include "hemiola/base/error.hpp"
#include "hemiola/base/index.hpp"
#include "hemiola/runtime/session/rank_runs.hpp"

namespace hemiola {

class Packer {
 public:
  template <typename T>
  Packer& put(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    const auto bytes = std::as_bytes(std::span(&value, 1));
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    return *this;
  }
  Packer& put_bytes(std::span<const std::byte> bytes) {
    put(static_cast<std::uint64_t>(bytes.size()));
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    return *this;
  }
  Packer& put_text(std::string_view text) { return put_bytes(std::as_bytes(std::span(text))); }
  template <std::ranges::input_range Ranks>
  Packer& put_ranks(const Ranks& ranks) {
    return put_bytes(packed_ranks(ranks));
  }
  Bytes take() { return std::move(bytes_); }

 private:
  Bytes bytes_;
};

/// Throws FormatError for a message that is too short for its announced size.
class Unpacker {
 public:
  explicit Unpacker(std::span<const std::byte> bytes) : left_(bytes) {}

  template <typename T>
  T get() {
    T value{};
    const auto bytes = next(sizeof value);
    std::memcpy(static_cast<void*>(&value), bytes.data(), sizeof value);
    return value;
  }
  Bytes get_bytes() {
    const auto bytes = next(get<std::uint64_t>());
    return {bytes.begin(), bytes.end()};
  }
  std::string get_text() {
    const Bytes bytes = get_bytes();
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  /// Throws FormatError for more than `most`.
  std::vector<Rank> get_ranks(std::size_t most = kMostListedRanks) {
    return unpacked_ranks(next(get<std::uint64_t>()), most);
  }
  /// Those of an agreement or an exchange, sorted. Throws FormatError for any other list.
  std::vector<Rank> get_members() {
    std::vector<Rank> members = get_ranks();
    const bool is_sorted = std::ranges::adjacent_find(members, std::ranges::greater_equal{}) == members.end();
    if (members.empty() || !is_sorted)
      throw FormatError("a list of " + std::to_string(members.size()) + " members that are not sorted ranks");
    return members;
  }
  bool is_empty() const { return left_.empty(); }

 private:
  std::span<const std::byte> next(std::size_t count) {
    if (count > left_.size())
      throw FormatError("a message with " + std::to_string(left_.size()) + " bytes left where " +
                        std::to_string(count) + " were expected");
    const auto bytes = left_.first(count);
    left_ = left_.subspan(count);
    return bytes;
  }

  std::span<const std::byte> left_;
};

}  // namespace hemiola
