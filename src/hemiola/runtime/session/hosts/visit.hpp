// SPDX-License-Identifier: Apache-2.0
// The words between a newcomer and the lobby of a job on several hosts. They travel as frames on a connection that is proved.
//
//   newcomer                                  lobby
//   knock: id, card                ─────────▶
//                                  ◀───────── welcome: invitation, members; or refusal: reason
//   ready                          ─────────▶
//   beat                           ◀────────▶ beat
//                                  ◀───────── seat
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "hemiola/base/bytes.hpp"
#include "hemiola/runtime/session/hosts/card.hpp"
#include "hemiola/runtime/session/hosts/packing.hpp"

namespace hemiola::visit {

/// The door of a reception at which a lobby is, where there is one.
inline constexpr std::uint32_t kLobbyDoor = 1U << 31;

/// The topics of frames.
enum Word : std::uint64_t { kKnock = 1, kWelcome, kRefusal, kReady, kSeat };

/// A member, as newcomers are told of it.
struct Member {
  Rank rank;
  int host = -1;
  Card card;
};

inline void put_members(Packer* packer, const std::vector<Member>& members) {
  packer->put(static_cast<std::uint64_t>(members.size()));
  for (const Member& member : members)
    packer->put(member.rank).put(std::int32_t{member.host}).put_bytes(member.card.packed());
}

inline std::vector<Member> get_members(Unpacker* unpacker) {
  std::vector<Member> members;
  for (auto left = unpacker->get<std::uint64_t>(); left > 0; --left) {
    const auto rank = unpacker->get<Rank>();
    const auto host = unpacker->get<std::int32_t>();
    members.push_back({rank, host, Card::of(unpacker->get_bytes())});
  }
  return members;
}

/// A newcomer's place in the job.
struct Seat {
  Rank number{-1};
  std::int32_t rank_count = 0;     ///< numbers that have been given so far
  std::int32_t founder_count = 0;  ///< of these, at the job's start
  std::string agreement;           ///< the name of the one that has let it in
  std::vector<Member> members;     ///< its answer

  Bytes packed() const {
    Packer packer;
    packer.put(number).put(rank_count).put(founder_count).put_text(agreement);
    put_members(&packer, members);
    return packer.take();
  }
  /// Throws FormatError.
  static Seat of(std::span<const std::byte> bytes) {
    Unpacker content(bytes);
    Seat seat{.number = content.get<Rank>(),
              .rank_count = content.get<std::int32_t>(),
              .founder_count = content.get<std::int32_t>(),
              .agreement = content.get_text(),
              .members = {}};
    seat.members = get_members(&content);
    return seat;
  }
};

}  // namespace hemiola::visit
