// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/wire/routed/routed_kind.hpp"

#include <algorithm>
#include <cstring>

#include "hemiola/base/error.hpp"
#include "hemiola/runtime/wire/routed/routed_wire.hpp"

namespace hemiola {
namespace {

/// A card is those of the kinds, one after the other, each after its size.
void append(Bytes* card, const Bytes& part) {
  const auto size = static_cast<std::uint32_t>(part.size());
  const auto bytes = std::as_bytes(std::span(&size, 1));
  card->insert(card->end(), bytes.begin(), bytes.end());
  card->insert(card->end(), part.begin(), part.end());
}

Bytes part_of_card(std::span<const std::byte> card, std::size_t kind) {
  for (;; --kind) {
    std::uint32_t size = 0;
    if (card.size() < sizeof size) break;
    std::memcpy(&size, card.data(), sizeof size);
    card = card.subspan(sizeof size);
    if (card.size() < size) break;
    if (kind == 0) return {card.begin(), card.begin() + size};
    card = card.subspan(size);
  }
  throw FormatError("a rank's card for a routed wire ends too early");
}

}  // namespace

RoutedKind::RoutedKind(std::vector<std::shared_ptr<WireKind>> kinds) : kinds_(std::move(kinds)) {
  if (kinds_.empty() || kinds_.size() > 4)
    throw ArgumentError("expected one to four kinds of wire to choose from, found " +
                        std::to_string(kinds_.size()));
}

std::string RoutedKind::name() const {
  std::string text;
  for (const auto& kind : kinds_) text += (text.empty() ? "" : ", else ") + kind->name();
  return text;
}

bool RoutedKind::reaches(const Session& session, Rank rank) const {
  return std::ranges::any_of(kinds_, [&](const auto& kind) { return kind->reaches(session, rank); });
}

std::vector<int> RoutedKind::route(const Members& members) const {
  std::vector<int> route;
  for (const Rank rank : members.ranks) {
    const auto kind =
        std::ranges::find_if(kinds_, [&](const auto& each) { return each->reaches(*members.session, rank); });
    const bool is_self = rank == members.world_rank(members.self);
    route.push_back(is_self || kind == kinds_.end() ? -1 : static_cast<int>(kind - kinds_.begin()));
  }
  return route;
}

RoutedKind::Part RoutedKind::part_of(std::size_t kind, const Members& members,
                                     const std::vector<int>& route) const {
  Part part{.members = {members.session, {}, Rank{0}}, .ranks = {}, .is_needed = false};
  for (const Rank rank : indices<Rank>(members.count())) {
    part.is_needed |= route[static_cast<std::size_t>(rank)] == static_cast<int>(kind);
    if (rank != members.self && !kinds_[kind]->reaches(*members.session, members.world_rank(rank))) continue;
    if (rank == members.self) part.members.self = Rank{part.ranks.size()};
    part.members.ranks.push_back(members.world_rank(rank));
    part.ranks.push_back(rank);
  }
  return part;
}

Bytes RoutedKind::card(const Members& members) {
  const std::vector<int> ways = route(members);
  Bytes card;
  for (std::size_t kind = 0; kind < kinds_.size(); ++kind) {
    const Part part = part_of(kind, members, ways);
    append(&card, part.is_needed ? kinds_[kind]->card(part.members) : Bytes{});
  }
  return card;
}

std::unique_ptr<Wire> RoutedKind::connect(const Members& members, std::span<const Bytes> cards,
                                          const Deadline& deadline) {
  std::vector<int> ways = route(members);
  std::vector<RoutedWire::Inner> inner;
  for (std::size_t kind = 0; kind < kinds_.size(); ++kind) {
    Part part = part_of(kind, members, ways);
    if (!part.is_needed) continue;
    std::vector<Bytes> theirs;
    for (const Rank rank : part.ranks)
      theirs.push_back(part_of_card(cards[static_cast<std::size_t>(rank)], kind));
    std::ranges::replace(ways, static_cast<int>(kind), static_cast<int>(inner.size()));
    inner.push_back({kinds_[kind]->connect(part.members, theirs, deadline), std::move(part.ranks),
                     static_cast<int>(kind)});
  }
  return std::make_unique<RoutedWire>(std::move(inner), std::move(ways));
}

}  // namespace hemiola
