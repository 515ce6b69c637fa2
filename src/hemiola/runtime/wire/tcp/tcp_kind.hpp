// SPDX-License-Identifier: Apache-2.0
// Joins ranks by TCP, if one can connect to the other.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "hemiola/runtime/net/nic_addresses.hpp"
#include "hemiola/runtime/net/reception.hpp"
#include "hemiola/runtime/wire/wire_kind.hpp"

namespace hemiola {

struct TcpOptions {
  std::shared_ptr<Reception> reception;  ///< where others come in; its credentials are this rank's
  /// By which others reach it, the same on every host by their numbers; their ports do not count. Messages are spread
  /// over as many as every member has.
  std::vector<NicAddresses> nics;
};

class TcpKind final : public WireKind {
 public:
  /// Throws ArgumentError for a NIC without an address that others could reach, where there is none, and for more than
  /// 16.
  explicit TcpKind(TcpOptions options);

  std::string name() const override { return "tcp"; }
  bool reaches(const Session&, Rank) const override { return true; }
  Bytes card(const Members& members) override;
  std::unique_ptr<Wire> connect(const Members& members, std::span<const Bytes> cards,
                                const Deadline& deadline) override;

 private:
  TcpOptions options_;
  std::unique_ptr<Door> door_;  ///< on the last card, until its members are connected
};

}  // namespace hemiola
