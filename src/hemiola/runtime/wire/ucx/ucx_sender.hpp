// SPDX-License-Identifier: Apache-2.0
// Messages to one peer, in their order. A message is done once UCX no longer needs its bytes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hemiola/base/bytes.hpp"
#include "hemiola/base/fifo.hpp"
#include "hemiola/runtime/wire/ucx/ucx_endpoint.hpp"
#include "hemiola/runtime/wire/ucx/ucx_header.hpp"
#include "hemiola/runtime/wire/ucx/ucx_pool.hpp"

namespace hemiola {

class UcxSender {
 public:
  /// `key` is the peer's.
  UcxSender(const ucp::Functions* ucx, UcxMoment* moment, std::uint64_t key)
      : ucx_(ucx), moment_(moment), key_(key) {}
  UcxSender(const UcxSender&) = delete;

  /// Returns how many have been posted so far, by which `done` knows this one.
  std::uint64_t post(const std::byte* data, std::size_t bytes);
  /// Posted messages that wait for `begin`.
  bool has_waiting() const { return begun_ < queue_.size(); }
  void begin(const UcxEndpoint& endpoint);
  bool done(std::uint64_t number) const { return number <= completed_; }
  bool idle() const { return posted_ == completed_; }
  /// Why one of them could not be sent; ok where all could.
  ucp::Status failure() const { return failure_; }

  /// All that is posted counts as done; once its worker has retired.
  void forget();

 private:
  struct Outgoing {
    UcxSender* sender;
    UcxHeader header;
    const std::byte* data;
    std::size_t bytes;
    bool is_done;
  };

  void begin(const UcxEndpoint& endpoint, Outgoing* outgoing);
  static void has_been_sent(void* request, ucp::Status status, void* outgoing);
  void note_end(Outgoing* outgoing, ucp::Status status);

  const ucp::Functions* ucx_;
  UcxMoment* moment_;
  std::uint64_t key_;
  UcxPool<Outgoing> pool_;
  Fifo<Outgoing*> queue_;
  std::size_t begun_ = 0;  ///< so many of them, from the front
  std::uint64_t posted_ = 0;
  std::uint64_t completed_ = 0;
  std::uint64_t before_epoch_ = 0;  ///< posted before this epoch
  ucp::Status failure_ = ucp::Status::ok;
};

}  // namespace hemiola
