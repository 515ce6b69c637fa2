// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/wire/wire_kind.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <sstream>
#include <utility>
#include <vector>

#include "hemiola/base/error.hpp"
#include "hemiola/runtime/session/rank_list.hpp"
#include "hemiola/runtime/session/rank_runs.hpp"

namespace hemiola {
namespace {

/// A rank's words to the members: its kind and its card, or the reason why it has none.
struct Offer {
  std::shared_ptr<WireKind> kind;
  std::string complaint;
  Bytes card;

  /// A byte that says whether this is a complaint, the length of the kind's name or of the complaint, that text, the card.
  Bytes packed() const {
    const std::string text = kind ? kind->name() : complaint;
    const auto length = static_cast<std::uint32_t>(text.size());
    Bytes bytes{std::byte{kind ? std::uint8_t{0} : std::uint8_t{1}}};
    const auto append = [&](std::span<const std::byte> more) {
      bytes.insert(bytes.end(), more.begin(), more.end());
    };
    append(std::as_bytes(std::span(&length, 1)));
    append(std::as_bytes(std::span(text)));
    append(card);
    return bytes;
  }
};

struct Received {
  bool is_complaint = false;
  std::string text;
  Bytes card;

  static Received from(Rank world_rank, std::span<const std::byte> bytes) {
    std::uint32_t length = 0;
    constexpr std::size_t kHead = 1 + sizeof length;
    if (bytes.size() >= kHead) std::memcpy(&length, bytes.data() + 1, sizeof length);
    if (bytes.size() < kHead || bytes.size() - kHead < length)
      throw FormatError("the card of rank " + std::to_string(world_rank) + " for a wire ends too early");
    const auto text = bytes.subspan(kHead, length), card = bytes.subspan(kHead + length);
    return {bytes.front() != std::byte{0},
            std::string(reinterpret_cast<const char*>(text.data()), text.size()),
            {card.begin(), card.end()}};
  }
};

void check_reach(const WireKind& kind, const Members& members) {
  for (Rank rank : members.ranks)
    if (!kind.reaches(*members.session, rank))
      throw ArgumentError("the wire '" + kind.name() + "' reaches from rank " +
                          std::to_string(members.session->rank()) + " of the job not to rank " +
                          std::to_string(rank) + "; choose one that does, or leave that rank out");
}

/// The others hear of an error here, since they wait for this rank's card.
Offer offer(const WireChoice& choose, const Members& members) try {
  std::shared_ptr<WireKind> kind = choose();
  check_reach(*kind, members);
  Bytes card = kind->card(members);
  return {std::move(kind), {}, std::move(card)};
} catch (const Error& e) {
  return {nullptr, e.what(), {}};
}

/// A rank's words to the members for all of their wires: its terms, its order of the members (rank_runs.hpp), then an offer
/// for each wire, each part after its length.
struct Hand {
  std::string terms;
  Bytes order;
  std::vector<Bytes> offers;

  Bytes packed() const {
    Bytes bytes;
    append(&bytes, std::as_bytes(std::span(terms)));
    append(&bytes, order);
    for (const Bytes& offer : offers) append(&bytes, offer);
    return bytes;
  }
  static Hand from(Rank world_rank, std::span<const std::byte> bytes) {
    Hand hand;
    const auto terms = next(world_rank, &bytes), order = next(world_rank, &bytes);
    hand.terms.assign(reinterpret_cast<const char*>(terms.data()), terms.size());
    hand.order.assign(order.begin(), order.end());
    while (!bytes.empty()) {
      const auto offer = next(world_rank, &bytes);
      hand.offers.emplace_back(offer.begin(), offer.end());
    }
    return hand;
  }

