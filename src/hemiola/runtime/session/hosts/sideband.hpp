// SPDX-License-Identifier: Apache-2.0
// The sideband of a job on several hosts: a thread in every rank's process that carries short messages, tells the other
// ranks that this one lives, and notices those that do not. Nothing of an operation's data goes this way, so it is heard
// however full the network is and however long its rank computes.
//
// Every rank watches a few of those that live (neighbours.hpp): a beat ten times a second, from which follow silence
// and, from a connection's end, death. A rank that notices tells its neighbours, and they tell theirs. A connection to
// any other rank is made when somebody first has something to say to it.
//
// A rank may give up another one without having seen its end. It tells that one so first of all, and ignores its
// reports about others from then on.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "hemiola/runtime/net/reception.hpp"
#include "hemiola/runtime/session/courier.hpp"
#include "hemiola/runtime/session/dispatcher.hpp"
#include "hemiola/runtime/session/hosts/common_clock.hpp"
#include "hemiola/runtime/session/hosts/frames.hpp"
#include "hemiola/runtime/session/session.hpp"

namespace hemiola {

struct SidebandLimits {
  std::chrono::milliseconds beat{100};
  /// A rank of which nothing is heard for so long counts as lost. Several retransmissions of a full network fit in.
  std::chrono::milliseconds silence{1000};
  /// How long a rank that leaves waits until its last words have been heard.
  std::chrono::milliseconds farewell{1000};
  /// A rank that gives no sign at one of its addresses is called at another: they are of several NICs.
  bool tries_other_addresses = false;
};

class Sideband final : public Courier {
 public:
  /// `reception` has the address of this rank: its first door, which everybody knows already. `members` are sorted, this
  /// rank among them.
  Sideband(std::shared_ptr<Reception> reception, const std::vector<Rank>& members,
           const SidebandLimits& limits = {});
  ~Sideband() override;
  Sideband(const Sideband&) = delete;

  /// From now on this rank is heard and hears. Subscribe before, so that no message is missed.
  void start();
  /// The addresses at which a rank listens; they are tried one after the other. Messages to it wait until these are
  /// known.
  void learn(Rank rank, std::vector<Endpoint> at);
  /// Begins to watch neighbours, once all ranks are known. Before that nobody is lost: they may not have started.
  void watch();
  /// A newcomer is one of the members from now on.
  void admit(Rank newcomer, std::vector<Endpoint> at);

  void send(Rank to, Topic topic, Bytes message) override;
  void tell_all(Topic topic, Bytes message) override;
  std::unique_ptr<Subscription> subscribe(Topic topic, Handler handler) override {
    return dispatcher_.subscribe(topic, std::move(handler));
  }

  /// Says farewell, and waits until it has been heard, for a second at most. Nothing comes or goes afterwards.
  void leave();

  /// In the order in which they were lost, as far as is known here; this rank among them, where others have given it up.
  std::vector<LostRank> lost() const;
  ClockReading clock() const { return clock_.read(); }
  /// Why somebody could not connect, or we not to them; the latest few, for an error's message.
  std::vector<std::string> complaints() const;
  /// While ranks meet: why this rank and rank 0 cannot encrypt what they say; empty where they can.
  std::string encryption_refusal() const;

 private:
  using Clock = std::chrono::steady_clock;

