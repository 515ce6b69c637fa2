// SPDX-License-Identifier: Apache-2.0
// A newcomer's side of the way into a job on several hosts: it knocks at a member's lobby, makes all ready, and waits for its
// seat.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hemiola/base/deadline.hpp"
#include "hemiola/runtime/net/credentials.hpp"
#include "hemiola/runtime/session/hosts/frames.hpp"
#include "hemiola/runtime/session/hosts/visit.hpp"

namespace hemiola {

class LocalSession;

class Visitor {
 public:
  struct Options {
    Credentials credentials;        ///< of the job; the rank is unknown yet
    std::string job;                ///< its name
    std::vector<Endpoint> own;      ///< at which of its addresses others find this process, with the port
    std::vector<Endpoint> members;  ///< of the first member, perhaps among others
    std::chrono::milliseconds beat{100}, silence{1000};
  };

  explicit Visitor(Options options);

  /// Waits until a lobby says welcome. Throws MismatchError where the job runs another version, ArgumentError where it lets
  /// nobody in, TimeoutError where no lobby answers.
  void knock(const Deadline& deadline);
  /// Tries the ways to all members, and joins the memory of this host. Throws ArgumentError for a member that cannot be
  /// reached.
  void prepare(const Deadline& deadline);
  /// The members' words to newcomers.
  const std::string& invitation() const { return invitation_; }
  /// Says that this process is ready, and waits to be let in. Where the lobby's member ends, it knocks at the next one's.
  /// Throws TimeoutError where members do not let it in, and LostRankError where none lives.
  visit::Seat await_seat(const Deadline& deadline);
  /// With the ranks that share this host's memory; null where this process can share none.
  const std::shared_ptr<LocalSession>& neighbours() const { return neighbours_; }

 private:
  using Clock = std::chrono::steady_clock;

  bool visit_somebody(const Deadline& deadline);
  bool visit_at(const Endpoint& place, const Deadline& deadline);
  bool hear(const Deadline& deadline);
  void heed(const FrameHead& head, std::span<const std::byte> content);
  void heed_welcome(std::span<const std::byte> content);
  void try_the_ways(const Deadline& deadline);
  void join_neighbours(const Deadline& deadline);
  void renew_lease();

  Options options_;
  Card card_;
  std::uint64_t id_ = 0;
  std::vector<visit::Member> members_;
  std::string invitation_, refusal_, latest_failure_;
  std::optional<FrameStream> line_;
  std::optional<visit::Seat> seat_;
  std::shared_ptr<LocalSession> neighbours_;
  bool is_welcome_ = false;
  std::size_t next_place_ = 0;
  int refused_ = 0;  ///< places in a row where nobody listens
  Clock::time_point next_beat_{}, heard_{};
};

}  // namespace hemiola