 private:
  static void append(Bytes* bytes, std::span<const std::byte> part) {
    const auto length = static_cast<std::uint32_t>(part.size());
    const auto head = std::as_bytes(std::span(&length, 1));
    bytes->insert(bytes->end(), head.begin(), head.end());
    bytes->insert(bytes->end(), part.begin(), part.end());
  }
  static std::span<const std::byte> next(Rank world_rank, std::span<const std::byte>* bytes) {
    std::uint32_t length = 0;
    if (bytes->size() >= sizeof length) std::memcpy(&length, bytes->data(), sizeof length);
    if (bytes->size() < sizeof length || bytes->size() - sizeof length < length)
      throw FormatError("the wires' data of rank " + std::to_string(world_rank) + " ends too early");
    const auto part = bytes->subspan(sizeof length, length);
    *bytes = bytes->subspan(sizeof length + length);
    return part;
  }
};

std::ptrdiff_t first_difference(const std::vector<Rank>& order, const std::vector<Rank>& other) {
  return std::ranges::mismatch(order, other).in1 - order.begin();
}

/// The first lines that differ.
std::pair<std::string, std::string> first_difference(const std::string& terms, const std::string& other) {
  std::istringstream left(terms), right(other);
  std::string a, b;
  do {
    if (!std::getline(left, a)) a = "nothing more";
    if (!std::getline(right, b)) b = "nothing more";
  } while (a == b && (left || right));
  return {a, b};
}

/// All ranks find the same two to name: the lowest of the session, and the lowest that wants something else.
void check_agreement(const Members& members, const std::vector<Hand>& hands) {
  std::vector<std::pair<Rank, const Hand*>> all;
  for (Rank rank : indices<Rank>(members.count()))
    all.emplace_back(members.world_rank(rank), &hands[static_cast<std::size_t>(rank)]);
  std::ranges::sort(all, {}, &std::pair<Rank, const Hand*>::first);
  const auto& [first, wanted] = all.front();
  for (const auto& [rank, other] : all) {
    if (other->order != wanted->order) {
      const std::vector<Rank> order = unpacked_ranks(wanted->order), others = unpacked_ranks(other->order);
      throw MismatchError(
          "rank " + std::to_string(first) + " makes a communicator of ranks " + rank_list(order) + ", rank " +
          std::to_string(rank) + " one of ranks " + rank_list(others) + ", which differ from number " +
          std::to_string(first_difference(others, order)) + " on; all must give the same order");
    }
    if (other->terms != wanted->terms) {
      const auto [term, others] = first_difference(wanted->terms, other->terms);
      throw MismatchError("rank " + std::to_string(first) + " passed " + term + ", rank " +
                          std::to_string(rank) + " " + others +
                          "; all must pass the same options, and make communicators in the same order");
    }
  }
}

/// Throws unless all have come with the same kind, and with a card.
std::vector<Bytes> cards_for(const Offer& own, const std::vector<Hand>& hands, std::size_t wire,
                             const Members& members) {
  if (!own.kind) throw ArgumentError(own.complaint);
  std::vector<Received> offers;
  for (Rank rank : indices<Rank>(members.count())) {
    const Hand& hand = hands[static_cast<std::size_t>(rank)];
    if (wire >= hand.offers.size())
      throw MismatchError(members.name(rank) + " has come for " + std::to_string(hand.offers.size()) +
                          " wires, " + members.name(members.self) + " for more; all must ask for the same");
    offers.push_back(Received::from(members.world_rank(rank), hand.offers[wire]));
    if (offers.back().is_complaint)
      throw ArgumentError("no wire joins these ranks: " + members.name(rank) +
                          " says: " + offers.back().text);
  }
  std::vector<Bytes> cards;
  for (Rank rank : indices<Rank>(members.count())) {
    Received& other = offers[static_cast<std::size_t>(rank)];
    if (other.text != own.kind->name())
      throw MismatchError(members.name(rank) + " has come with the wire '" + other.text + "', " +
                          members.name(members.self) + " with '" + own.kind->name() +
                          "'; all must choose the same");
    cards.push_back(std::move(other.card));
  }
  return cards;
}

}  // namespace

std::vector<std::unique_ptr<Wire>> connect_wires(const WiresRequest& request, Members* members,
                                                 const Deadline& deadline) {
  std::vector<Offer> own;
  Hand hand{std::string(request.terms), packed_ranks(members->ranks), {}};
  for (const WireChoice& choose : request.choices) {
    own.push_back(offer(choose, *members));
    hand.offers.push_back(own.back().packed());
  }
  const auto told = members->exchange("cards of the wires", hand.packed(), deadline);
  std::vector<Hand> hands;
  for (Rank rank : indices<Rank>(members->count()))
    hands.push_back(Hand::from(members->world_rank(rank), told[static_cast<std::size_t>(rank)]));
  check_agreement(*members, hands);
  std::vector<std::vector<Bytes>> cards;
  std::size_t ground_bytes = request.more_ground;
  for (std::size_t i = 0; i < own.size(); ++i) {
    cards.push_back(cards_for(own[i], hands, i, *members));
    ground_bytes += own[i].kind->ground_bytes(*members);
  }
  if (ground_bytes > 0)
    if (auto region = members->shared(ground_bytes, deadline))
      members->ground = std::make_shared<Ground>(std::move(region));
  std::vector<std::unique_ptr<Wire>> wires;
  for (std::size_t i = 0; i < own.size(); ++i)
    wires.push_back(own[i].kind->connect(*members, cards[i], deadline));
  return wires;
}

}  // namespace hemiola
