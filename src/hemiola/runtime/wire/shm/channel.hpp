// SPDX-License-Identifier: Apache-2.0
// A one-way stream of messages between two ranks through a ring in shared memory, one writer and one reader. A small
// message is bytes in the ring; its size stands beside the word that says how far the ring is written, on the line that
// the reader looks at anyway. A big one begins with a line that says how long it is and where its bytes are: in the
// writer's own memory, from where the reader fetches them in one copy; on the writer's board, where they stand once for all
// their readers, a line of the ring for each piece; or, where none of these may be, in the ring, through which they
// stream in pieces, each visible as soon as it is copied. They land (copied or combined) straight from there. A line
// before a message says its tag where that is another than the last one's: of the first of an operation where messages
// bear signatures, else where hints come or go.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "hemiola/base/fifo.hpp"
#include "hemiola/base/move_cost.hpp"
#include "hemiola/runtime/wire/shm/board.hpp"
#include "hemiola/runtime/wire/shm/peer_memory.hpp"
#include "hemiola/runtime/wire/wire.hpp"

namespace hemiola {

/// Where one end of a channel stands: how many lines it has written or freed since the last reset, modulo
/// 2^32, and which reset that was. An end that finds another epoch than its own at the other end leaves the
/// ring alone, so that ends may reset at different times.
struct ChannelPosition {
  std::uint32_t epoch = 0;
  std::uint32_t line = 0;

  static ChannelPosition load(const std::atomic<std::uint64_t>& word) {
    const std::uint64_t value = word.load(std::memory_order_acquire);
    return {static_cast<std::uint32_t>(value >> 32), static_cast<std::uint32_t>(value)};
  }
  void store(std::atomic<std::uint64_t>& word) const {
    word.store(std::uint64_t{epoch} << 32 | line, std::memory_order_release);
  }
};

/// Whether a reader may fetch from the writer's memory. It finds out when the first big message comes.
enum class Fetching : std::uint32_t { untried, works, refused };

/// Of how many messages that have begun the sizes are kept: as many as share a line with `written`.
inline constexpr std::size_t kSizesKept = 28;

/// From this size on a message is big: fetching it costs a system call, streaming it a second copy.
inline constexpr std::size_t kBigBytes = 32 << 10;

/// How the bytes of a message come to its reader: through the ring, written through the caches or past them, or fetched from
/// where they are. What several peers read is posted on the board; between the others, costs decide.
enum class Way : std::uint32_t { cached, bypassing, fetched, posted };
inline constexpr std::size_t kWaysThroughRing = 2;
inline constexpr std::size_t kWays = 3;

/// What a reader says of messages of one size class by the ways that they come, in ticks per byte, 0 while it does not know.
struct ReadingCosts {
  std::atomic<float> take[kWays];    ///< while it takes what is there
  std::atomic<float> arrive[kWays];  ///< with its waiting for more
};

/// The shared words of a channel, each on cache lines of its own (two lines: the prefetcher fetches pairs).
struct ChannelControl {
  alignas(128) std::atomic<std::uint64_t> written;  ///< by the writer
  std::atomic<std::uint16_t> sizes
      [kSizesKept];  ///< by the writer, in turn; kBigMark: see the message's first line; kTagMark: no message
  alignas(128) std::atomic<std::uint64_t> freed;  ///< by the reader
  std::atomic<Fetching> fetching;                 ///< by the reader
  alignas(128) ReadingCosts costs[kSizeClasses];  ///< by the reader
};

/// Messages start at a line, so no element lies across the ring's end.
inline constexpr std::size_t kLineBytes = 64;
/// Of a ring, at least.
inline constexpr std::size_t kLeastRingBytes = 256 << 10;
/// Of all rings of a reader together, if they need not be smaller than the least: a line that its reader still has in a cache of its
/// own is slow to overwrite, and after so many bytes it has left it.
inline constexpr std::size_t kReaderBytes = 2 << 20;
/// A power of two, so that rings go round where counters of lines do.
inline constexpr std::size_t ring_bytes(int rank_count) {
  const std::size_t writers = static_cast<std::size_t>(std::max(rank_count - 1, 1));
  return std::max(std::bit_floor(kReaderBytes / writers), kLeastRingBytes);
}
inline constexpr std::size_t kPieceBytes = 32 << 10;
/// What is fetched at a time to be combined: as much as leaves the second-level cache to the data it meets there.
inline constexpr std::size_t kCombinedBytes = 128 << 10;
/// Of the memory through which that passes: it may begin a line further on.
inline constexpr std::size_t kBounceBytes = kCombinedBytes + kStoreLine;
/// What is fetched at a time to where it stays: a system call more per so many bytes is no cost.
inline constexpr std::size_t kFetchBytes = 1 << 20;

/// Of the size of a message that is not big: its bytes were written past the caches, which fewer than this never are.
inline constexpr std::uint16_t kBypassingMark = 0x8000;
inline constexpr std::size_t kLeastBypassing = MoveCost::kLeastBytes;
inline constexpr std::uint16_t kBigMark = kBypassingMark;
/// The line says which tag all messages bear from here on.
inline constexpr std::uint16_t kTagMark = kBypassingMark | 1;
static_assert(kBigBytes <= kBypassingMark, "the size of a message that is not big must fit beside `written`");

/// How a big message begins.
struct BigHeader {
  std::uint64_t bytes;
  std::uint64_t source;  ///< where they are in the writer's memory or on its board; else they follow
  Way way;
};

/// A channel's memory: twice as many lines as the ring has. What is written past the caches has a place of its own, so that
/// neither way finds lines where the other has left them.
class Ring {
 public:
  Ring(std::byte* memory, std::size_t bytes) : memory_(memory), bytes_(bytes) {}
  static constexpr std::size_t memory_bytes(std::size_t bytes) { return kWaysThroughRing * bytes; }
  std::size_t bytes() const { return bytes_; }
  std::uint32_t lines() const { return static_cast<std::uint32_t>(bytes_ / kLineBytes); }
  std::size_t offset(std::uint32_t line) const { return line * kLineBytes % bytes_; }
  std::byte* place(std::uint32_t line, Way way = Way::cached) const { return home(way) + offset(line); }
  /// Has the system map all of it at once, the first time: what a page that nobody has touched costs would tell nothing about
  /// the way. Where it cannot, pages come as they are touched.
  void settle(Way way, int advice);

