#include "hemiola/runtime/wire/emulated/emulated_wire.hpp"

#include <sched.h>
#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace hemiola {
namespace {

constexpr int kNumberBits = 40;

/// While bytes are under way on the inner wire, which may have no doorbell for what we wait for.
constexpr int kInnerWaitLimit_us = 200;

/// Sleeps of microseconds need timers that are not put off by fifty.
void sharpen_timers() {
  thread_local const int sharpened = prctl(PR_SET_TIMERSLACK, 1);
  static_cast<void>(sharpened);
}

}  // namespace

EmulatedWire::EmulatedWire(std::unique_ptr<Wire> inner, const NetworkModel* model,
                           std::span<std::byte> region, Rank self)
    : inner_(std::move(inner)),
      network_(region, self, model),
      self_(self),
      channels_(2 * static_cast<std::size_t>(inner_->rank_count())) {}

Request EmulatedWire::send(Rank dst, const std::byte* data, std::size_t bytes, Source source) {
  return add(dst, true, bytes, inner_->send(dst, data, bytes, source));
}

Request EmulatedWire::receive(Rank src, const Landing& landing, std::size_t bytes) {
  return add(src, false, bytes, inner_->receive(src, landing, bytes));
}

Request EmulatedWire::add(Rank peer, bool sending, std::size_t bytes, Request inner) {
  Channel& c = channel(peer, sending);
  const std::size_t index = 2 * static_cast<std::size_t>(peer) + sending;
  if (!c.is_open()) open_.push_back(index);
  const std::uint64_t number = c.first + c.messages.size();
  const MessageName name{sending ? self_ : peer, sending ? peer : self_, number - c.first_of_epoch};
  c.messages.push_back({name, bytes, inner});
  return Request{index << kNumberBits | number};
}

bool EmulatedWire::done(Request request) const {
  const auto bits = static_cast<std::uint64_t>(request);
  const Channel& c = channels_[bits >> kNumberBits];
  const std::uint64_t number = bits & ((std::uint64_t{1} << kNumberBits) - 1);
  return number < c.first || c.messages[number - c.first].is_done;
}

bool EmulatedWire::progress() {
  const bool moved = inner_->progress();
  if (open_.empty() && !is_reacting_) return moved;
  SharedNetwork::Session session(&network_);
  is_reacting_ = settle(&session);
  return moved || is_reacting_;
}

/// Tells the network what has been posted, moves it on, and looks what has finished.
bool EmulatedWire::settle(SharedNetwork::Session* session) {
  for (std::size_t index : open_)
    for (Message& m : channels_[index].messages)
      if (!m.is_posted && !(m.is_posted = session->post(m.name, m.bytes))) break;
  session->acknowledge();  // what has been posted since the last call was our reaction
  session->advance();
  now_ns_ = session->now_ns();
  bool news = false;
  for (std::size_t i = 0; i < open_.size();) {
    Channel& c = channels_[open_[i]];
    for (Message& m : c.messages)
      if (m.is_posted && !m.is_done && inner_->done(m.inner) && session->take(m.name))
        news = m.is_done = true;
    for (; !c.messages.empty() && c.messages.front().is_done; ++c.first) c.messages.pop_front();
    if (c.is_open()) {
      ++i;
    } else {
      open_[i] = open_.back();
      open_.pop_back();
    }
  }
  return news;
}

void EmulatedWire::wait(int timeout_us) {
  sharpen_timers();
  double left_us = timeout_us;
  {
    SharedNetwork::Session session(&network_);
    session.advance();
    if (const auto next_ns = session.next_event_ns()) left_us = std::min(left_us, *next_ns / 1000);
  }
  const bool inner_is_busy = std::ranges::any_of(open_, [&](std::size_t index) {
    return std::ranges::any_of(channels_[index].messages,
                               [&](const Message& m) { return !inner_->done(m.inner); });
  });
  if (left_us < 1)
    sched_yield();
  else if (inner_is_busy)
    inner_->wait(std::min(static_cast<int>(left_us), kInnerWaitLimit_us));
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
  is_reacting_ = false;
  SharedNetwork::Session session(&network_);
  session.reset(epoch);
}

void EmulatedWire::slow_down(std::span<const double> slowdown) {
  SharedNetwork::Session session(&network_);
  session.slow_down(slowdown);
}

/// What we post in reaction to an event belongs to the event's moment.
std::int64_t EmulatedWire::now_ns() const {
  return static_cast<std::int64_t>(is_reacting_ ? now_ns_ : std::max(now_ns_, network_.real_now_ns()));
}

std::size_t EmulatedWire::slice_bytes() const {
  return std::size_t{1} << 60;
}

}  // namespace hemiola
