#include "hemiola/runtime/wire/wire_kind.hpp"

#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "hemiola/base/error.hpp"

namespace hemiola {
namespace {

/// What a rank brings to the members: its kind and its card, or why it has none.
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

/// What goes wrong here is told to the others, who wait for this rank's card.
Offer offer(const WireChoice& choose, const Members& members) try {
  std::shared_ptr<WireKind> kind = choose();
  check_reach(*kind, members);
  Bytes card = kind->card(members);
  return {std::move(kind), {}, std::move(card)};
} catch (const Error& e) {
  return {nullptr, e.what(), {}};
}

}  // namespace

std::unique_ptr<Wire> connect_wire(const WireChoice& choose, const Members& members,
                                   const Deadline& deadline) {
  const Offer own = offer(choose, members);
  const auto told = members.session->exchange(members.ranks, "cards of the wire", own.packed(), deadline);
  std::vector<Received> offers;
  for (std::size_t i = 0; i < told.size(); ++i) offers.push_back(Received::from(members.ranks[i], told[i]));
  if (!own.kind) throw ArgumentError(own.complaint);
  std::vector<Bytes> cards;
  for (Rank rank : indices<Rank>(members.count())) {
    Received& other = offers[static_cast<std::size_t>(rank)];
    if (other.is_complaint)
      throw ArgumentError("no wire joins these ranks: " + members.name(rank) + " says: " + other.text);
    cards.push_back(std::move(other.card));
  }
  for (Rank rank : indices<Rank>(members.count()))
    if (const std::string& name = offers[static_cast<std::size_t>(rank)].text; name != own.kind->name())
      throw MismatchError(members.name(rank) + " has come with the wire '" + name + "', " +
                          members.name(members.self) + " with '" + own.kind->name() +
                          "'; all must choose the same");
  return own.kind->connect(members, cards, deadline);
}

}  // namespace hemiola