 private:
  std::byte* home(Way way) const { return memory_ + static_cast<std::size_t>(way) * bytes_; }

  std::byte* memory_;
  std::size_t bytes_;
  std::array<bool, kWaysThroughRing> settled_{};
};

/// What both ends have: a view of the ring, a position, and a queue of posted messages.
template <typename Message>
class ChannelEnd {
 public:
  ChannelEnd(ChannelControl& control, const Ring& ring) : control_(control), ring_(ring) {}

  /// Returns the number of messages posted so far, by which `done` knows this one.
  std::uint64_t post(const Message& message) {
    queue_.push(message);
    return ++posted_;
  }
  bool done(std::uint64_t number) const { return number <= completed_; }
  bool idle() const { return completed_ == posted_; }

 protected:
  /// Forgets everything; unfinished messages count as completed.
  void forget(std::uint32_t epoch) {
    queue_.clear();
    completed_ = posted_;
    position_ = {epoch, 0};
    lines_ready_ = 0;
    size_slot_ = 0;
  }
  std::byte* place(Way way = Way::cached) const { return ring_.place(position_.line, way); }

  /// How much of `wanted` may move now: at most a piece, not across the ring's end, in whole lines unless it
  /// is the rest.
  std::size_t movable(std::size_t wanted) const {
    const std::size_t ready =
        std::min(std::size_t{lines_ready_} * kLineBytes, ring_.bytes() - ring_.offset(position_.line));
    return std::min({wanted, ready, kPieceBytes});
  }
  static std::uint32_t lines_of(std::size_t bytes) {
    return static_cast<std::uint32_t>((bytes + kLineBytes - 1) / kLineBytes);
  }
  void advance(std::size_t bytes) {
    position_.line += lines_of(bytes);
    lines_ready_ -= lines_of(bytes);
  }
  void leave_size_slot() { size_slot_ = (size_slot_ + 1) % kSizesKept; }
  void complete_front() {
    queue_.pop();
    ++completed_;
  }

  ChannelControl& control_;
  Ring ring_;
  ChannelPosition position_;
  std::uint32_t lines_ready_ = 0;  ///< to write or to read, as far as we have looked
  std::size_t size_slot_ = 0;      ///< where the next message's size is
  Fifo<Message> queue_;
  std::uint64_t posted_ = 0;
  std::uint64_t completed_ = 0;
};

struct OutgoingMessage {
  const std::byte* data;
  std::size_t bytes;
  Source source = Source::settled;
  bool counts_arrival = false;  ///< its cost is the time until the reader has it, not what both do for it
  bool begun = false;           ///< the reader can know of it
  Way way = Way::cached;        ///< once it has begun
  std::size_t size_class = 0;
  Notice* notice = nullptr;  ///< null: only this peer reads it
  std::size_t posted = 0;    ///< bytes on the board that the reader has been told of
  OperationTag tag = {};     ///< of all messages the same, but for hints, where they bear no signatures
};

class ChannelWriter : public ChannelEnd<OutgoingMessage> {
 public:
  ChannelWriter(ChannelControl& control, const Ring& ring, Board* board)
      : ChannelEnd(control, ring), board_(board) {}
  /// Moves at most one piece; false when nothing can move now.
  bool progress();
  void reset(std::uint32_t epoch);
  /// Several peers read the message posted last, of which nothing has moved yet.
  void put_on_board(Notice* notice) { queue_.back().notice = notice; }
  /// Counts this reader out of the notices that it has read.
  void leave_notices();
  /// Whether the reader is in this epoch.
  bool is_followed() const { return ChannelPosition::load(control_.freed).epoch == position_.epoch; }

