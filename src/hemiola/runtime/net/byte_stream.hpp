// SPDX-License-Identifier: Apache-2.0
// A connection between two processes: a socket, and, where the job encrypts, the encryption of its bytes. Everything that a
// rank says to another host goes through one.
#pragma once

#include <sys/socket.h>
#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <utility>

#include "hemiola/base/descriptor.hpp"
#include "hemiola/runtime/net/tls/tls_stream.hpp"

namespace hemiola {

/// Never blocks. Used by one thread at a time.
class ByteStream {
 public:
  ByteStream() = default;
  /// A plain one.
  ByteStream(Descriptor socket) : socket_(std::move(socket)) {}  // NOLINT: a socket is a connection

  explicit operator bool() const { return bool(socket_); }
  int get() const { return socket_.get(); }
  const Descriptor& socket() const { return socket_; }

  /// From now on all bytes are encrypted; the next ones are of TLS's handshake.
  void encrypt(const std::shared_ptr<const TlsContext>& context, TlsStream::Role role) {
    tls_ = std::make_unique<TlsStream>(context, get(), role);
  }
  /// Goes on without, to tell a peer that does not encrypt.
  void stop_encrypting() { tls_.reset(); }
  /// Null where nothing is encrypted.
  TlsStream* tls() const { return tls_.get(); }

  /// As recv and send: a count, 0 at the end, −1 and errno.
  ssize_t receive(void* into, std::size_t bytes) {
    if (!tls_) return ::recv(get(), into, bytes, MSG_DONTWAIT);
    const iovec part{into, bytes};
    return tls_->receive({&part, 1});
  }
  ssize_t send(const void* from, std::size_t bytes) {
    if (!tls_) return ::send(get(), from, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
    const iovec part{const_cast<void*>(from), bytes};
    return tls_->send({&part, 1});
  }
  /// Leaves the bytes to be received again.
  ssize_t peek(void* into, std::size_t bytes) {
    return tls_ ? tls_->peek(into, bytes) : ::recv(get(), into, bytes, MSG_PEEK | MSG_DONTWAIT);
  }
  /// Says that nothing more will be sent.
  void shut() { ::shutdown(get(), SHUT_WR); }

 private:
  Descriptor socket_;
  std::unique_ptr<TlsStream> tls_;  ///< goes first
};

}  // namespace hemiola
