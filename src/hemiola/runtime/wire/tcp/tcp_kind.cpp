// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/wire/tcp/tcp_kind.hpp"

#include <algorithm>
#include <cstring>

#include "hemiola/base/error.hpp"
#include "hemiola/runtime/wire/tcp/tcp_wire.hpp"

namespace hemiola {
namespace {

constexpr std::size_t kMostNics = 16;

struct NicHead {
  std::uint32_t speed;
  std::uint32_t endpoint_count;
};

template <typename Value>
void write(Bytes* card, const Value& value) {
  const auto bytes = std::as_bytes(std::span(&value, 1));
  card->insert(card->end(), bytes.begin(), bytes.end());
}

Bytes write_card(std::uint32_t door, const std::vector<NicAddresses>& nics) {
  Bytes card;
  write(&card, door);
  for (const NicAddresses& nic : nics) {
    write(&card, NicHead{nic.speed, static_cast<std::uint32_t>(nic.endpoints.size())});
    for (const Endpoint& endpoint : nic.endpoints) write(&card, endpoint.bytes());
  }
  return card;
}

/// Takes so many bytes off a card; throws where they are not there.
std::span<const std::byte> take(std::size_t bytes, Rank from, std::span<const std::byte>* card) {
  if (bytes > card->size())
    throw FormatError("the card of rank " + std::to_string(from) +
                      " for the wire 'tcp' ends amid a NIC: " + std::to_string(card->size()) +
                      " bytes are left where " + std::to_string(bytes) + " were expected");
  const auto taken = card->first(bytes);
  *card = card->subspan(bytes);
  return taken;
}

template <typename Value>
Value read(Rank from, std::span<const std::byte>* card) {
  Value value;
  std::memcpy(&value, take(sizeof value, from, card).data(), sizeof value);
  return value;
}

TcpPeer read_card(Rank world_rank, std::span<const std::byte> card) {
  TcpPeer peer{.world_rank = world_rank, .door = read<std::uint32_t>(world_rank, &card), .nics = {}};
  do {
    const auto head = read<NicHead>(world_rank, &card);
    NicAddresses nic{.endpoints = {}, .speed = std::max(head.speed, 1U)};
    for (std::uint32_t i = 0; i < head.endpoint_count; ++i)
      nic.endpoints.push_back(
          Endpoint::from_bytes(take(Endpoint::kBytes, world_rank, &card).first<Endpoint::kBytes>()));
    peer.nics.push_back(std::move(nic));
  } while (!card.empty());
  return peer;
}

[[noreturn]] void refuse(const std::string& found) {
  throw ArgumentError("expected an address at which other ranks reach this one by TCP, found " + found);
}

}  // namespace

TcpKind::TcpKind(TcpOptions options) : options_(std::move(options)) {
  if (options_.nics.empty()) refuse("none");
  if (options_.nics.size() > kMostNics)
    throw ArgumentError("expected at most " + std::to_string(kMostNics) +
                        " NICs to use side by side, found " + std::to_string(options_.nics.size()) +
                        "; name fewer in HEMIOLA_INTERFACE");
  for (NicAddresses& nic : options_.nics) {
    if (nic.endpoints.empty()) refuse("none");
    for (Endpoint& endpoint : nic.endpoints) {
      if (endpoint.is_any()) refuse(endpoint.address() + ", which stands for all of them; name one");
      endpoint = endpoint.with_port(options_.reception->endpoint().port());
    }
  }
}

Bytes TcpKind::card(const Members&) {
  door_ = options_.reception->open();
  return write_card(door_->number(), options_.nics);
}

std::unique_ptr<Wire> TcpKind::connect(const Members& members, std::span<const Bytes> cards,
                                       const Deadline&) {
  std::vector<TcpPeer> peers;
  for (std::size_t i = 0; i < cards.size(); ++i) peers.push_back(read_card(members.ranks[i], cards[i]));
  return std::make_unique<TcpWire>(std::move(door_), members.self, peers);
}

}  // namespace hemiola
