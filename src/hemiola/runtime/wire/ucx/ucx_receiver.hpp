// SPDX-License-Identifier: Apache-2.0
// Messages from one peer, in their order. A message that this rank waits for lands at once. An early one stays with
// UCX, or, if it is long, with its sender.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "hemiola/base/bytes.hpp"
#include "hemiola/base/fifo.hpp"
#include "hemiola/runtime/wire/ucx/ucx_header.hpp"
#include "hemiola/runtime/wire/ucx/ucx_pool.hpp"
#include "hemiola/runtime/wire/ucx/ucx_worker.hpp"

namespace hemiola {

/// A message as UCX hands it over.
struct UcxArrival {
  UcxHeader header = {};
  std::size_t bytes = 0;
  void* data = nullptr;       ///< the bytes, or a descriptor of them
  bool is_fetched = false;    ///< the bytes are still with the sender
  bool is_kept = false;       ///< `data` stays until it is released
  std::byte* copy = nullptr;  ///< of bytes that do not stay
};

class UcxReceiver {
 public:
  UcxReceiver(const ucp::Functions* ucx, UcxMoment* moment, Rank peer)
      : ucx_(ucx), moment_(moment), peer_(peer) {}
  UcxReceiver(const UcxReceiver&) = delete;
  ~UcxReceiver();

  /// Returns how many have been posted so far, by which `done` knows this one.
  std::uint64_t post(const Landing& landing, std::size_t capacity);
  bool done(std::uint64_t number) const { return number <= completed_; }
  bool idle() const { return posted_ == completed_; }
  /// Of the messages that have begun to land.
  std::uint64_t payload_bytes() const { return payload_bytes_; }
  /// Why one of them could not be received; ok where all could.
  ucp::Status failure() const { return failure_; }

  /// Called back by UCX, with messages of this epoch. Returns whether `data` is kept, to be released here.
  bool arrive(UcxArrival arrival, bool may_be_kept);
  bool has_arrivals() const { return !arrivals_.empty(); }
  /// Lands the arrived messages that may. `lands_in_place`: fetched bytes may go to their place, since that can be
  /// taken back. Throws BadMessageError.
  void land(ucp::Worker* worker, bool lands_in_place);
  /// The next message's tag, where it is foreign (see foreign_tag).
  std::optional<OperationTag> foreign();

  /// All posted messages count as done, and arrived ones are dropped; once its worker has retired.
  void forget();

 private:
  struct Incoming {
    UcxReceiver* receiver;
    Landing landing;
    std::size_t capacity, bytes;
    std::vector<std::byte> staging;
    bool is_staged, is_done;
  };

  bool is_next(const UcxHeader& header) const;
  bool fits(const Incoming& incoming, std::size_t bytes) const;
  void place(Incoming* incoming, const std::byte* data);
  void fetch(ucp::Worker* worker, Incoming* incoming, void* data, bool lands_in_place);
  static void has_been_fetched(void* request, ucp::Status status, std::size_t bytes, void* incoming);
  void note_end(Incoming* incoming, ucp::Status status);
  void complete(Incoming* incoming);
  void keep(UcxArrival arrival);
  Incoming* begin_next(const UcxArrival& arrival);

  const ucp::Functions* ucx_;
  UcxMoment* moment_;
  Rank peer_;
  UcxPool<Incoming> pool_;
  Fifo<Incoming*> queue_;  ///< posted and not done, in their order
  std::size_t begun_ = 0;  ///< so many of them, from the front
  std::uint64_t posted_ = 0;
  std::uint64_t completed_ = 0;
  std::uint64_t payload_bytes_ = 0;
  std::uint64_t next_ = 1;     ///< number of the message that is to land next
  Fifo<UcxArrival> arrivals_;  ///< by number
  ucp::Status failure_ = ucp::Status::ok;
};

}  // namespace hemiola
