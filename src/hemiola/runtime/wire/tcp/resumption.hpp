// SPDX-License-Identifier: Apache-2.0
// A line between two ranks goes on over another connection, since the way of the one before is cut. No byte of a stream is
// lost or comes twice:
//
//   each, once it has let go of the old connection      ──▶ "ready"
//   each, once the other is ready: reads what the old connection has brought, closes it, and says
//   how many bytes of the stream it has now             ──▶ count
//   each, once it has the other's count: goes on with the first byte that the other lacks
//
// What the other's kernel has acknowledged has come. So a sender keeps what is not acknowledged, and needs no more, as long
// as it asks no connection that it has let go of.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "hemiola/runtime/wire/tcp/message_receiver.hpp"
#include "hemiola/runtime/wire/tcp/message_sender.hpp"
#include "hemiola/runtime/wire/tcp/stream_socket.hpp"

namespace hemiola {

class Resumption {
 public:
  /// `left`: the connection that is let go of; none where there has not been one.
  explicit Resumption(StreamSocket left) : left_(std::move(left)) {}

  /// The connection over which this was to happen is let go of, too. Returns one that is of no use any more; the other end
  /// may not have let go of it.
  StreamSocket leave(StreamSocket present);
  /// The connection from before, to be kept open for the other's sake where all is forgotten.
  StreamSocket take_left() { return std::move(left_); }

  /// Over the present connection; true once all is said and heard. Throws BadMessageError.
  bool progress(Rank peer, StreamSocket* socket, MessageSender* out, MessageReceiver* in);

 private:
  struct Words {
    std::uint64_t ready = 0, count = 0;
  };

  bool tell(std::uint64_t word, StreamSocket* socket);
  void hear(StreamSocket* socket);

  StreamSocket left_;                ///< until all that it has brought is read
  std::size_t unheard_of_left_ = 0;  ///< the bytes of words that come before the stream's there
  int told_ = 0;                     ///< words
  std::size_t heard_ = 0;            ///< bytes of words
  std::array<std::byte, sizeof(Words)> words_{};
};

}  // namespace hemiola
