// SPDX-License-Identifier: Apache-2.0
// Messages between two ranks as callers see them: any thread may start one and wait for it; nobody waits longer than
// its deadline, or for a rank that is gone. A waiting thread moves all messages of this rank. If none waits, a thread
// that the job lends moves them.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "hemiola/runtime/control/pulse.hpp"
#include "hemiola/runtime/messages/mailbox.hpp"
#include "hemiola/runtime/session/progress_threads.hpp"

namespace hemiola {

class Messenger {
 public:
  using RequestPtr = Mailbox::RequestPtr;
  using Check = std::function<void()>;

  /// Its owners. All outlive it.
  struct Owner {
    const Members* members;
    Pulse* pulse;
    const std::atomic<bool>* is_broken;  ///< nothing more will come from it
    const std::exception_ptr* why;       ///< once it is
    /// Called with no lock held once messages have failed in a way that nobody can repair.
    std::function<void(const std::exception_ptr&)> break_off;
  };
  Messenger(std::unique_ptr<Wire> wire, Owner owner);
  /// Ends the open requests, whose errors say `why`. Sent messages that have not left yet leave first, as far as its
  /// receivers live and for `patience_s` at most.
  void close(double patience_s, const std::string& why);
  ~Messenger() { close(0, {}); }
  Messenger(const Messenger&) = delete;

  /// Starts a message. Throws why there can be none any more, or none to its receiver.
  void post(const RequestPtr& request);
  /// Starts a message and returns once it is done; throws how it has failed. `interrupted` is called now and then; when it
  /// throws, the message is taken back.
  void run(const RequestPtr& request, const Check& interrupted);
  /// False where it is not done after `timeout_s`; then, and when `interrupted` throws, it goes on.
  bool wait_for(const RequestPtr& request, double timeout_s, const Check& interrupted);

 private:
  using Clock = std::chrono::steady_clock;

  /// A peer that will send nothing any more.
  struct Gone {
    Cause cause;              ///< of its being gone
    bool has_closed = false;  ///< in good order
    Clock::time_point since;
  };
  class Access;
  class Driver;

  bool drive(const RequestPtr& request, const Deadline& deadline, const Check& interrupted);
  bool step();
  bool move();
  template <typename Call>
  bool breaking_down(const Call& call);
  void rest(int idle_rounds);
  bool work();
  bool needs_the_task() const;
  void wake_task();
  bool has_work() const;
  void inspect();
  void note_losses();
  void note(Rank rank, const Cause& cause, bool has_closed);
  std::exception_ptr judge(const MessageRequest& request) const;
  std::exception_ptr overdue(const MessageRequest& request) const;
  std::exception_ptr abandoned(const MessageRequest& request) const;
  std::string named(const MessageRequest& request) const;
  bool is_gone(Rank rank) const;
  void give_up(const RequestPtr& request, const std::exception_ptr& error);
  void break_down(const std::exception_ptr& error);
  void tell_owner();

  std::unique_ptr<Wire> wire_;
  Owner owner_;
  Clock::duration grace_;

  std::mutex mutex_;                 ///< guards the rest
  std::atomic<int> contenders_ = 0;  ///< for it; its holder often gives way to them
  Mailbox mailbox_;
  std::map<Rank, Gone> gone_;
  Clock::time_point next_inspection_{};
  std::exception_ptr broken_;  ///< the error of every further call
  bool is_to_be_told_ = false;
  int drivers_ = 0;  ///< threads that wait for a message, and move all
  bool is_closing_ = false;
  std::condition_variable changed_;
  std::chrono::microseconds nap_;  ///< of the task
  ProgressTask task_;              ///< guards itself
};

}  // namespace hemiola
