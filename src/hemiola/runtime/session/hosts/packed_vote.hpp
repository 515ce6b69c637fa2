// SPDX-License-Identifier: Apache-2.0
// Votes (survivors_vote.hpp) as they travel.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <vector>

#include "hemiola/base/bytes.hpp"
#include "hemiola/base/index.hpp"
#include "hemiola/runtime/session/hosts/survivors_vote.hpp"

namespace hemiola {

/// The digest of an agreement's members and its text.
struct AgreementName {
  std::uint64_t high = 0, low = 0;
  friend auto operator<=>(const AgreementName&, const AgreementName&) = default;
};

struct ReceivedVote {
  AgreementName agreement;
  std::vector<Rank> members;  ///< sorted
  SurvivorsVote::Message message;
};

/// Its size does not grow with the members, but with the gaps between those that it names.
Bytes packed_vote(const AgreementName& agreement, const std::vector<Rank>& members,
                  const SurvivorsVote::Message& message);

/// Throws FormatError for a kind that there is not, a kind that lacks the proposal that it is about, members or
/// newcomers that are not sorted, and newcomers that are not above the members.
ReceivedVote unpacked_vote(std::span<const std::byte> bytes);

}  // namespace hemiola
