// SPDX-License-Identifier: Apache-2.0
// Messages to one peer over one connection at a time: a queue, written as far as the kernel has room, from where the
// caller's bytes are. A message is done once the kernel has all of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "hemiola/base/fifo.hpp"
#include "hemiola/runtime/wire/tcp/kept_bytes.hpp"
#include "hemiola/runtime/wire/tcp/message_header.hpp"
#include "hemiola/runtime/wire/tcp/stream_socket.hpp"

namespace hemiola {

class MessageSender {
 public:
  /// `keeps`: bytes that the other end's kernel has not acknowledged are kept, so that another connection can go on.
  explicit MessageSender(bool keeps) : kept_(keeps ? std::make_unique<KeptBytes>() : nullptr) {}

  /// Returns how many have been posted so far, by which `done` knows this one.
  std::uint64_t post(const OperationTag& tag, const std::byte* data, std::size_t bytes);
  bool done(std::uint64_t number) const { return number <= completed_; }
  bool idle() const { return queue_.empty() && to_repeat_ == 0; }

  /// Writes once; whether anything could be written.
  bool progress(StreamSocket* socket);
  /// Forgets everything; so many count as posted and done.
  void forget(std::uint64_t count);

  /// Where it keeps bytes: whether the other end may lack some of those that have been written.
  bool awaits_acknowledgement() const { return kept_ && (!kept_->empty() || written_ > 0); }
  /// Drops those that the other end's kernel has.
  void heed_acknowledgements(const StreamSocket& socket);
  /// Goes on over another connection, whose other end has received so many bytes of the stream. False where that cannot
  /// be: more than there were, or fewer than it has acknowledged.
  bool resume(std::uint64_t received);

 private:
  struct Outgoing {
    MessageHeader header;
    const std::byte* data;
  };

  bool repeat(StreamSocket* socket);
  void advance(std::size_t bytes, const StreamSocket& socket);
  bool is_front_written() const {
    return !queue_.empty() && written_ >= sizeof(MessageHeader) + queue_.front().header.bytes;
  }
  std::uint64_t acknowledged(const StreamSocket& socket) const;

  Fifo<Outgoing> queue_;
  std::size_t written_ = 0;  ///< of the front one, header and data
  std::uint64_t posted_ = 0;
  std::uint64_t completed_ = 0;
  std::unique_ptr<KeptBytes> kept_;  ///< of completed messages, so it ends where the front one begins
  std::uint64_t to_repeat_ = 0;  ///< of the kept ones the last, which the present connection has not had yet
};

}  // namespace hemiola
