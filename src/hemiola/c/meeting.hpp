// SPDX-License-Identifier: Apache-2.0
// How this process comes together with the other ranks of its job, on one host or several, without Python.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "hemiola/base/deadline.hpp"
#include "hemiola/c/environment.hpp"
#include "hemiola/runtime/session/session.hpp"

namespace hemiola::c {

/// Hemiola's, which newcomers and ranks of other hosts must share.
std::string version();

/// Where the ranks of a job meet: at a name, those of one host; or at an address.
struct MeetingPlace {
  std::string name;     ///< of the job
  std::string address;  ///< "host:port"; empty: all are on this host
  int incarnation = 0;

  /// The place that `hemiola_join` was told: "host:port", or a name.
  static MeetingPlace of(const std::string& told);
};

/// Where the ranks of a launched job meet. Throws ArgumentError for ranks on several hosts without HEMIOLA_RENDEZVOUS.
MeetingPlace place_of(const Place& launched, const Settings& settings);

/// Waits for all other ranks. Throws TimeoutError and LostRankError that name those that did not come, and
/// ArgumentError for a rank outside its range, and where ranks of several hosts have no token.
std::shared_ptr<Session> meet(const MeetingPlace& place, Rank rank, int rank_count, const Settings& settings);

/// A newcomer's seat in a running job.
struct Seated {
  std::shared_ptr<Session> session;
  std::string invitation;     ///< the members' words to newcomers
  std::string agreement;      ///< the name of the one that has let it in
  std::vector<Rank> members;  ///< its answer
};

/// Knocks at a running job, and waits until its ranks let this process in. Throws MismatchError for another version,
/// ArgumentError where it lets nobody in, TimeoutError where no such job runs or nobody lets it in.
Seated enter(const MeetingPlace& place, const Settings& settings);

/// Says farewell to the ranks of other hosts.
void say_farewell(Session& session);

}  // namespace hemiola::c