 protected:
  std::uint32_t freed_ = 0;  ///< the reader's line, as far as we have looked
  /// Where the messages end whose sizes are kept: once the reader has freed that, a slot can be used again.
  std::array<std::uint32_t, kSizesKept> ends_{};

 private:
  void look_for_space();
  bool may_begin();
  bool begin(OutgoingMessage* message);
  Way way_of(const OutgoingMessage& message);
  void copy(const OutgoingMessage& message, std::size_t bytes);
  void say_tag(const OperationTag& tag);
  void begin_big(OutgoingMessage* message);
  void begin_posted(OutgoingMessage* message);
  bool post_piece(OutgoingMessage* message);
  void announce(std::uint16_t size, std::uint32_t end);
  bool stream(OutgoingMessage* message);
  void finish_front(std::uint32_t line);
  void finish_copied();
  bool retire();

  bool has_freed(std::uint32_t line) const {
    // The counters wrap, so what counts is the sign of their distance.
    return static_cast<std::int32_t>(freed_ - line) >= 0;
  }

  /// Of each message that is written, but not completed: the line whose release by the reader completes it. Only
  /// messages that are being fetched wait for the reader, and those behind them.
  Fifo<std::uint32_t> unread_;
  struct Reading {
    std::uint32_t end;
    Notice* notice;
  };
  Board* board_;
  Fifo<Reading> reading_;  ///< notices that have been announced to the end
  // By size class:
  std::array<std::array<MoveCost, kWaysThroughRing>, kSizeClasses> copying_;
  std::array<WayChooser, kSizeClasses> choosers_;
  OperationTag said_;  ///< in this epoch
};

struct IncomingMessage {
  Landing landing;
  std::size_t bytes;   ///< that may come; once it has begun, that are still to come
  bool begun = false;  ///< its size has been read
  // Once it has begun:
  Way way = Way::cached;
  std::uint64_t source = 0;  ///< where its rest is in the writer's memory or on its board
  std::size_t whole_bytes = 0;
  std::uint64_t begin_ticks = 0;  ///< when it has begun; 0: nobody takes its time
  std::uint64_t moved_ticks = 0;  ///< what moving its bytes has taken
};

class ChannelReader : public ChannelEnd<IncomingMessage> {
 public:
  /// `bounce` holds kBounceBytes: what is fetched to be combined, or to where the kernel's copy stumbles, passes through it.
  /// `own`: the tag of the operation that this rank is in, which outlives this and gets the hints of messages that land.
  ChannelReader(ChannelControl& control, const Ring& ring, Rank writer, PeerMemory memory,
                const std::byte* board, std::byte* bounce, OperationTag* own)
      : ChannelEnd(control, ring),
        writer_(writer),
        memory_(memory),
        board_(board),
        bounce_(bounce),
        own_(own) {}
  /// Moves at most one piece; false when nothing can move now. Throws BadMessageError.
  bool progress();
  void reset(std::uint32_t epoch);
  /// Of the messages that have begun to land.
  std::uint64_t payload_bytes() const { return payload_bytes_; }
  /// Whether the writer's process has been found to be gone.
  bool has_lost_writer() const { return has_lost_writer_; }
  /// The tag of the next message, where it is of another operation than this rank's and not of a later one; whether or not
  /// anything is posted.
  std::optional<OperationTag> foreign() const;

 private:
  bool is_current() const { return ChannelPosition::load(control_.written).epoch == position_.epoch; }
  void look_for_data();
  bool begin(IncomingMessage* message);
  bool may_land();
  OperationTag tag_in_line() const;
  bool begin_big(IncomingMessage* message);
  bool stream(IncomingMessage* message);
  bool read_board(IncomingMessage* message);
  bool fetch(IncomingMessage* message);
  std::byte* fetched_to(const IncomingMessage& message) const;
  bool fetch_piece(IncomingMessage* message, std::byte* to, std::size_t wanted);
  void complete(const IncomingMessage& message);
  void note_costs(const IncomingMessage& message);
  void land(IncomingMessage* message, const std::byte* from, std::size_t bytes);
  void free_line();

  Rank writer_;
  bool has_lost_writer_ = false;
  std::uint64_t payload_bytes_ = 0;
  PeerMemory memory_;
  const std::byte* board_;  ///< the writer's
  std::byte* bounce_;
  struct Costs {
    std::array<MoveCost, kWays> take, arrive;
  };
  std::array<Costs, kSizeClasses> costs_;  ///< by size class
  SizedCopier copier_;
  OperationTag* own_;
  OperationTag tag_;  ///< of the messages that come now
};

}  // namespace hemiola
