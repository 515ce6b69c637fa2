// SPDX-License-Identifier: Apache-2.0
// Which ranks of a job are on one host, and which of them share memory with this one: by their numbers in the job and in
// the session of that host.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <vector>

#include "hemiola/base/hash.hpp"
#include "hemiola/base/index.hpp"

namespace hemiola {

class LocalSession;

/// Any thread may ask; one at a time changes.
class Neighbourhood {
 public:
  /// A rank's statement about itself.
  struct Place {
    Hash128 memory;   ///< that it shares with those who say the same; zero: with nobody
    Rank number{-1};  ///< in the session of that memory
    bool shares() const { return number >= 0; }
  };

  /// `founder_count`: ranks from there on have come later.
  Neighbourhood(Rank self, int founder_count) : self_(self), founder_count_(founder_count) {}

  /// The session with those that share this rank's memory; `host` has it.
  void take(std::shared_ptr<LocalSession> session, const Hash128& host);
  /// Null: there is none.
  std::shared_ptr<LocalSession> session() const;
  Place own_place() const;

  /// A founder's host, as a number.
  void note_host(Rank founder, int host);
  void note_neighbour(Rank rank, Rank number);
  /// Learns from everybody's statement about itself. A host that founders are on keeps its number; another one has that of
  /// its first rank among these. So all say the same.
  void settle(const std::vector<Rank>& members, const std::vector<Place>& places);

  int founder_count() const { return founder_count_; }
  /// Below 0 of one that this rank has never met.
  int host_of(Rank rank) const;
  /// The numbers of ranks in the host's session, sorted; empty where one of them is not among its ranks.
  std::vector<Rank> numbers_of(const std::vector<Rank>& members) const;
  std::optional<Rank> rank_of(Rank number) const;
  /// Whether this rank is the first of its host's among these.
  bool is_first_of_host(const std::vector<Rank>& members) const;

 private:
  const Rank self_;
  const int founder_count_;
  mutable std::shared_mutex mutex_;  ///< guards the members below
  std::shared_ptr<LocalSession> session_;
  Hash128 host_{};
  std::map<Rank, int> hosts_;
  std::map<Rank, Rank> numbers_;  ///< by rank
};

}  // namespace hemiola
