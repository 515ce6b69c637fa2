// SPDX-License-Identifier: Apache-2.0
// A connected socket, and its state since the kernel's latest news of it (edge-triggered): it is asked again only where
// there may be something.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <utility>

#include "hemiola/runtime/net/byte_stream.hpp"

namespace hemiola {

class StreamSocket {
 public:
  StreamSocket() = default;
  explicit StreamSocket(ByteStream connection) : connection_(std::move(connection)) {}

  explicit operator bool() const { return bool(connection_); }
  int get() const { return connection_.get(); }
  ByteStream take() { return std::move(connection_); }

  /// The kernel's events: a set of EPOLLIN and the like.
  void note(std::uint32_t events);
  bool readable() const { return readable_; }
  /// The next read asks the kernel, whether it has told news or not; false where there is nobody to ask.
  bool ask_anew() { return readable_ = connection_ && !ended_; }
  bool writable() const { return writable_; }
  /// Nothing will come any more, and everything that came has been read.
  bool ended() const { return ended_; }

  /// Lets the kernel hold the bytes that a port of that speed sends in about a millisecond and a round trip, not the
  /// megabytes to which it would let the queue grow. A port so fast that this is more than any process may ask for
  /// keeps its present buffer.
  void bound_queue(double bytes_per_ns);

  /// Once, as much as can be at this moment; how many bytes.
  std::size_t read(iovec* parts, int count);
  std::size_t write(iovec* parts, int count);

  /// Written bytes that the other end's kernel has not acknowledged, or that lie behind a part of a record there.
  std::size_t unacknowledged() const;
  /// Whether the other end may still take bytes.
  bool is_open() const;
  /// Whether the way to the other end seems to be cut: the kernel has repeated bytes, or asked for room, and repeated
  /// that, without an answer; or has given up. A rank that reads nothing still answers.
  bool is_cut() const { return failed_ || is_way_cut(get()); }
  static bool is_way_cut(int descriptor);

 private:
  ssize_t read_once(iovec* parts, int count);

  ByteStream connection_;
  bool readable_ = true;
  bool writable_ = true;
  /// The end may stand behind readable bytes, and would not be told again: read until there is nothing.
  bool to_the_last_ = true;
  bool ended_ = false;
  bool failed_ = false;  ///< not by the other end
};

}  // namespace hemiola
