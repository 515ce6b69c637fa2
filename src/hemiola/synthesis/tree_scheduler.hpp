// When each chunk crosses each channel of its tree: a link that is free takes, of the chunks that wait for it, the one
// with the longest way to go.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

#include "hemiola/synthesis/delivery.hpp"
#include "hemiola/synthesis/sends.hpp"
#include "hemiola/synthesis/trees.hpp"
#include "hemiola/synthesis/trials.hpp"

namespace hemiola::synthesis {

class TreeScheduler {
 public:
  TreeScheduler(const Channels& channels, const Trees& trees, std::uint64_t seed);

  /// Appends to `sends`, by start; their steps are left 0. False: `state` said stop.
  bool run(SearchState* state, Sends* sends);

 private:
  using SendId = std::uint32_t;
  struct Planned {
    std::uint32_t channel;
    std::uint32_t chunk;
    SendId first_next;  ///< the sends that this one enables, as a list
    SendId next_sibling;
    Picoseconds to_go;  ///< from its start to the end of the longest way
    std::uint32_t tie;  ///< random
  };
  struct Event {
    enum Kind : std::uint32_t { link_free, arrival };
    Picoseconds time;
    Kind kind;
    std::uint32_t what;  ///< a link, or the send that arrives
    bool operator>(const Event& other) const { return time > other.time; }
  };
  struct Longest {
    const std::vector<Planned>* planned;
    bool operator()(SendId a, SendId b) const;
  };

  void plan(const Trees& trees, std::uint64_t seed);
  void enable(SendId send);
  void serve(std::uint32_t port);
  bool is_open(std::uint32_t channel, std::uint32_t* blocked_by) const;
  void start(SendId send);
  std::uint32_t port_of(SendId send) const { return channels_.hops(planned_[send].channel)[0].link; }

  const Channels& channels_;
  Sends* sends_ = nullptr;
  Picoseconds now_ = 0;
  std::vector<Planned> planned_;
  std::vector<SendId> at_once_;  ///< sends whose chunk is there from the beginning
  std::vector<std::vector<SendId>>
      waiting_;                    ///< per link out of a rank, a heap of the sends that wait for it
  std::vector<Picoseconds> free_;  ///< per link
  std::vector<std::vector<std::uint32_t>> held_up_;  ///< per link of a switch, the ports that wait for it
  std::vector<std::uint32_t> to_serve_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
};

}  // namespace hemiola::synthesis
