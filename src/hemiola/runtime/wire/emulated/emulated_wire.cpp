// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/wire/emulated/emulated_wire.hpp"

#include <sched.h>
#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace hemiola {
namespace {

constexpr int kNumberBits = 40;

/// While bytes are under way on the inner wire, which may have no doorbell for our events.
constexpr int kInnerWaitLimit_us = 200;

/// Nobody rings when another rank changes the network's state.
constexpr int kLongestSleep_us = 1000;

/// Sleeps of microseconds need timers that are not put off by fifty.
void sharpen_timers() {
  thread_local const int sharpened = prctl(PR_SET_TIMERSLACK, 1);
  static_cast<void>(sharpened);
}

/// Ports are real here: one step after the other, all parts of one step's sum arrive side by side, and messages are as
/// the schedule has them. Waiting must leave the cores to the threads that move the bytes.
WireTraits traits_of(const EmulatedNetwork& network, Rank self) {
  WireTraits traits{.messages = {.slice_bytes = std::int64_t{1} << 60, .join_bytes = 0, .pack_bytes = 0},
                    .groups_in_flight = 1,
                    .land_at_once = true,
                    .waiting = {.spins = 0, .sleep_us = kLongestSleep_us},
                    .ports = {network.sending_ports(self), network.receiving_ports(self)},
                    .arrival_delay = network.arrival_delay(self)};
  for (Rank peer : indices<Rank>(network.rank_count())) {
    traits.healthy.push_back({network.latency_ns(self, peer),
                              peer == self ? 1 : network.bandwidth_Bpns(self, peer),
                              network.message_ns(self, peer)});
    const double factor = network.slowdown()[static_cast<std::size_t>(peer)];
    if (factor > 1) traits.slow[peer] = factor;
  }
  return traits;
}

}  // namespace

EmulatedWire::EmulatedWire(std::unique_ptr<Wire> inner, std::shared_ptr<const EmulatedNetwork> network,
                           std::shared_ptr<SharedRegion> state, Rank self)
    : inner_(std::move(inner)),
      network_(std::move(network)),
      memory_(std::move(state)),
      traits_(traits_of(*network_, self)),
      state_(memory_->bytes(), self, network_.get()),
      self_(self),
      channels_(2 * static_cast<std::size_t>(network_->rank_count())) {
  clock_ = this;
  traits_.carries_signatures = inner_->traits().carries_signatures;
  traits_.carries_hints = inner_->traits().carries_hints;
  traits_.waiting.yields = inner_->traits().waiting.yields;
}

Request EmulatedWire::send(Rank dst, const std::byte* data, std::size_t bytes, Source source) {
  const Request sent = lending_tag(*inner_, [&] { return inner_->send(dst, data, bytes, source); });
  return add(dst, true, bytes, sent);
}

Request EmulatedWire::receive(Rank src, const Landing& landing, std::size_t capacity) {
  return add(src, false, capacity, inner_->receive(src, landing, capacity));
}

Request EmulatedWire::add(Rank peer, bool sending, std::size_t bytes, Request inner) {
  Channel& c = channel(peer, sending);
  const std::size_t index = 2 * static_cast<std::size_t>(peer) + sending;
  if (!c.is_open()) open_.push_back(index);
  const std::uint64_t number = c.first + c.messages.size();
  const MessageName name{sending ? self_ : peer, sending ? peer : self_, number - c.first_of_epoch};
  c.messages.push_back({name, bytes, inner, sending ? core_free_ns_ : 0});
  has_unposted_ = true;
  return Request{index << kNumberBits | number};
}

bool EmulatedWire::done(Request request) const {
  const auto bits = static_cast<std::uint64_t>(request);
  const Channel& c = channels_[bits >> kNumberBits];
  const std::uint64_t number = bits & ((std::uint64_t{1} << kNumberBits) - 1);
  return number < c.first || c.messages[number - c.first].is_done;
}

