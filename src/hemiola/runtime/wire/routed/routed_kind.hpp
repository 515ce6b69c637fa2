// SPDX-License-Identifier: Apache-2.0
// Joins each pair of ranks by the first kind of wire that reaches from one to the other: shared memory inside a host, TCP
// between hosts.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "hemiola/runtime/wire/wire_kind.hpp"

namespace hemiola {

class RoutedKind final : public WireKind {
 public:
  /// Best first, at most four. The ranks that a kind reaches must reach each other by it, too. A kind that is to be
  /// used and cannot be raises; another is not tried in its place.
  explicit RoutedKind(std::vector<std::shared_ptr<WireKind>> kinds);

  std::string name() const override;
  bool reaches(const Session& session, Rank rank) const override;
  Bytes card(const Members& members) override;
  std::unique_ptr<Wire> connect(const Members& members, std::span<const Bytes> cards,
                                const Deadline& deadline) override;

 private:
  /// Which of the members a kind joins this rank with, itself among them.
  struct Part {
    Members members;
    std::vector<Rank> ranks;  ///< by their numbers in the group
    bool is_needed = false;   ///< it is the first that reaches one of them
  };

  std::vector<int> route(const Members& members) const;
  Part part_of(std::size_t kind, const Members& members, const std::vector<int>& route) const;

  std::vector<std::shared_ptr<WireKind>> kinds_;
};

}  // namespace hemiola
