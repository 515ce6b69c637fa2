// SPDX-License-Identifier: Apache-2.0
// Messages to one peer over MPI: a queue, cut into frames, a few of which are under way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "hemiola/base/fifo.hpp"
#include "hemiola/runtime/wire/mpi/mpi_frame.hpp"

namespace hemiola {

class MpiSender {
 public:
  MpiSender(MpiLibrary* library, int peer, int tag) : library_(library), peer_(peer), tag_(tag) {}

  /// Returns how many have been posted so far, by which `done` knows this one.
  std::uint64_t post(const OperationTag& tag, const std::byte* data, std::size_t bytes);
  bool done(std::uint64_t number) const { return number <= completed_; }
  bool has_posts() const { return completed_ < posted_; }
  bool idle() const { return queue_.empty() && in_flight_.empty(); }

  /// Whether MPI has taken anything, or is through with something. Throws MpiCallError.
  bool progress(std::uint32_t epoch, MpiFramePool* pool);
  /// Forgets posted messages, which count as done; MPI keeps its own ones.
  void forget();
  std::vector<MpiFrameInFlight> take_in_flight();

 private:
  /// Enough to hide that a frame is copied while others travel.
  static constexpr std::size_t kMostInFlight = 8;

  struct Outgoing {
    OperationTag tag;
    const std::byte* data;
    std::size_t bytes;
  };

  void send_frame(std::uint32_t epoch, MpiFramePool* pool);
  bool reap(MpiFramePool* pool);

  MpiLibrary* library_;
  int peer_, tag_;
  Fifo<Outgoing> queue_;
  std::size_t cut_ = 0;  ///< of the front one, the bytes in frames
  Fifo<MpiFrameInFlight> in_flight_;
  std::uint64_t posted_ = 0, completed_ = 0;
};

}  // namespace hemiola
