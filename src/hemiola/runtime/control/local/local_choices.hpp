// SPDX-License-Identifier: Apache-2.0
// The choices in shared memory: a table of lists without locks, so that no rank's death can leave it half changed.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "hemiola/runtime/control/choices.hpp"

namespace hemiola {

/// Two books, for the epochs in turn, each a table and the memory from which its choices are cut one after the other.
/// Every word by which they are found bears its epoch, and one of an earlier epoch stands for an empty one: so nobody
/// resets anything.
class LocalChoices final : public Choices {
 public:
  /// Addresses; untouched ones cost nothing.
  static std::size_t region_bytes();
  /// `region` is zero-filled at first, shared by all ranks, aligned to a cache line, and outlives this.
  LocalChoices(std::span<std::byte> region, Rank self, int rank_count);

  bool claim(const ChoiceKey& key) override;
  void decide(const ChoiceKey& key, std::span<const std::byte> bytes) override;
  /// Throws a BadMessageError if a rank has written an impossible entry, and a FormatError if the rank is not known.
  Answer look(const ChoiceKey& key) const override;

  static constexpr std::size_t kArenaBytes = std::size_t{512} << 20;  ///< of an epoch's choices

 private:
  struct Book;
  struct Node;

  Book& book(std::uint64_t epoch) const;
  bool is_outdated(const ChoiceKey& key) const;
  Node* find(const ChoiceKey& key) const;
  bool is_given_out(std::uint64_t epoch, std::uint64_t place, std::uint64_t bytes) const;
  Node* node_at(const ChoiceKey& key, std::uint64_t place) const;
  std::optional<std::uint64_t> allocate(std::uint64_t epoch, std::size_t bytes);

  Book* books_;
  Rank self_;
  int rank_count_;
};

}  // namespace hemiola
