// SPDX-License-Identifier: Apache-2.0
// The first failure in a job, as far as a rank knows. Ranks that give up over it tell each other the failure, not that
// they have given up. So all of them name the same rank.
#pragma once

#include <cstdint>
#include <string>

#include "hemiola/base/index.hpp"
#include "hemiola/base/short_text.hpp"

namespace hemiola {

struct Cause {
  static constexpr Rank kNobody{-1};

  Rank rank = kNobody;      ///< the rank to blame, by its number in the session; kNobody if it is not known
  std::string reason;       ///< what it did, behind its name: "has died"; a whole sentence for kNobody
  std::int64_t at_ns = 0;   ///< when that was noticed, by the session's clock
  bool is_absence = false;  ///< it did not come in time, and may live

  /// Where two causes meet, the earlier one counts, and of two at one moment that of the lower rank.
  bool precedes(const Cause& other) const {
    return at_ns != other.at_ns ? at_ns < other.at_ns : rank < other.rank;
  }
  std::string text() const {
    return rank == kNobody ? reason : "rank " + std::to_string(rank) + " " + reason;
  }
};

/// A cause as it lies in shared memory or in a message; the reason may be cut short.
struct CauseRecord {
  Rank rank = Cause::kNobody;
  std::uint32_t is_absence = 0;
  std::int64_t at_ns = 0;
  ShortText reason{};

  static CauseRecord of(const Cause& cause) {
    CauseRecord record{cause.rank, cause.is_absence ? 1u : 0u, cause.at_ns};
    record.reason.write(cause.reason);
    return record;
  }
  Cause cause() const { return {rank, std::string(reason.view()), at_ns, is_absence != 0}; }
};

}  // namespace hemiola
