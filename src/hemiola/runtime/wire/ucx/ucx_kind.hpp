// SPDX-License-Identifier: Apache-2.0
// Joins ranks by UCX, if it finds a way.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hemiola/runtime/wire/ucx/ucx_place.hpp"
#include "hemiola/runtime/wire/wire_kind.hpp"

namespace hemiola {

struct UcxOptions {
  std::vector<std::string> packaged;  ///< paths of libucp.so.0 in packages of PyPI
  std::string transports = {};        ///< as for UCX_TLS; empty: its value
  std::vector<Rank> among = {};  ///< the ranks that it joins, by their numbers in the session; empty: all
};

class UcxKind final : public WireKind {
 public:
  /// Throws ArgumentError where there is no UCX, or one that cannot be used.
  explicit UcxKind(UcxOptions options);

  std::string name() const override { return "ucx"; }
  bool reaches(const Session& session, Rank rank) const override;
  Bytes card(const Members& members) override;
  /// Throws ArgumentError, on every rank, where they have different versions of UCX.
  std::unique_ptr<Wire> connect(const Members& members, std::span<const Bytes> cards,
                                const Deadline& deadline) override;

 private:
  UcxOptions options_;
  const UcxLibrary& library_;
  std::optional<UcxPlace> place_;  ///< on the last card, until its members are connected
};

}  // namespace hemiola
