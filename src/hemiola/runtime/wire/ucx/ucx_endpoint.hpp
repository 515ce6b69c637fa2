// SPDX-License-Identifier: Apache-2.0
// The way from a worker to a peer's.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "hemiola/runtime/wire/ucx/ucx_worker.hpp"

namespace hemiola {

class UcxEndpoint {
 public:
  /// `has_failed` is called with `argument`, while the worker makes progress, once the way has broken. On an error it stays
  /// closed, and `why_not` says why.
  using HasFailed = void (*)(void* argument, ucp::Endpoint* endpoint, ucp::Status status);
  void open(UcxWorker* worker, std::span<const std::byte> address, HasFailed has_failed, void* argument);
  bool is_open() const { return endpoint_ != nullptr; }
  const std::string& why_not() const { return why_not_; }

  ucp::Endpoint* get() const { return endpoint_; }
  /// Whether UCX tells when the peer's end is gone. Where it cannot, as over its shared memory, a peer that knows nothing of the
  /// end of this one's worker may still write where that has told it to.
  bool tells_of_end() const { return tells_of_end_; }
  /// Sends something that its receiver drops, under this id, so that it is known when the connection stands.
  void greet(unsigned id);
  bool stands() const { return stands_; }
  /// Whether the greeting is still under way: neither has it arrived nor has it failed.
  bool is_greeting() const { return is_greeting_; }
  /// Not before it stands: UCX 1.13 ends the process over its own messages that it finds waiting then.
  bool may_close() const { return is_open() && tells_of_end_ && stands_; }
  /// Begins to end it by force, with all its requests.
  void close();
  /// Whether that is over, for which the worker must make progress.
  bool is_closed();
  /// As "tcp/eth0", once it is open.
  std::vector<std::string> transports() const;

 private:
  void note_greeted(ucp::Status status) {
    stands_ = status == ucp::Status::ok;
    is_greeting_ = false;
  }

  const ucp::Functions* ucx_ = nullptr;
  ucp::Endpoint* endpoint_ = nullptr;
  ucp::StatusPointer closing_ = nullptr;
  bool tells_of_end_ = false;
  bool stands_ = false;
  bool is_greeting_ = false;
  std::string why_not_;
};

}  // namespace hemiola
