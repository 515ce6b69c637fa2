// SPDX-License-Identifier: Apache-2.0
// The pieces in which messages travel over MPI, each with a header in front. MPI cannot be made to forget a buffer, so
// it is given memory of ours only: a reset takes the user's memory back at once, and frames when MPI lets go.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "hemiola/runtime/wire/mpi/mpi_library.hpp"
#include "hemiola/runtime/wire/wire.hpp"

namespace hemiola {

/// Between processes of one kind of machine: as it lies in memory.
struct MpiFrameHeader {
  std::uint64_t message_bytes = 0;  ///< of all frames of the message
  std::uint64_t digest = 0;
  std::uint32_t operation = 0;
  std::uint32_t epoch = 0;  ///< modulo 2^32
  std::uint16_t version = 0;
  std::uint16_t flags = 0;  ///< hints
  std::uint32_t unused = 0;

  OperationTag tag() const {
    return {operation, version, digest, static_cast<std::uint8_t>(flags & kAllHints)};
  }
};
static_assert(sizeof(MpiFrameHeader) == 32);

class MpiFrame {
 public:
  /// Of a message, in one frame: whole elements, and whole lines of the cache.
  static constexpr std::size_t kPayload = std::size_t{256} << 10;

  explicit MpiFrame(std::size_t room)
      : bytes_(new Line[(room + sizeof(Line) - 1) / sizeof(Line)]), room_(room) {}

  std::byte* data() { return bytes_.get()->bytes; }
  std::byte* payload() { return data() + sizeof(MpiFrameHeader); }
  std::size_t room() const { return room_; }
  MpiFrameHeader header() const;
  void set_header(const MpiFrameHeader& header);

 private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  std::unique_ptr<Line[]> bytes_;
  std::size_t room_;
};

/// Frames that are used again: of two sizes, so that small messages do not take large memory.
class MpiFramePool {
 public:
  MpiFrame* take(std::size_t bytes);
  void give(MpiFrame* frame);

 private:
  static constexpr std::size_t kSmall = 4096;
  std::vector<std::unique_ptr<MpiFrame>> all_;
  std::vector<MpiFrame*> small_, large_;  ///< that are free
};

/// The frames that MPI holds.
struct MpiFrameInFlight {
  MpiFrame* frame = nullptr;
  MpiTicket ticket{};
  bool ends_message = false;  ///< of one that somebody waits for
  bool is_over = false;
};

}  // namespace hemiola
