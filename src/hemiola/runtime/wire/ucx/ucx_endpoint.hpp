// The way to one peer. Where UCX's transport can tell that the peer is gone, closing by force ends all requests at once, and
// nothing of the caller's memory is touched any more; over UCX's shared memory it cannot.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hemiola/runtime/wire/ucx/ucx_worker.hpp"

namespace hemiola {

class UcxEndpoint {
 public:
  UcxEndpoint() = default;
  UcxEndpoint(const UcxEndpoint&) = delete;

  /// `has_failed` is called with `argument`, while the worker makes progress, once the way has broken. On an error it stays
  /// closed, and `why_not` says why.
  using HasFailed = void (*)(void* argument, ucp::Endpoint* endpoint, ucp::Status status);
  void open(UcxWorker* worker, std::span<const std::byte> address, HasFailed has_failed, void* argument);
  bool is_open() const { return endpoint_ != nullptr; }
  const std::string& why_not() const { return why_not_; }

  ucp::Endpoint* get() const { return endpoint_; }
  /// Sends something that its receiver drops, under this id, so that it is known when the connection stands.
  void greet(unsigned id);
  /// Whether requests can be taken back. Not before the connection stands: UCX 1.13 ends the process over its own messages
  /// that it finds waiting then.
  bool can_force() const { return tells_of_end_ && stands_; }
  /// As "tcp/eth0", once it is open.
  std::vector<std::string> transports() const;

  /// Begins to close it by force.
  void close();
  /// Whether that has come to its end, for which the worker must make progress.
  bool is_closed();

 private:
  void note_greeted(ucp::Status status) { stands_ = status == ucp::Status::ok; }

  const ucp::Functions* ucx_ = nullptr;
  ucp::Endpoint* endpoint_ = nullptr;
  ucp::StatusPointer closing_ = nullptr;
  bool tells_of_end_ = false;
  bool stands_ = false;
  std::string why_not_;
};

}  // namespace hemiola
