// When each chunk crosses each channel of its tree: a link that is free takes, of the chunks that wait for it, the one
// whose turn it is, then the one with the longest way to go.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

#include "hemiola/synthesis/delivery/delivery.hpp"
#include "hemiola/synthesis/delivery/trees.hpp"
#include "hemiola/synthesis/network/sends.hpp"
#include "hemiola/synthesis/trials.hpp"

namespace hemiola::synthesis {

/// What decides between chunks that wait for one link.
struct TreeOrder {
  std::uint64_t seed = 0;               ///< for equally long ways
  std::uint32_t chunks_per_turn = ~0u;  ///< so many chunks go before the next ones
};

class TreeScheduler {
 public:
  TreeScheduler(const Channels& channels, const Trees& trees, TreeOrder order);

  /// Appends to `sends`, by start; their steps are left 0. False: `state` said stop.
  bool run(SearchState* state, Sends* sends);

 private:
  using SendId = std::uint32_t;
  using ArrivalsId = std::uint32_t;
  struct Planned {
    std::uint32_t channel;
    std::uint32_t chunk;
    ArrivalsId arrivals;  ///< those that it is one of
    SendId next_sibling;
    std::uint32_t turn;
    std::uint32_t tie;  ///< random
    Picoseconds to_go;  ///< from its start to the end of the longest way
  };
  /// Of one chunk at one rank, until the rank sends it on.
  struct Arrivals {
    SendId first_next;      ///< the sends that they enable together, as a list
    std::uint32_t missing;  ///< how many of them have not come yet
  };
  struct Event {
    enum Kind : std::uint32_t { link_free, arrival };
    Picoseconds time;
    Kind kind;
    std::uint32_t what;  ///< a link, or the send that arrives
    bool operator>(const Event& other) const { return time > other.time; }
  };
  /// What a port decides by, beside the send, so that it need not be looked up.
  struct Waiting {
    Picoseconds to_go;
    std::uint32_t turn;
    std::uint32_t tie;
    std::uint32_t channel;
    SendId send;
    /// For a heap whose top is, of the earliest turn, the send with the longest way to go.
    bool operator<(const Waiting& other) const {
      if (turn != other.turn) return turn > other.turn;
      return to_go != other.to_go ? to_go < other.to_go : tie < other.tie;
    }
  };

  void plan(const Trees& trees, TreeOrder order);
  void add(std::uint32_t channel, std::uint32_t chunk, std::vector<ArrivalsId>* arrivals_at);
  void serve_called();
  void sort_by_turn(std::vector<std::uint32_t>* ports) const;
  void arrive(SendId send);
  void enable(SendId send);
  void serve(std::uint32_t port);
  bool is_open(std::uint32_t channel, std::uint32_t* blocked_by) const;
  void start(SendId send);

  const Channels& channels_;
  Sends* sends_ = nullptr;
  Picoseconds now_ = 0;
  std::vector<Planned> planned_;
  std::vector<Arrivals> arrivals_;
  std::vector<SendId> at_once_;  ///< sends whose chunk is there from the beginning
  std::vector<std::vector<Waiting>>
      waiting_;  ///< per link out of a rank, a heap of the sends that wait for it
  std::vector<Waiting> blocked_;
  std::vector<Picoseconds> free_;                    ///< per link
  std::vector<std::vector<std::uint32_t>> held_up_;  ///< per link of a switch, the ports that wait for it
  bool takes_turns_;
  std::vector<std::uint32_t> to_serve_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
};

}  // namespace hemiola::synthesis
