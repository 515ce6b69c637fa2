// SPDX-License-Identifier: Apache-2.0
// Messages from one peer over one connection at a time: headers are read a little ahead, with as much data as comes
// along, and looked at even where nobody waits for the message; the rest of a long one is read to where it lands. Data
// to be combined pass through a buffer that stays in the cache, a piece at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "hemiola/base/fifo.hpp"
#include "hemiola/runtime/wire/tcp/message_header.hpp"
#include "hemiola/runtime/wire/tcp/stream_socket.hpp"

namespace hemiola {

/// Aligned for any element.
class BounceBuffer {
 public:
  static constexpr std::size_t kBytes = std::size_t{128} << 10;
  static constexpr std::size_t kAlignment = 64;
  std::byte* data() { return lines_.data()->bytes; }

 private:
  struct alignas(kAlignment) Line {
    std::byte bytes[kAlignment];
  };
  std::vector<Line> lines_ = std::vector<Line>(kBytes / kAlignment + 1);
};

class MessageReceiver {
 public:
  explicit MessageReceiver(Rank peer) : peer_(peer) {}

  /// Returns how many have been posted so far, by which `done` knows this one.
  std::uint64_t post(const Landing& landing, std::size_t capacity);
  bool done(std::uint64_t number) const { return number <= completed_; }
  bool idle() const { return queue_.empty(); }
  /// All that has been read so far.
  std::uint64_t byte_count() const { return byte_count_; }
  /// Of the messages that have begun to land.
  std::uint64_t payload_bytes() const { return payload_bytes_; }
  /// Whether a message has begun to land, and not ended.
  bool is_amid() const { return begun_; }
  /// Whether the first message that began to land in the latest progress followed the one before it without a pause.
  bool follows() const { return first_begun_ && first_begun_->follows(); }

  /// Reads at most once, and lands the present bytes; returns whether any have come or landed. `own` gets the hints of
  /// messages that land. Throws BadMessageError.
  bool progress(StreamSocket* socket, OperationTag* own, BounceBuffer* bounce);
  /// Whether the next bytes are no header of a message. A message that does not fit has a sound one.
  bool is_garbled() const { return has_header() && !next_header().is_sound(); }
  /// Throws BadMessageError if the next bytes are garbled.
  void check_header() const;
  /// The next message's tag, where it is foreign (see foreign_tag).
  std::optional<OperationTag> foreign(const OperationTag& own) const;
  /// Takes in all that there is on a connection that is given up, but for its first `skipped` bytes. It lands later.
  void take_rest(StreamSocket* socket, std::size_t skipped);
  /// So many bytes have been read since everything was forgotten.
  std::uint64_t stream_bytes() const { return byte_count_ - forgotten_; }
  /// Forgets everything; so many count as posted and done.
  void forget(std::uint64_t count);

 private:
  static constexpr std::size_t kAheadBytes = std::size_t{8} << 10;
  /// Of an element that has come in part, and its neighbours: pieces to be combined are whole lines but the last.
  static constexpr std::size_t kCarryBytes = BounceBuffer::kAlignment;

  struct Incoming {
    Landing landing;
    std::size_t capacity;
  };

  bool begin(OperationTag* own);
  bool land_ahead(OperationTag* own, BounceBuffer* bounce);
  void take_ahead(std::size_t bytes, BounceBuffer* bounce);
  bool read(StreamSocket* socket, BounceBuffer* bounce);
  void make_room_ahead();
  std::byte* place_in(BounceBuffer* bounce);
  void combine(std::size_t bytes, BounceBuffer* bounce);
  void complete();

  std::size_t left() const { return size_ - landed_ - carried_; }
  std::size_t ahead() const { return ahead_end_ - ahead_begin_; }
  const std::byte* next_ahead() const { return ahead_.data() + ahead_begin_; }
  bool has_header() const { return !begun_ && ahead() >= sizeof(MessageHeader); }
  MessageHeader next_header() const;

  Rank peer_;
  Fifo<Incoming> queue_;
  std::uint64_t posted_ = 0;
  std::uint64_t completed_ = 0;
  std::uint64_t byte_count_ = 0;
  std::uint64_t forgotten_ = 0;  ///< of them
  std::uint64_t payload_bytes_ = 0;
  std::optional<MessageHeader> first_begun_;  ///< in the latest progress

  bool begun_ = false;       ///< the front one: its header has been taken
  std::size_t size_ = 0;     ///< of the one that has begun
  std::size_t landed_ = 0;   ///< of it
  std::size_t carried_ = 0;  ///< come, but not landed yet
  std::array<std::byte, kCarryBytes> carry_{};

  std::vector<std::byte> ahead_;  ///< empty until something comes
  std::size_t ahead_begin_ = 0, ahead_end_ = 0;
};

}  // namespace hemiola
