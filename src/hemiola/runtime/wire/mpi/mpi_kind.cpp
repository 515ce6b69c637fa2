// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/wire/mpi/mpi_kind.hpp"

#include <cstring>

#include "hemiola/base/error.hpp"
#include "hemiola/runtime/wire/mpi/mpi_wire.hpp"

namespace hemiola {

/// Others reach this rank by its own tag.
Bytes MpiKind::card(const Members&) {
  tag_ = world_->new_tag();
  Bytes card(sizeof tag_);
  std::memcpy(card.data(), &tag_, sizeof tag_);
  return card;
}

std::unique_ptr<Wire> MpiKind::connect(const Members& members, std::span<const Bytes> cards,
                                       const Deadline& deadline) {
  world_->enter(deadline);
  world_->check_threads();
  world_->check_tag(tag_);
  std::vector<MpiPeer> peers;
  for (std::size_t i = 0; i < cards.size(); ++i) {
    std::int32_t tag = 0;
    if (cards[i].size() != sizeof tag)
      throw FormatError("the card of rank " + std::to_string(members.ranks[i]) + " for the wire 'mpi' has " +
                        std::to_string(cards[i].size()) + " bytes, which is no tag");
    std::memcpy(&tag, cards[i].data(), sizeof tag);
    peers.push_back({.mpi_rank = static_cast<int>(members.ranks[i]), .send_tag = tag, .receive_tag = tag_});
  }
  return std::make_unique<MpiWire>(world_, members.self, peers);
}

}  // namespace hemiola
