// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/session/hosts/hosts_lobby.hpp"

#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "hemiola/base/error.hpp"
#include "hemiola/base/refusal.hpp"
#include "hemiola/base/started_thread.hpp"

namespace hemiola {

HostsLobby::HostsLobby(const std::shared_ptr<Reception>& reception, LobbyTerms terms, Facts facts,
                       Limits limits, std::atomic<int>* ready_count)
    : terms_(std::move(terms)),
      facts_(std::move(facts)),
      limits_(limits),
      door_(reception->open(visit::kLobbyDoor)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      ready_count_(ready_count) {
  if (!wake_) throw LostRankError(refusal("cannot open the job's lobby (eventfd)", errno));
  thread_ = started_thread("the job's lobby", [this] { run(); });
}

HostsLobby::~HostsLobby() {
  closing_ = true;
  wake();
  thread_.join();
  *ready_count_ = 0;
}

// ---- any thread ----

std::vector<Guest> HostsLobby::guests() const {
  const std::lock_guard lock(mutex_);
  std::vector<Guest> ready;
  for (const Visitor& visitor : visitors_)
    if (visitor.is_ready && !visitor.is_over) ready.push_back(visitor.guest);
  return ready;
}

void HostsLobby::seat(std::uint64_t id, Bytes seat) {
  {
    const std::lock_guard lock(mutex_);
    for (Visitor& visitor : visitors_) {
      if (visitor.guest.id != id || visitor.is_over) continue;
      visitor.stream.put(FrameKind::message, visit::kSeat, seat);
      if (std::exchange(visitor.is_ready, false)) --*ready_count_;
    }
  }
  wake();
}

void HostsLobby::wake() {
  ::eventfd_write(wake_.get(), 1);
}

// ---- the thread ----

void HostsLobby::run() {
  while (!closing_) {
    std::vector<pollfd> all{{wake_.get(), POLLIN, 0}, {door_->bell(), POLLIN, 0}};
    {
      const std::lock_guard lock(mutex_);
      for (const Visitor& visitor : visitors_)
        all.push_back({visitor.stream.descriptor(),
                       static_cast<short>(visitor.stream.wants_to_write() ? POLLIN | POLLOUT : POLLIN), 0});
    }
    ::poll(all.data(), all.size(), all.size() > 2 ? static_cast<int>(limits_.beat.count()) : -1);
    eventfd_t rung;
    ::eventfd_read(wake_.get(), &rung);
    receive();
    const std::lock_guard lock(mutex_);
    for (Visitor& visitor : visitors_) listen_to(&visitor);
    look_after(Clock::now());
  }
  const std::lock_guard lock(mutex_);
  for (Visitor& visitor : visitors_) visitor.stream.flush();
}

void HostsLobby::receive() {
  for (ProvedConnection& arrival : door_->take()) {
    const std::lock_guard lock(mutex_);
    visitors_.push_back({.stream = FrameStream(std::move(arrival.socket)), .heard = Clock::now()});
  }
}

/// A visitor that says what no newcomer says is shown out.
void HostsLobby::listen_to(Visitor* visitor) {
  try {
    const bool is_there =
        visitor->stream.read([&](const FrameHead& head, std::span<const std::byte> content) {
          visitor->heard = Clock::now();
          heed(visitor, head, content);
        });
    visitor->is_over |= !is_there;
  } catch (const FormatError&) {
    visitor->is_over = true;
  }
}

void HostsLobby::heed(Visitor* visitor, const FrameHead& head, std::span<const std::byte> content) {
  if (head.kind != FrameKind::message) return;
  if (head.topic == visit::kKnock) return heed_knock(visitor, content);
  if (head.topic != visit::kReady || visitor->guest.id == 0 || visitor->is_ready) return;
  visitor->is_ready = true;
  ++*ready_count_;
}

void HostsLobby::heed_knock(Visitor* visitor, std::span<const std::byte> content) {
  Unpacker knock(content);
  visitor->guest = {.id = knock.get<std::uint64_t>(), .card = knock.get_bytes()};
  Card::of(visitor->guest.card);
  Packer answer;
  if (const auto seat = facts_.seat_of(visitor->guest.id))
    return visitor->stream.put(FrameKind::message, visit::kSeat, *seat);
  if (!terms_.refusal.empty())
    return visitor->stream.put(FrameKind::message, visit::kRefusal, answer.put_text(terms_.refusal).take());
  answer.put_text(terms_.invitation);
  visit::put_members(&answer, facts_.members());
  visitor->stream.put(FrameKind::message, visit::kWelcome, answer.take());
}

/// The beats of a newcomer are its lease: whoever stands still loses its place, and may knock again.
void HostsLobby::look_after(Clock::time_point now) {
  const bool beats = now >= next_beat_;
  if (beats) next_beat_ = now + limits_.beat;
  for (Visitor& visitor : visitors_) {
    visitor.is_over |= now - visitor.heard > limits_.silence;
    if (beats && !visitor.is_over) visitor.stream.put(FrameKind::beat, 0, {});
    visitor.is_over |= !visitor.is_over && !visitor.stream.flush();
    if (visitor.is_over && std::exchange(visitor.is_ready, false)) --*ready_count_;
  }
  visitors_.remove_if([](const Visitor& visitor) { return visitor.is_over; });
}

}  // namespace hemiola
