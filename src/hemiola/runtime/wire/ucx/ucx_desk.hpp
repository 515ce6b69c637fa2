// SPDX-License-Identifier: Apache-2.0
// The addresses of peers in later epochs. A reset retires a rank's worker with everything that is under way, so each
// epoch after the first has another worker, at another address. A rank with a message for a peer asks the peer's desk,
// whose worker stays, and is answered once the peer has come to the same epoch. So no message goes to a rank that would
// still drop it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "hemiola/runtime/wire/ucx/ucx_endpoint.hpp"
#include "hemiola/runtime/wire/ucx/ucx_header.hpp"
#include "hemiola/runtime/wire/ucx/ucx_place.hpp"
#include "hemiola/runtime/wire/ucx/ucx_pool.hpp"

namespace hemiola {

class UcxDesk {
 public:
  /// `peers` by their numbers in the group, this rank among them.
  UcxDesk(std::unique_ptr<UcxWorker> worker, UcxMoment* moment, const std::vector<UcxPeer>& peers);
  UcxDesk(const UcxDesk&) = delete;
  ~UcxDesk();

  /// This rank has come to its moment's epoch, in which it has this address.
  void announce(Bytes own_address);
  /// Where the peer is in this epoch; nothing as long as it has not said so. The first call asks.
  const Bytes* address_of(Rank peer);
  /// Why the peer cannot be asked; ok where it can.
  ucp::Status failure(Rank peer) const { return clients_[static_cast<std::size_t>(peer)].failure; }

  void progress();
  bool arm() { return worker_->arm(); }
  int descriptor() const { return worker_->descriptor(); }

 private:
  /// The words of desks to each other, with the address of its sender after it where it answers.
  struct Header {
    std::uint64_t key = 0;
    std::uint64_t epoch = 0;
    std::uint32_t sender = 0;
    std::uint32_t answers = 0;
  };
  struct Note {
    UcxDesk* desk;
    Header header;
    Bytes address;
  };
  /// One peer's, and this rank's of it.
  struct Client {
    UcxDesk* desk = nullptr;
    std::uint64_t key = 0;
    Bytes desk_address;
    UcxEndpoint endpoint;
    ucp::Status failure = ucp::Status::ok;
    std::uint64_t wants = 0;  ///< the epoch of which it has asked, and has not been answered
    std::uint64_t asked = 0;  ///< the epoch of which this rank has asked
    std::uint64_t is_in = 0;  ///< the epoch of `address`
    Bytes address;
  };

  static ucp::Status has_arrived(void* desk, const void* header, std::size_t header_bytes, void* data,
                                 std::size_t bytes, const ucp::ActiveMessageParams* params);
  static void has_failed(void* client, ucp::Endpoint* endpoint, ucp::Status status);
  static void has_been_sent(void* request, ucp::Status status, void* note);
  void tell(Client* client, bool answers);
  void answer();

  const ucp::Functions* ucx_;
  std::unique_ptr<UcxWorker> worker_;
  UcxMoment* moment_;
  std::vector<Client> clients_;  ///< by peer; they stay where they are
  UcxPool<Note> notes_;
  std::uint64_t announced_ = 0;
  Bytes own_address_;
  bool has_questions_ = false;
};

}  // namespace hemiola
