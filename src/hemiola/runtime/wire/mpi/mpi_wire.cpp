// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/wire/mpi/mpi_wire.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "hemiola/base/error.hpp"
#include "hemiola/runtime/wire/peer_request.hpp"

namespace hemiola {
namespace {

/// An idle rank looks for messages of others once in so many calls.
constexpr unsigned kLooksEvery = 8;
constexpr int kYields = 20;
constexpr auto kFirstNap = std::chrono::microseconds(20), kLongestNap = std::chrono::microseconds(500);

/// Between a million ranks, 8.8 trillion messages each.
using Numbered = PeerRequest<43>;

}  // namespace

MpiWire::MpiWire(std::shared_ptr<MpiWorld> world, Rank self, const std::vector<MpiPeer>& peers)
    : world_(std::move(world)),
      self_(self),
      traits_{.messages = {.slice_bytes = MpiFrame::kPayload, .join_bytes = MpiFrame::kPayload},
              .carries_signatures = true,
              .carries_hints = true,
              .waiting = {.spins = 100, .yields = 50, .sleep_us = 5000}},
      pool_(std::make_shared<MpiFramePool>()) {
  world_->keep_moving();
  for (Rank number : indices<Rank>(static_cast<int>(peers.size()))) {
    const MpiPeer& peer = peers[static_cast<std::size_t>(number)];
    lines_.push_back(std::make_unique<Line>(&world_->library(), number, peer));
    if (number != self && std::ranges::find(tags_, peer.receive_tag) == tags_.end())
      tags_.push_back(peer.receive_tag);
  }
  listed_.reserve(lines_.size());
}

MpiWire::~MpiWire() {
  const bool is_done = std::ranges::all_of(lines_, [](const auto& line) { return !line->has_posts(); });
  if (!is_sound_ || !is_done) world_->note_failure();
  std::vector<MpiFrameInFlight> left;
  for (const auto& line : lines_) {
    for (const MpiFrameInFlight& frame : line->out.take_in_flight()) left.push_back(frame);
    for (const MpiFrameInFlight& frame : line->in.take_in_flight()) left.push_back(frame);
  }
  if (!left.empty()) world_->finish(std::move(pool_), std::move(left));
}

MpiWire::Line& MpiWire::line_to(Rank peer) {
  HEMIOLA_CHECK(peer >= 0 && static_cast<std::size_t>(peer) < lines_.size() && peer != self_,
                "message to or from a rank that the wire does not have");
  list(static_cast<std::size_t>(peer));
  return *lines_[static_cast<std::size_t>(peer)];
}

void MpiWire::list(std::size_t line) {
  if (!lines_[line]->is_listed) listed_.push_back(line);
  lines_[line]->is_listed = true;
}

Request MpiWire::send(Rank dst, const std::byte* data, std::size_t bytes, Source) {
  Line& line = line_to(dst);
  line.sent_bytes += bytes;
  return Numbered::outgoing(dst, line.out.post(tag_, data, bytes));
}

Request MpiWire::receive(Rank src, const Landing& landing, std::size_t capacity) {
  return Numbered::incoming(src, line_to(src).in.post(landing, capacity));
}

bool MpiWire::done(Request request) const {
  const Numbered numbered(request);
  const Line& line = *lines_[numbered.peer()];
  return numbered.is_incoming() ? line.in.done(numbered.number()) : line.out.done(numbered.number());
}

bool MpiWire::progress() {
  if (go_on_with_listed()) {
    world_->note_activity();
    return true;
  }
  return idle_calls_++ % kLooksEvery == 0 && look_for_others() && go_on_with_listed();
}

bool MpiWire::go_on_with_listed() {
  bool moved = false;
  for (std::size_t i = 0; i < listed_.size();) {
    Line& line = *lines_[listed_[i]];
    moved |= go_on(&line);
    if (line.has_work() && line.lost.empty()) {
      ++i;
    } else {
      line.is_listed = false;
      listed_[i] = listed_.back();
      listed_.pop_back();
    }
  }
  return moved;
}

/// MPI's error about a peer that it cannot reach is kept, and is news once.
bool MpiWire::go_on(Line* line) {
  if (!line->lost.empty()) return false;
  try {
    const bool has_sent = line->out.progress(epoch_, pool_.get());
    const bool has_moved = line->in.progress(epoch_, &tag_, pool_.get()) || has_sent;
    is_sound_ |= has_moved;
    return has_moved;
  } catch (const MpiCallError& e) {
    line->lost = e.what();
    return true;
  }
}

/// Whether somebody has sent something with whom nothing is under way from here.
bool MpiWire::look_for_others() {
  bool found = false;
  for (const int tag : tags_) try {
      const std::optional<int> sender = world_->library().sender_of(tag);
      if (!sender) continue;
      const auto line = std::ranges::find_if(lines_, [&](const auto& each) {
        return each->peer.mpi_rank == *sender && each->peer.receive_tag == tag;
      });
      if (line == lines_.end())
        throw FormatError("MPI rank " + std::to_string(*sender) +
                          " has sent a message to a group that it is not in");
      list(static_cast<std::size_t>(line - lines_.begin()));
      found = true;
    } catch (const MpiCallError&) {
      // A rank is gone; the calls for that one name it.
    }
  return found;
}

void MpiWire::wait(int timeout_us) {
  using Clock = std::chrono::steady_clock;
  const auto until = Clock::now() + std::chrono::microseconds(timeout_us);
  auto nap = kFirstNap;
  for (int looks = 0;; ++looks) {
    if (go_on_with_listed() || (look_for_others() && go_on_with_listed())) return world_->note_activity();
    const auto left = std::chrono::duration_cast<std::chrono::microseconds>(until - Clock::now());
    if (left.count() <= 0) return;
    if (looks < kYields) {
      std::this_thread::yield();
      continue;
    }
    std::this_thread::sleep_for(std::min(nap, left));
    nap = std::min(2 * nap, kLongestNap);
  }
}

Payload MpiWire::payload(Rank peer) const {
  const Line& line = *lines_[static_cast<std::size_t>(peer)];
  return {line.sent_bytes, line.in.payload_bytes()};
}

std::optional<ForeignMessage> MpiWire::mismatch() const {
  for (std::size_t i = 0; i < lines_.size(); ++i)
    if (const auto tag = lines_[i]->in.foreign(epoch_, tag_)) return ForeignMessage{Rank{i}, *tag};
  return std::nullopt;
}

std::vector<LostRank> MpiWire::lost() const {
  std::vector<LostRank> lost;
  for (std::size_t i = 0; i < lines_.size(); ++i)
    if (!lines_[i]->lost.empty() && lines_[i]->has_work()) lost.push_back({Rank{i}, lines_[i]->lost});
  return lost;
}

void MpiWire::reset(std::uint64_t epoch) {
  epoch_ = static_cast<std::uint32_t>(epoch);
  is_sound_ = false;
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    lines_[i]->out.forget();
    lines_[i]->in.forget();
    if (Rank{i} != self_) list(i);
  }
}

}  // namespace hemiola
