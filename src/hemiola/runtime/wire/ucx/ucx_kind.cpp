// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/wire/ucx/ucx_kind.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <utility>

#include "hemiola/base/error.hpp"
#include "hemiola/runtime/net/random_bytes.hpp"
#include "hemiola/runtime/wire/ucx/ucx_wire.hpp"

namespace hemiola {
namespace {

/// Before the addresses of the desk and of the worker.
struct CardHead {
  std::uint64_t key = 0;
  char version[24] = {};
  std::uint64_t desk_bytes = 0;
};

std::string version_on(std::span<const std::byte> card, Rank world_rank) {
  if (card.size() < sizeof(CardHead))
    throw FormatError("the card of rank " + std::to_string(world_rank) + " for the wire 'ucx' has " +
                      std::to_string(card.size()) + " bytes, which is too few");
  CardHead head;
  std::memcpy(&head, card.data(), sizeof head);
  return {head.version, ::strnlen(head.version, sizeof head.version)};
}

UcxPeer read_card(std::span<const std::byte> card) {
  CardHead head;
  std::memcpy(&head, card.data(), sizeof head);
  const auto addresses = card.subspan(sizeof head);
  if (head.desk_bytes > addresses.size()) throw FormatError("a card for the wire 'ucx' is cut off");
  const auto end_of_desk = addresses.begin() + static_cast<std::ptrdiff_t>(head.desk_bytes);
  return {head.key, Bytes(addresses.begin(), end_of_desk), Bytes(end_of_desk, addresses.end())};
}

/// "1.22" of "1.22.0"
std::string_view release_line(std::string_view version) {
  return version.substr(0, version.rfind('.'));
}

}  // namespace

UcxKind::UcxKind(UcxOptions options)
    : options_(std::move(options)), library_(UcxLibrary::open(options_.packaged)) {}

bool UcxKind::reaches(const Session& session, Rank rank) const {
  const auto is_joined = [&](Rank one) {
    return options_.among.empty() || std::ranges::find(options_.among, one) != options_.among.end();
  };
  return is_joined(session.rank()) && is_joined(rank);
}

Bytes UcxKind::card(const Members&) {
  place_.emplace(UcxContext::open(library_, options_.transports));
  CardHead head;
  std::array<std::byte, sizeof head.key> random;
  fill_randomly(random);
  std::memcpy(&head.key, random.data(), sizeof head.key);
  std::strncpy(head.version, library_.version().c_str(), sizeof head.version - 1);
  const UcxPeer own = place_->as_peer(head.key);
  head.desk_bytes = own.desk.size();
  Bytes card(sizeof head + own.desk.size() + own.worker.size());
  std::memcpy(card.data(), &head, sizeof head);
  std::ranges::copy(own.worker, std::ranges::copy(own.desk, card.begin() + sizeof head).out);
  return card;
}

std::unique_ptr<Wire> UcxKind::connect(const Members& members, std::span<const Bytes> cards,
                                       const Deadline&) {
  std::vector<UcxPeer> peers;
  for (std::size_t i = 0; i < cards.size(); ++i) {
    const std::string version = version_on(cards[i], members.ranks[i]);
    const std::string first = version_on(cards[0], members.ranks[0]);
    if (release_line(version) != release_line(first))
      throw ArgumentError("ranks have different versions of UCX: " + members.name(Rank{0}) + " has " + first +
                          ", " + members.name(Rank{i}) + " has " + version +
                          "; install the same everywhere ('hemiola doctor' shows which one is found)");
    peers.push_back(read_card(cards[i]));
  }
  return std::make_unique<UcxWire>(*std::exchange(place_, std::nullopt), members.self, std::move(peers));
}

}  // namespace hemiola
