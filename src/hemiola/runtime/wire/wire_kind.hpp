// SPDX-License-Identifier: Apache-2.0
// The kinds of wire between ranks. Every folder beside this file holds a kind. The builder of a communicator is handed
// one, and knows none by name.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hemiola/base/bytes.hpp"
#include "hemiola/base/deadline.hpp"
#include "hemiola/runtime/session/members.hpp"
#include "hemiola/runtime/wire/wire.hpp"

namespace hemiola {

/// A rank may join several groups with one kind, one after the other.
class WireKind {
 public:
  virtual ~WireKind() = default;

  /// In a word or a few; the same on all ranks.
  virtual std::string name() const = 0;

  /// Whether it could join this rank and that one, by its number in the session.
  virtual bool reaches(const Session& session, Rank rank) const = 0;

  /// The address of this member for the others, or nothing. `connect` follows, for the same members.
  virtual Bytes card(const Members& members) = 0;

  /// How much memory in common `connect` takes from the members' ground, each piece counted as Ground does; the rest it
  /// asks for itself.
  virtual std::size_t ground_bytes(const Members&) const { return 0; }

  /// Collective over the members. `cards` are theirs, in their order. Throws TimeoutError or LostRankError, naming a
  /// member; ArgumentError where these members cannot be joined, which all of them find.
  virtual std::unique_ptr<Wire> connect(const Members& members, std::span<const Bytes> cards,
                                        const Deadline& deadline) = 0;
};

/// A rank's means to join the members; throws if the requested kind is not available here.
using WireChoice = std::function<std::shared_ptr<WireKind>()>;

struct WiresRequest {
  std::span<const WireChoice> choices;
  std::string_view terms = "";  ///< the terms that all must have alike, in lines such as name=value
  std::size_t more_ground = 0;  ///< bytes for others than wires
};

/// Chooses, exchanges the members' cards, lays their ground if a part stands on it, and connects them, by as many wires
/// as there are choices. Collective over the members. Throws as `connect` does. Throws an ArgumentError on every rank
/// if one cannot choose, has a member out of reach or no card. Throws a MismatchError if members have come with
/// different kinds, orders or terms; the error names the first term that differs.
std::vector<std::unique_ptr<Wire>> connect_wires(const WiresRequest& request, Members* members,
                                                 const Deadline& deadline);

}  // namespace hemiola
