// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/wire/shm/shm_wire.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "hemiola/base/error.hpp"
#include "hemiola/base/rounding.hpp"
#include "hemiola/runtime/wire/peer_request.hpp"

namespace hemiola {
namespace {

/// One per rank.
struct RankControl {
  Doorbell doorbell;
  MemoryCard memory;
};

/// Where things lie in the region: what belongs to a rank, then the words of all channels, then their rings from a new
/// page on, then the boards.
class Layout {
 public:
  explicit Layout(int rank_count) : rank_count_(static_cast<std::size_t>(rank_count)) {}

  std::size_t rank(Rank rank) const { return static_cast<std::size_t>(rank) * sizeof(RankControl); }
  std::size_t control(Rank src, Rank dst) const {
    return rank_count_ * sizeof(RankControl) + channel(src, dst) * sizeof(ChannelControl);
  }
  std::size_t ring(Rank src, Rank dst) const { return rings() + channel(src, dst) * ring_memory(); }
  std::size_t board(Rank rank) const {
    return rings() + rank_count_ * rank_count_ * ring_memory() + static_cast<std::size_t>(rank) * kBoardBytes;
  }
  std::size_t bytes() const { return board(Rank{0}) + rank_count_ * kBoardBytes; }

 private:
  std::size_t ring_memory() const { return Ring::memory_bytes(ring_bytes(static_cast<int>(rank_count_))); }
  std::size_t channel(Rank src, Rank dst) const {
    return static_cast<std::size_t>(src) * rank_count_ + static_cast<std::size_t>(dst);
  }
  std::size_t rings() const {
    const std::size_t words =
        rank_count_ * sizeof(RankControl) + rank_count_ * rank_count_ * sizeof(ChannelControl);
    return rounded_up(words, kPageBytes);
  }