/// The network is told of messages before the inner wire moves them, which takes the core a while: bytes that are copied are
/// under way already.
bool EmulatedWire::progress() {
  bool news = (has_unposted_ || is_reacting_) && settle();
  const bool moved = lending_tag(*inner_, [&] { return inner_->progress(); });
  if (!news && !open_.empty()) news = settle();  // news are to be reacted to before they are acknowledged
  return moved || news;
}

/// Tells the network the posted messages, moves it on, and looks for finished ones, to which we react from then on.
bool EmulatedWire::settle() {
  SharedNetwork::Session session(&state_);
  has_unposted_ = false;
  for (std::size_t index : open_)
    for (Message& m : channels_[index].messages)
      if (!m.is_posted && !(m.is_posted = session.post(m.name, m.bytes, m.not_before_ns))) {
        has_unposted_ = true;
        break;
      }
  session.acknowledge();  // the messages posted since the last call were our reaction
  session.advance();
  now_ns_ = session.now_ns();
  bool news = false;
  for (std::size_t i = 0; i < open_.size();) {
    Channel& c = channels_[open_[i]];
    for (Message& m : c.messages)
      if (m.is_posted && !m.is_done && inner_->done(m.inner) && session.take(m.name)) news = m.is_done = true;
    for (; !c.messages.empty() && c.messages.front().is_done; ++c.first) c.messages.pop_front();
    if (c.is_open()) {
      ++i;
    } else {
      open_[i] = open_.back();
      open_.pop_back();
    }
  }
  is_reacting_ = news;
  return news;
}

void EmulatedWire::wait(int timeout_us) {
  sharpen_timers();
  double left_us = std::min(timeout_us, kLongestSleep_us);
  {
    SharedNetwork::Session session(&state_);
    session.advance();
    if (const auto next_ns = session.next_event_ns()) {
      left_us = std::min(left_us, *next_ns / 1000);
      unannounced_us_ = kFirstSleep_us;
    } else {
      left_us = std::min<double>(left_us, unannounced_us_);
      unannounced_us_ = std::min(2 * unannounced_us_, kLongestSleep_us);
    }
  }
  const bool inner_is_busy = std::ranges::any_of(open_, [&](std::size_t index) {
    return std::ranges::any_of(channels_[index].messages,
                               [&](const Message& m) { return !inner_->done(m.inner); });
  });
  if (left_us < 1)
    sched_yield();
  else if (inner_is_busy)
    lending_tag(*inner_, [&] { inner_->wait(std::min(static_cast<int>(left_us), kInnerWaitLimit_us)); });
  else
    std::this_thread::sleep_for(std::chrono::nanoseconds(static_cast<std::int64_t>(left_us * 1000)));
}

void EmulatedWire::reset(std::uint64_t epoch) {
  inner_->reset(epoch);
  for (Channel& c : channels_) {
    c.first += c.messages.size();
    c.first_of_epoch = c.first;
    c.messages.clear();
  }
  open_.clear();
  is_reacting_ = has_unposted_ = false;
  SharedNetwork::Session session(&state_);
  session.reset(epoch);
}

void EmulatedWire::slow_down(const NetworkSlowdown& slowdown) {
  const std::vector<double> by_link = network_->link_slowdown(slowdown);
  SharedNetwork::Session session(&state_);
  session.slow_down(by_link);
}

/// While this rank reacts, its work begins at the moment of its cause; else the clock has gone on beside it.
void EmulatedWire::charge(std::int64_t core_ns) {
  const auto work_ns = static_cast<double>(core_ns);
  const double begin_ns = is_reacting_ ? now_ns_ : std::max(now_ns_, state_.real_now_ns() - work_ns);
  core_free_ns_ = std::max(core_free_ns_, begin_ns) + work_ns;
}

/// A message in reaction to an event belongs to the event's moment.
std::int64_t EmulatedWire::now_ns() const {
  return static_cast<std::int64_t>(is_reacting_ ? now_ns_ : std::max(now_ns_, state_.real_now_ns()));
}

}  // namespace hemiola
