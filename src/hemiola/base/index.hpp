// SPDX-License-Identifier: Apache-2.0
// Index types that cannot be mistaken for one another. An index converts to a plain integer freely (to subscript, to
// compute), but an integer becomes an index only where the code says so: Rank{(rank + 1) % rank_count}.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <type_traits>

namespace hemiola {

template <typename Tag>
class Index {
 public:
  using value_type = std::int32_t;

  constexpr Index() = default;
  template <typename Int>
    requires std::is_integral_v<Int>
  constexpr explicit Index(Int value) : value_(static_cast<value_type>(value)) {}

  /// Chunk{rank}: the chunk of the same number, said aloud.
  template <typename Other>
  constexpr explicit Index(Index<Other> other) : value_(other) {}

  constexpr operator value_type() const {
    return value_;
  }  // NOLINT: reading an index as a number is always safe
  constexpr Index& operator++() {
    ++value_;
    return *this;
  }
  friend constexpr bool operator==(Index a, Index b) = default;
  friend constexpr auto operator<=>(Index a, Index b) = default;

 private:
  value_type value_ = 0;
};

using Rank = Index<struct RankTag>;      ///< one participant, 0 … rank_count-1
using Chunk = Index<struct ChunkTag>;    ///< one piece of the buffer, 0 … chunk_count-1
using Step = Index<struct StepTag>;      ///< position in a schedule's order, 0 … step_count-1
using Vertex = Index<struct VertexTag>;  ///< a rank or a switch of a topology; switches follow the ranks

/// A number that is not negative, as a subscript.
constexpr std::size_t at(std::int32_t number) {
  return static_cast<std::size_t>(number);
}

/// All indices 0 … count-1, for range loops: for (Rank r : indices<Rank>(rank_count)).
template <typename I>
struct IndexRange {
  struct Iterator {
    I at;
    constexpr I operator*() const { return at; }
    constexpr Iterator& operator++() {
      ++at;
      return *this;
    }
    constexpr bool operator!=(const Iterator& other) const { return at != other.at; }
  };
  std::int32_t count;
  constexpr Iterator begin() const { return {I{0}}; }
  constexpr Iterator end() const { return {I{count}}; }
};

template <typename I>
constexpr IndexRange<I> indices(std::int32_t count) {
  return {count};
}

}  // namespace hemiola

template <typename Tag>
struct std::hash<hemiola::Index<Tag>> {
  std::size_t operator()(hemiola::Index<Tag> i) const { return std::hash<std::int32_t>{}(i); }
};