  std::size_t rank_count_;
};

/// Between 65,536 ranks, 140 trillion messages each.
using Numbered = PeerRequest<47>;

std::span<std::byte> checked(std::span<std::byte> region, Rank self, int rank_count) {
  if (rank_count < 1 || self < 0 || self >= rank_count)
    throw ArgumentError("rank " + std::to_string(self) + " is out of range for a wire between " +
                        std::to_string(rank_count) + " ranks");
  if (region.size() < ShmWire::region_bytes(rank_count) ||
      reinterpret_cast<std::uintptr_t>(region.data()) % kPageBytes != 0)
    throw ArgumentError("a wire between " + std::to_string(rank_count) + " ranks needs " +
                        std::to_string(ShmWire::region_bytes(rank_count)) +
                        " bytes from the start of a page on, got " + std::to_string(region.size()));
  return region;
}

template <typename T>
T& object_at(std::span<std::byte> region, std::size_t offset) {
  return *reinterpret_cast<T*>(region.data() + offset);
}

}  // namespace

std::size_t ShmWire::region_bytes(int rank_count) {
  return Layout(rank_count).bytes();
}

ShmWire::ShmWire(std::span<std::byte> region, Rank self, int rank_count, const ShmOptions& options)
    : traits_{.messages = {.slice_bytes = 128 << 10, .resting_bytes = std::int64_t{1} << 60},
              .carries_signatures = options.carries_signatures,
              .carries_hints = true,
              .waiting = options.waiting},
      shares_core_(options.shares_core),
      is_pair_(rank_count == 2),
      own_doorbell_(
          object_at<RankControl>(checked(region, self, rank_count), Layout(rank_count).rank(self)).doorbell),
      own_memory_(object_at<RankControl>(region, Layout(rank_count).rank(self)).memory),
      bounce_(std::make_unique_for_overwrite<std::byte[]>(kBounceBytes)),
      board_(region.data() + Layout(rank_count).board(self)) {
  const Layout layout(rank_count);
  std::vector<PeerMemory> memories;
  peers_.reserve(static_cast<std::size_t>(rank_count));
  for (Rank peer : indices<Rank>(rank_count)) {
    RankControl& control = object_at<RankControl>(region, layout.rank(peer));
    ChannelWriter out(object_at<ChannelControl>(region, layout.control(self, peer)),
                      Ring(region.data() + layout.ring(self, peer), ring_bytes(rank_count)), &board_);
    ChannelReader in(object_at<ChannelControl>(region, layout.control(peer, self)),
                     Ring(region.data() + layout.ring(peer, self), ring_bytes(rank_count)), peer,
                     PeerMemory(control.memory), region.data() + layout.board(peer), bounce_.get(), &tag_);
    peers_.push_back({std::move(out), std::move(in), control.doorbell, false});
    memories.emplace_back(control.memory);
  }
  bears_hints_alone_ = !options.carries_signatures;
  wakeable_ = this;
  if (shares_core_) rank_clocks_ = std::make_unique<const RankClocks>(std::move(memories));
  traits_.waiting.core_use = rank_clocks_.get();
  busy_.reserve(peers_.size());
}

ShmWire::ShmWire(std::shared_ptr<SharedRegion> region, Rank self, int rank_count, const ShmOptions& options)
    : ShmWire(region->bytes(), self, rank_count, options) {
  memory_ = std::move(region);
}

ShmWire::Peer& ShmWire::busy(Rank rank) {
  HEMIOLA_CHECK(rank >= 0 && static_cast<std::size_t>(rank) < peers_.size(),
                "message to or from a rank that the wire does not have");
  Peer& peer = peers_[static_cast<std::size_t>(rank)];
  if (!peer.listed) busy_.push_back(rank);
  peer.listed = true;
  return peer;
}

Request ShmWire::send(Rank dst, const std::byte* data, std::size_t bytes, Source source) {
  Peer& peer = busy(dst);
  peer.sent_bytes += bytes;
  const bool counts_arrival = !shares_core_ && (source == Source::idle || is_pair_);
  Notice* const notice = bytes >= kLeastPosted && !is_pair_ ? shared_notice(data, bytes) : nullptr;
  latest_ = {data, bytes, dst, notice};
  return Numbered::outgoing(dst, peer.out.post({.data = data,
                                                .bytes = bytes,
                                                .source = source,
                                                .counts_arrival = counts_arrival,
                                                .notice = notice,
                                                .tag = tag_}));
}

/// The place of bytes on the board that the latest send is of, too; null where it is not, or there is no room.
Notice* ShmWire::shared_notice(const std::byte* data, std::size_t bytes) {
  if (latest_.data != data || latest_.bytes != bytes) return nullptr;
  if (latest_.notice == nullptr) {
    for (Peer& peer : peers_) peer.out.leave_notices();
    if (!is_followed_)
      is_followed_ = std::ranges::all_of(peers_, [](const Peer& peer) { return peer.out.is_followed(); });
    latest_.notice = is_followed_ ? board_.reserve(bytes) : nullptr;
    if (latest_.notice == nullptr) return nullptr;
    ++latest_.notice->readers;
    peers_[static_cast<std::size_t>(latest_.dst)].out.put_on_board(latest_.notice);
  }
  ++latest_.notice->readers;
  return latest_.notice;
}

Request ShmWire::receive(Rank src, const Landing& landing, std::size_t capacity) {
  return Numbered::incoming(src, busy(src).in.post({landing, capacity}));
}

bool ShmWire::done(Request request) const {
  const Numbered numbered(request);
  const Peer& peer = peers_[numbered.peer()];
  return numbered.is_incoming() ? peer.in.done(numbered.number()) : peer.out.done(numbered.number());
}

/// A piece out, then a piece in: what comes in often is what lets the other side send on.
bool ShmWire::progress(Peer& peer) {
  const bool sent = peer.out.progress();
  const bool received = peer.in.progress();
  if (sent || received) peer.doorbell.ring();
  return sent || received;
}

bool ShmWire::progress() {
  latest_.data = nullptr;
  bool moved = false;
  for (std::size_t i = 0; i < busy_.size();) {
    Peer& peer = peers_[static_cast<std::size_t>(busy_[i])];
    moved |= progress(peer);
    if (peer.idle()) {
      peer.listed = false;
      busy_[i] = busy_.back();
      busy_.pop_back();
    } else {
      ++i;
    }
  }
  return moved;
}

Payload ShmWire::payload(Rank peer) const {
  const Peer& at = peers_[static_cast<std::size_t>(peer)];
  return {at.sent_bytes, at.in.payload_bytes()};
}

std::optional<ForeignMessage> ShmWire::mismatch() const {
  for (Rank peer : indices<Rank>(static_cast<int>(peers_.size())))
    if (const auto tag = peers_[static_cast<std::size_t>(peer)].in.foreign())
      return ForeignMessage{peer, *tag};
  return std::nullopt;
}

std::vector<LostRank> ShmWire::lost() const {
  std::vector<LostRank> lost;
  for (Rank peer : indices<Rank>(static_cast<int>(peers_.size())))
    if (peers_[static_cast<std::size_t>(peer)].in.has_lost_writer())
      lost.push_back({peer, "a message that it has sent cannot be fetched, because its process is gone"});
  return lost;
}

void ShmWire::wait(int timeout_us) {
  own_doorbell_.sleep_unless([this] { return progress(); }, timeout_us);
}

int ShmWire::wake_descriptor() {
  if (!bell_) bell_ = std::make_unique<Bell>();
  return bell_->descriptor();
}

bool ShmWire::arm(int*) {
  wake_descriptor();
  own_doorbell_.sleep_by(bell_->name());
  return progress();
}

void ShmWire::disarm() {
  own_doorbell_.is_awake();
  bell_->silence();
}

void ShmWire::reset(std::uint64_t epoch) {
  for (Peer& peer : peers_) {
    peer.out.reset(static_cast<std::uint32_t>(epoch));
    peer.in.reset(static_cast<std::uint32_t>(epoch));
    peer.listed = false;
    peer.doorbell.ring();  // it may sleep until we are in its epoch
  }
  busy_.clear();
  latest_.data = nullptr;
  board_.clear();
  is_followed_ = false;
}

}  // namespace hemiola
