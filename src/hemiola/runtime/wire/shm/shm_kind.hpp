// SPDX-License-Identifier: Apache-2.0
// Joins ranks of one host that can share memory.
#pragma once

#include "hemiola/runtime/wire/wire_kind.hpp"

namespace hemiola {

class ShmKind final : public WireKind {
 public:
  /// `carries_signatures`: messages bear what ranks do, for communicators where nothing else tells it.
  explicit ShmKind(bool carries_signatures = false) : carries_signatures_(carries_signatures) {}

  std::string name() const override { return "shm"; }
  bool reaches(const Session& session, Rank rank) const override {
    return session.host_of(rank) == session.host_of(session.rank());
  }
  /// Nothing: who shares memory needs no address.
  Bytes card(const Members&) override { return {}; }
  std::size_t ground_bytes(const Members& members) const override;
  std::unique_ptr<Wire> connect(const Members& members, std::span<const Bytes> cards,
                                const Deadline& deadline) override;

 private:
  bool carries_signatures_;
};

}  // namespace hemiola
