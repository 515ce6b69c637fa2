// SPDX-License-Identifier: Apache-2.0
#include "hemiola/synthesis/network/replay.hpp"

#include <algorithm>
#include <functional>
#include <queue>
#include <vector>

#include "hemiola/base/huge_pages.hpp"
#include "hemiola/base/interrupt.hpp"
#include "hemiola/base/longest.hpp"
#include "hemiola/synthesis/network/send_places.hpp"

namespace hemiola::synthesis {
namespace {

/// Small operations of a send over one link, and of an event behind switches.
constexpr std::int64_t kPerSend = 3, kPerEvent = 16;

/// Where every channel is one link, the order of the list is the order of every link.
Picoseconds replay_in_order(const Channels& channels, const Sends& sends, int chunk_count) {
  const SendPlaces places(channels, sends, chunk_count);
  LargeVector<Picoseconds> there(places.count(), 0);
  std::vector<Picoseconds> free(channels.count(), 0);
  Picoseconds last = 0;
  for (std::size_t i = 0; i < sends.size(); ++i) {
    heed_interrupt(kPerSend);
    const std::uint32_t c = sends[i].channel;
    const Hop& hop = channels.hops(c)[0];
    const Picoseconds start = within_longest(std::max(free[c], there[places.from(i)]));
    free[c] = start + hop.busy;
    Picoseconds& come = there[places.to(i)];
    come = std::max(come, start + hop.delay);
    last = std::max(last, come);
  }
  return last;
}

/// Through switches: a rank's ports send in the order of the list, a switch's in the order of arrival.
class SwitchedReplay {
 public:
  SwitchedReplay(const Channels& channels, const Sends& sends, int chunk_count)
      : channels_(channels),
        sends_(sends),
        places_(channels, sends, chunk_count),
        arrived_(places_.count(), 0),
        free_(channels.link_count(), 0),
        queue_(channels.link_count()),
        sent_(channels.link_count(), 0),
        ports_of_(static_cast<std::size_t>(channels.rank_count())) {
    for (std::uint32_t c = 0; c < channels.count(); ++c) {
      std::vector<std::uint32_t>& ports = ports_of_[static_cast<std::size_t>(channels[c].src)];
      const std::uint32_t port = channels.hops(c)[0].link;
      if (std::find(ports.begin(), ports.end(), port) == ports.end()) ports.push_back(port);
    }
    LargeVector<std::int32_t> listed(places_.count(), 0);
    for (std::uint32_t i = 0; i < sends.size(); ++i) {
      queue_[port_of(i)].push_back(i);
      awaits_.push_back(listed[places_.from(i)]);
      ++listed[places_.to(i)];
    }
  }

  Picoseconds operator()() {
    for (std::uint32_t port = 0; port < queue_.size(); ++port) send_what_is_there(port, 0);
    Picoseconds last = 0;
    while (!events_.empty()) {
      const Event event = events_.top();
      events_.pop();
      heed_interrupt(kPerEvent);
      within_longest(event.time);
      const std::uint32_t c = sends_[event.send].channel;
      if (event.hop < channels_.hops(c).size()) {
        cross(event.send, event.hop, event.time);
        continue;
      }
      last = event.time;
      ++arrived_[places_.to(event.send)];
      for (const std::uint32_t port : ports_of_[static_cast<std::size_t>(channels_[c].dst)])
        send_what_is_there(port, event.time);
    }
    return last;
  }

 private:
  struct Event {
    Picoseconds time;
    std::uint32_t order;  ///< of events of one time
    std::uint32_t send;
    std::uint32_t hop;
    bool operator>(const Event& other) const {
      return time != other.time ? time > other.time : order > other.order;
    }
  };

  std::uint32_t port_of(std::uint32_t send) const { return channels_.hops(sends_[send].channel)[0].link; }

  void send_what_is_there(std::uint32_t port, Picoseconds now) {
    const std::vector<std::uint32_t>& queue = queue_[port];
    for (std::uint32_t& at = sent_[port]; at < queue.size(); ++at) {
      const std::uint32_t send = queue[at];
      if (arrived_[places_.from(send)] < awaits_[send]) return;
      cross(send, 0, now);
    }
  }

  void cross(std::uint32_t send, std::uint32_t hop_index, Picoseconds now) {
    const Hop& hop = channels_.hops(sends_[send].channel)[hop_index];
    const Picoseconds start = std::max(now, free_[hop.link]);
    free_[hop.link] = start + hop.busy;
    events_.push({start + hop.delay, next_order_++, send, hop_index + 1});
  }

  const Channels& channels_;
  const Sends& sends_;
  SendPlaces places_;
  LargeVector<std::int32_t> arrived_;  ///< per slot, how many sends have brought something
  std::vector<std::int32_t>
      awaits_;  ///< per send, how many that bring its chunk to its source are listed before it
  std::vector<Picoseconds> free_;
  std::vector<std::vector<std::uint32_t>> queue_;     ///< per link out of a rank, the sends in order
  std::vector<std::uint32_t> sent_;                   ///< how many of them have been sent
  std::vector<std::vector<std::uint32_t>> ports_of_;  ///< per rank, the first links of its channels
  std::uint32_t next_order_ = 0;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
};

}  // namespace

Picoseconds replay(const Channels& channels, const Sends& sends, int chunk_count) {
  return channels.has_switches() ? SwitchedReplay(channels, sends, chunk_count)()
                                 : replay_in_order(channels, sends, chunk_count);
}

void number_steps(const Channels& channels, int chunk_count, Sends* sends) {
  const SendPlaces places(channels, *sends, chunk_count);
  LargeVector<std::int32_t> ready(places.count(), 0);
  std::vector<std::int32_t> next(channels.link_count(), 0);
  for (std::size_t i = 0; i < sends->size(); ++i) {
    heed_interrupt(kPerSend);
    Send& send = (*sends)[i];
    std::int32_t step = ready[places.from(i)];
    for (const Hop& hop : channels.hops(send.channel)) step = std::max(step, next[hop.link]);
    for (const Hop& hop : channels.hops(send.channel)) next[hop.link] = step + 1;
    std::int32_t& ready_there = ready[places.to(i)];
    ready_there = std::max(ready_there, step + 1);
    send.step = step;
  }
}

}  // namespace hemiola::synthesis
