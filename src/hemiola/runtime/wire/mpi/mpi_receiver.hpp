// SPDX-License-Identifier: Apache-2.0
// Messages from one peer over MPI: frames are taken as they come, a few ahead of the awaited ones, and landed in their
// order. Frames too far ahead are not taken in; those that MPI does not hold in its own memory wait at the sender.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "hemiola/base/fifo.hpp"
#include "hemiola/runtime/wire/mpi/mpi_frame.hpp"

namespace hemiola {

class MpiReceiver {
 public:
  /// `number` names the peer in the group, `peer` in MPI.
  MpiReceiver(MpiLibrary* library, Rank number, int peer, int tag)
      : library_(library), number_(number), peer_(peer), tag_(tag) {}

  /// Returns how many have been posted so far, by which `done` knows this one.
  std::uint64_t post(const Landing& landing, std::size_t capacity);
  bool done(std::uint64_t number) const { return number <= completed_; }
  bool idle() const { return queue_.empty(); }
  /// Of the messages that have begun to land.
  std::uint64_t payload_bytes() const { return payload_bytes_; }
  /// A frame is on its way into memory of ours.
  bool is_taking() const { return taking_ > 0; }

  /// Whether anything has come or landed. Throws BadMessageError and MpiCallError.
  bool progress(std::uint32_t epoch, OperationTag* own, MpiFramePool* pool);
  /// The next message's tag, where it is of another operation than `own` and not of a later one.
  std::optional<OperationTag> foreign(std::uint32_t epoch, const OperationTag& own);
  /// Forgets posted messages, which count as done. Frames that came before are told by their epoch.
  void forget();
  std::vector<MpiFrameInFlight> take_in_flight();

 private:
  static constexpr std::size_t kMostAhead = 8;

  struct Incoming {
    Landing landing;
    std::size_t capacity;
  };
  struct Arriving {
    MpiFrameInFlight held;
    std::size_t bytes;  ///< of its payload
  };

  bool take_in(MpiFramePool* pool);
  bool land(std::uint32_t epoch, OperationTag* own, MpiFramePool* pool);
  bool begin(const MpiFrameHeader& header, OperationTag* own);
  void land_front();
  void drop_front(MpiFramePool* pool);

  MpiLibrary* library_;
  Rank number_;
  int peer_, tag_;
  Fifo<Incoming> queue_;
  Fifo<Arriving> arriving_;
  std::size_t taking_ = 0;  ///< of them, those that MPI still writes to
  bool begun_ = false;      ///< the front message: some of its frames have landed
  std::size_t size_ = 0, landed_ = 0;
  std::uint64_t posted_ = 0, completed_ = 0;
  std::uint64_t payload_bytes_ = 0;
};

}  // namespace hemiola
