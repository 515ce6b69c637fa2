#include "hemiola/runtime/wire/tcp/tcp_kind.hpp"

#include <cstring>

#include "hemiola/base/error.hpp"
#include "hemiola/runtime/wire/tcp/tcp_wire.hpp"

namespace hemiola {
namespace {

constexpr int kMostSockets = 16;

Bytes write_card(std::uint32_t door, const std::vector<Endpoint>& endpoints) {
  Bytes card(sizeof door);
  std::memcpy(card.data(), &door, sizeof door);
  for (const Endpoint& endpoint : endpoints) {
    const auto bytes = endpoint.bytes();
    card.insert(card.end(), bytes.begin(), bytes.end());
  }
  return card;
}

TcpPeer read_card(Rank world_rank, std::span<const std::byte> card) {
  TcpPeer peer{.world_rank = world_rank, .door = 0, .endpoints = {}};
  const std::size_t endpoints = (card.size() - sizeof peer.door) / Endpoint::kBytes;
  if (card.size() <= sizeof peer.door || card.size() != sizeof peer.door + endpoints * Endpoint::kBytes)
    throw FormatError("the card of rank " + std::to_string(world_rank) + " for the wire 'tcp' has " +
                      std::to_string(card.size()) + " bytes, which is no number of endpoints");
  std::memcpy(&peer.door, card.data(), sizeof peer.door);
  for (std::size_t i = 0; i < endpoints; ++i)
    peer.endpoints.push_back(Endpoint::from_bytes(
        card.subspan(sizeof peer.door + i * Endpoint::kBytes).first<Endpoint::kBytes>()));
  return peer;
}

}  // namespace

TcpKind::TcpKind(TcpOptions options) : options_(std::move(options)) {
  if (options_.sockets_per_pair < 1 || options_.sockets_per_pair > kMostSockets)
    throw ArgumentError("expected 1 to " + std::to_string(kMostSockets) +
                        " sockets between two ranks, found " + std::to_string(options_.sockets_per_pair));
  if (options_.advertised.empty())
    throw ArgumentError("expected an address at which other ranks reach this one by TCP, found none");
  for (Endpoint& endpoint : options_.advertised) {
    if (endpoint.is_any())
      throw ArgumentError("expected an address at which other ranks reach this one by TCP, found " +
                          endpoint.address() + ", which stands for all of them; name one");
    endpoint = endpoint.with_port(options_.reception->endpoint().port());
  }
}

/// Ranks that come with different numbers of sockets are told so by the exchange of cards.
std::string TcpKind::name() const {
  return options_.sockets_per_pair == 1 ? "tcp"
                                        : "tcp by " + std::to_string(options_.sockets_per_pair) + " sockets";
}

Bytes TcpKind::card(const Members&) {
  door_ = options_.reception->open();
  return write_card(door_->number(), options_.advertised);
}

std::unique_ptr<Wire> TcpKind::connect(const Members& members, std::span<const Bytes> cards,
                                       const Deadline&) {
  std::vector<TcpPeer> peers;
  for (std::size_t i = 0; i < cards.size(); ++i) peers.push_back(read_card(members.ranks[i], cards[i]));
  return std::make_unique<TcpWire>(std::move(door_), members.self, peers, options_.sockets_per_pair);
}

}  // namespace hemiola
