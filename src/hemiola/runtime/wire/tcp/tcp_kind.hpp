// Joins ranks by TCP, if one can connect to the other.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "hemiola/runtime/net/reception.hpp"
#include "hemiola/runtime/wire/wire_kind.hpp"

namespace hemiola {

struct TcpOptions {
  std::shared_ptr<Reception> reception;  ///< where others come in; its credentials are this rank's
  std::vector<Endpoint>
      advertised;  ///< addresses by which others reach it, best first; their ports do not count
  int sockets_per_pair =
      1;  ///< several where one stream fills a core, or one of several paths; all say the same
};

class TcpKind final : public WireKind {
 public:
  /// Throws ArgumentError where nothing is advertised, or nothing that others could reach, and for fewer sockets than 1
  /// or more than 16.
  explicit TcpKind(TcpOptions options);

  std::string name() const override;
  bool reaches(const Session&, Rank) const override { return true; }
  Bytes card(const Members& members) override;
  std::unique_ptr<Wire> connect(const Members& members, std::span<const Bytes> cards,
                                const Deadline& deadline) override;

 private:
  TcpOptions options_;
  std::unique_ptr<Door> door_;  ///< on the last card, until its members are connected
};

}  // namespace hemiola
