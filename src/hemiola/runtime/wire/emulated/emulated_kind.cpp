// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/wire/emulated/emulated_kind.hpp"

#include "hemiola/base/error.hpp"
#include "hemiola/runtime/wire/emulated/emulated_wire.hpp"

namespace hemiola {

std::unique_ptr<Wire> EmulatedKind::connect(const Members& members, std::span<const Bytes> cards,
                                            const Deadline& deadline) {
  auto network = std::make_shared<const EmulatedNetwork>(topology_, conditions_, members.ranks);
  auto state = members.shared(SharedNetwork::region_bytes(*network), deadline);
  if (!state)
    throw ArgumentError("a network is emulated between ranks that share memory; these have none in common");
  return std::make_unique<EmulatedWire>(inner_->connect(members, cards, deadline), std::move(network),
                                        std::move(state), members.self);
}

}  // namespace hemiola
