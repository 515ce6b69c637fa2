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
  /// Of the active messages of this wire.
  static constexpr unsigned kMessageId = 7;

  /// `key` is the peer's.
  UcxSender(const ucp::Functions* ucx, UcxMoment* moment, std::uint64_t key)
      : ucx_(ucx), moment_(moment), key_(key) {}
  UcxSender(const UcxSender&) = delete;

  /// Returns how many have been posted so far, by which `done` knows this one. Where the endpoint is not open, it is never
  /// done.
  std::uint64_t post(UcxEndpoint* endpoint, const std::byte* data, std::size_t bytes);
  bool done(std::uint64_t number) const { return number <= completed_; }
  bool idle() const { return posted_ == completed_; }
  /// Why one of them could not be sent; ok where all could.
  ucp::Status failure() const { return failure_; }

  /// All that is posted counts as done. UCX may still hold what it has begun, until it calls back or its worker is gone.
  void forget();

 private:
  struct Outgoing {
    UcxSender* sender;
    UcxHeader header;
    Bytes copy;  ///< where a request cannot be taken back
    bool is_at_ucx, is_done, is_forgotten, counts;
  };

  static void has_been_sent(void* request, ucp::Status status, void* outgoing);
  void note_end(Outgoing* outgoing, ucp::Status status);
  void complete();

  const ucp::Functions* ucx_;
  UcxMoment* moment_;
  std::uint64_t key_;
  UcxPool<Outgoing> pool_;
  Fifo<Outgoing*> queue_;
  std::uint64_t posted_ = 0;
  std::uint64_t completed_ = 0;
  std::uint64_t before_epoch_ = 0;  ///< posted before this epoch
  ucp::Status failure_ = ucp::Status::ok;
};

}  // namespace hemiola
