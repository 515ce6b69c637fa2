// SPDX-License-Identifier: Apache-2.0
// Joins ranks by another kind of wire and makes it behave like a given network.
#pragma once

#include "hemiola/runtime/wire/wire_kind.hpp"
#include "hemiola/topology/conditions.hpp"
#include "hemiola/topology/topology.hpp"

namespace hemiola {

class EmulatedKind final : public WireKind {
 public:
  /// The topology's ranks are those of the session.
  EmulatedKind(std::shared_ptr<WireKind> inner, Topology topology, Conditions conditions)
      : inner_(std::move(inner)), topology_(std::move(topology)), conditions_(std::move(conditions)) {}

  std::string name() const override { return "emulated over " + inner_->name(); }
  bool reaches(const Session& session, Rank rank) const override { return inner_->reaches(session, rank); }
  Bytes card(const Members& members) override { return inner_->card(members); }
  /// The members must have memory in common, for the network's state. Throws the errors of EmulatedNetwork, too.
  std::unique_ptr<Wire> connect(const Members& members, std::span<const Bytes> cards,
                                const Deadline& deadline) override;

 private:
  std::shared_ptr<WireKind> inner_;
  Topology topology_;
  Conditions conditions_;
};

}  // namespace hemiola
