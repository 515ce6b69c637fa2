// SPDX-License-Identifier: Apache-2.0
// The state of an emulated network in memory that all ranks share: a fluid simulation that follows the real clock. A
// rank that looks moves it on; no thread serves it.
//
// Its clock never passes an event before the ranks concerned have reacted to it, that is, have posted the messages that
// the event allows. A rank that wakes up late therefore holds the emulated clock back for a moment and does not appear
// slow in it; as soon as all have reacted, the clock catches up with the real one.
//
// A message's fixed time at each link occupies the links before its bytes, on all of the path at once, as in fluid
// simulations.
//
// Bytes of flows with different latencies do not queue at a link here, as it does in simulations
// (simulate/link_queues.hpp): such a message arrives earlier by at most the difference of these latencies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "hemiola/base/index.hpp"
#include "hemiola/runtime/wire/emulated/emulated_network.hpp"
#include "hemiola/topology/fair_filling.hpp"

namespace hemiola {

/// The k-th message from src to dst since the last reset.
struct MessageName {
  Rank src;
  Rank dst;
  std::uint64_t number = 0;
};

class SharedNetwork {
 public:
  static std::size_t region_bytes(const EmulatedNetwork& model);

  /// `region` is zero-filled at first, shared by all ranks, and outlives this.
  SharedNetwork(std::span<std::byte> region, Rank self, const EmulatedNetwork* model);

  /// The real clock, on the emulated one's scale.
  double real_now_ns() const;

  /// Holds the state's lock; everything below needs it.
  class Session {
   public:
    explicit Session(SharedNetwork* network);
    ~Session();
    Session(const Session&) = delete;

    /// This rank has reacted to all that `take` has returned so far.
    void acknowledge();
    /// Posts this rank's end of a message (it is the message's src or dst); false: no room yet, try again. `bytes`
    /// count at the sending end; the other one takes them as they come. It starts no sooner than `not_before_ns`.
    bool post(const MessageName& message, std::size_t bytes, double not_before_ns = 0);
    /// Moves the clock on, as far as it may go.
    void advance();
    /// The emulated clock.
    double now_ns() const;
    /// Whether this rank's end of a posted message is finished; if so, its end is taken back and must not be asked for
    /// again.
    bool take(const MessageName& message);
    /// Withdraws this rank's ends of all messages and starts a new epoch.
    void reset(std::uint64_t epoch);
    /// From now on links are slower than the topology's by so much.
    void slow_down(std::span<const double> link_slowdown);
    /// Nanoseconds of real time until the next event; at least 0. Empty: nothing is going on.
    std::optional<double> next_event_ns() const;

   private:
    SharedNetwork* network_;
  };

 private:
  struct Flow;
  enum class Phase : std::uint32_t;
  struct Entry;
  struct Payment;
  struct RankState;
  struct Header;

  /// Messages under way per pair. Power of two.
  static constexpr std::size_t kWindow = 32;

  std::size_t entry_index(const MessageName& message) const;
  double limit_ns() const;
  double next_time_ns() const;
  void handle_events_at(double time);
  void begin_payments(Entry* entry);
  void begin_flow(Entry* entry);
  std::span<Payment> payments(const Entry& entry) const;
  void tell(Rank rank);
  void set_rates();
  void notice_slowdown();
  void free(std::size_t index);

  Header* header_;
  RankState* ranks_;
  double* slowdown_;  ///< by link
  Entry* entries_;
  std::uint32_t* active_;  ///< entries with at least one end posted, unordered
  Payment* payments_;      ///< by entry, `most_payments` each
  const EmulatedNetwork* model_;
  std::vector<double> capacities_;  ///< of the links, as of `slowdown_version_`
  FairFilling filling_;             ///< from scratch at every change: others change the flows, too
  std::vector<Flow*> flows_;        ///< and their paths, while rates are set
  std::vector<std::span<const int>> paths_;
  std::uint32_t slowdown_version_ = 0;  ///< the last seen one of the header's
  Rank self_;
};

}  // namespace hemiola
