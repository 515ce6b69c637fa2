// SPDX-License-Identifier: Apache-2.0
// The thing behind a hemiola_comm: this process's place in a job, the present communicator of its ranks, and the way to
// the next one.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "hemiola/base/home_process.hpp"
#include "hemiola/c/core.hpp"
#include "hemiola/c/meeting.hpp"
#include "hemiola/c/network.hpp"

namespace hemiola::c {

/// The options that all ranks of a job have in common.
struct Terms {
  double timeout_s = 300;
  std::string wires = "auto";

  /// As JSON, for newcomers; those of Python's package see that the job is none of theirs.
  std::string invitation() const;
  /// Throws MismatchError for the invitation to a job of Python's package.
  static Terms invited(const std::string& invitation);
};

/// Any thread may call anything; all but `close` throws once it is closed, and in a forked child.
class Comm {
 public:
  /// Meets the others, and agrees with them on the options. Throws as Session and Communicator do.
  static std::shared_ptr<Comm> join(const MeetingPlace& place, Rank rank, int rank_count,
                                    const Settings& settings);
  /// Comes into a running job.
  static std::shared_ptr<Comm> enter(const MeetingPlace& place, const Settings& settings);

  int rank() const { return core()->communicator.rank(); }
  int rank_count() const { return core()->communicator.rank_count(); }
  bool is_called() const { return core()->communicator.is_called(); }

  void run(const Call& call) { core()->run(call); }
  /// Sends or receives; returns whose message it was.
  int run_message(const std::shared_ptr<MessageRequest>& request);

  /// The communicator of those that live takes the place of this one.
  void shrink();
  /// Of those that live, without those that leave, with newcomers. False on a rank that leaves.
  bool grow();
  void leave();
  void close();

 private:
  /// The ranks of a communicator, as they have agreed.
  struct Agreed {
    std::vector<Rank> ranks;
    std::string lineage;  ///< the same on all of them, and of no other communicator of the job
  };

  Comm(std::shared_ptr<Session> session, Terms terms, Agreed agreed)
      : session_(std::move(session)), terms_(std::move(terms)), agreed_(std::move(agreed)) {}

  std::shared_ptr<Core> core() const;
  void check_process() const;
  std::optional<Agreed> next_members(const Agreed& upon, bool grows) const;
  void become(std::optional<Agreed> agreed, bool grows);
  void stand(const Agreed& agreed, bool grows);
  bool is_whole(const Agreed& agreed) const;
  bool misses_one(const std::vector<Rank>& ranks) const;
  Figures known_figures(const std::vector<Rank>& ranks, Core& core) const;
  void open_lobby() const;
  CommunicatorOptions options() const;

  HomeProcess home_;
  std::shared_ptr<Session> session_;
  Terms terms_;
  std::mutex
      changing_;  ///< held by the thread that changes the members; guards the members down to `has_left_`
  Agreed agreed_;
  Figures figures_;
  bool has_left_ = false;

  mutable std::mutex mutex_;  ///< guards the rest
  std::shared_ptr<Core> core_;
  bool leaves_ = false;
  std::string why_none_ = "this communicator is closed";
};

}  // namespace hemiola::c
