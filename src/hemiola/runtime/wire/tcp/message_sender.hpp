// SPDX-License-Identifier: Apache-2.0
// Messages to one peer over one connection at a time: a queue, written as far as the kernel has room, from where the
// caller's bytes are. A message is done once the kernel has all of it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hemiola/base/fifo.hpp"
#include "hemiola/runtime/wire/tcp/message_header.hpp"
#include "hemiola/runtime/wire/tcp/stream_socket.hpp"

namespace hemiola {

class MessageSender {
 public:
  /// Returns how many have been posted so far, by which `done` knows this one.
  std::uint64_t post(const OperationTag& tag, const std::byte* data, std::size_t bytes);
  bool done(std::uint64_t number) const { return number <= completed_; }
  bool idle() const { return queue_.empty(); }

  /// Writes once; whether anything could be written.
  bool progress(StreamSocket* socket);
  /// Forgets everything; so many count as posted and done.
  void forget(std::uint64_t count);

 private:
  struct Outgoing {
    MessageHeader header;
    const std::byte* data;
  };

  void advance(std::size_t bytes);

  Fifo<Outgoing> queue_;
  std::size_t written_ = 0;  ///< of the front one, header and data
  std::uint64_t posted_ = 0;
  std::uint64_t completed_ = 0;
};

}  // namespace hemiola