  /// A connection that is there.
  struct Line {
    Rank peer;
    FrameStream stream;
    Clock::time_point since;  ///< when the other end proved who it is
    bool parting = false;     ///< its end means nothing
    bool over = false;
    bool replaces = false;          ///< it is this rank that has begun it, in place of another one
    bool is_left = false;           ///< another one is used in its place
    bool owes_answer = false;       ///< a counted frame has come since the latest beat
    bool has_beginning = false;     ///< its process has had another line before
    std::uint64_t next_number = 0;  ///< of the counted frame that comes next
  };
  /// This rank's knowledge of another one, and its connection to it.
  struct Peer {
    std::vector<Endpoint> endpoints;
    std::optional<Handshake> handshake;
    Line* line = nullptr;  ///< for all that is sent to it
    bool is_lost = false;
    Clock::time_point
        heard{};  ///< when something last came from it; of a neighbour, at the latest since it is watched
    std::size_t tries = 0;
    std::size_t refusals = 0;  ///< in a row, of the system where it was: nobody listens there
    Clock::time_point next_try{}, first_try{}, handshake_since{};
    std::deque<Bytes> unheard;  ///< counted frames until it has said that they have come; without the size
    std::uint64_t heard_count = 0;      ///< of those before
    Clock::time_point unheard_since{};  ///< the first one, on the present line
    std::uint64_t taken_count = 0;      ///< of counted frames from it
    bool has_had_line = false;
    bool is_member = false;  ///< as far as this rank knows: a newcomer may be heard before
  };
  struct Letter {
    FrameKind kind;
    Rank to{0};
    Topic topic = 0;
    Bytes message;
  };

  void run();
  void wait();
  void take_letters();
  void post(Letter letter);
  void spread(Topic topic, std::span<const std::byte> flood, Rank except);
  void retry(Rank rank, const Handshake& handshake);
  void put(Rank to, FrameKind kind, Topic topic, std::span<const std::byte> content);
  void accept();
  void open_lines();
  void begin_line(Rank peer);
  void go_on(Rank peer, Handshake* handshake);
  Line* add_line(Rank peer, ByteStream connection, bool is_own = false);
  void use(Line* line);
  void heed_answer(Peer* from, std::uint64_t count);
  bool counts(Line* line, FrameKind kind);
  void take_beginning(Line* line, std::uint64_t number);
  void leave_line(Rank rank);
  void leave_cut_ways(Clock::time_point now);
  void answer(Line* line);
  void read_lines();
  void refuse(Line* line, const std::string& what);
  Rank checked(Rank rank) const;
  void make_room_for(Rank rank);
  Rank keeper_of_time() const;
  void take(Line* line, const FrameHead& head, std::span<const std::byte> content);
  void take_flood(const Line& line, const FrameHead& head, std::span<const std::byte> content);
  void take_loss(const Line& line, const FrameHead& head, std::span<const std::byte> content);
  void take_ping(Line* line, const FrameHead& head, std::span<const std::byte> content);
  void end(Line* line);
  void sweep();
  void beat();
  void judge_silence(Clock::time_point now, Clock::duration own_delay);
  void lose(LostRank loss, Rank except = Rank{-1});
  void put_loss(Rank to, const LostRank& loss);
  void learn_more(Rank rank, Evidence evidence);
  void watch_the_living();
  void complain(const std::string& text);
  void note_unreached(const std::string& why);
  void say_farewell();
  void wake();
  int known_count() const { return static_cast<int>(peers_.size()); }
  Peer& peer(Rank rank) { return peers_[static_cast<std::size_t>(rank)]; }

  const Rank self_;
  const SidebandLimits limits_;
  const std::shared_ptr<Reception> reception_;
  const std::unique_ptr<Door> door_;
  Dispatcher dispatcher_;
  CommonClock clock_;
  Descriptor wake_;

  // Of the thread:
  std::vector<Rank> neighbours_;
  std::deque<Peer> peers_;  ///< by rank
  std::list<Line> lines_;
  std::map<Rank, std::set<std::uint64_t>> floods_;  ///< numbers of those that have come
  std::uint64_t next_flood_ = 0;
  bool watching_ = false;
  Clock::time_point next_beat_{};
  Rank asked_{-1};  ///< for the time
  int pings_ = 0;

  std::atomic<int> rank_count_;  ///< the highest number that was given, and one

  mutable std::mutex mutex_;  ///< guards the members below
  std::deque<Letter> letters_;
  std::map<Rank, std::vector<Endpoint>> learnt_;
  std::vector<Rank> admitted_;
  std::vector<LostRank> lost_;  ///< in their order; the thread alone writes
  std::deque<std::string> complaints_;
  std::string unreached_, encryption_refusal_;
  bool watch_ = false, closing_ = false;

  std::thread thread_;
};

}  // namespace hemiola
