// SPDX-License-Identifier: Apache-2.0
// The frames on a connection between two ranks' sidebands: each is a head and a body.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <utility>

#include "hemiola/base/bytes.hpp"
#include "hemiola/runtime/net/byte_stream.hpp"

namespace hemiola {

enum class FrameKind : std::uint32_t {
  beat,     ///< this rank lives; its topic: how many counted frames have come from the other
  message,  ///< of one rank to another
  flood,    ///< of one rank to all; handed on
  lost,     ///< a rank is lost; handed on
  left,     ///< a rank has done all it had to do; handed on
  parting,  ///< nothing more comes on this connection, and that is as it should be
  ping,     ///< what does your clock show?
  pong,
  copy,    ///< a flood over a second connection, while ranks meet and two may have one number
  begins,  ///< this connection replaces another one; its topic: the number of its first counted frame
};

/// Such frames come once each, however many connections two ranks use one after the other.
constexpr bool is_counted(FrameKind kind) {
  return kind == FrameKind::message || kind == FrameKind::flood || kind == FrameKind::lost ||
         kind == FrameKind::left;
}

struct FrameHead {
  std::uint32_t bytes = 0;  ///< of the body
  FrameKind kind = FrameKind::beat;
  std::uint64_t topic = 0;  ///< of messages and floods; or a count
};

/// One connection, which never blocks. Used by one thread.
class FrameStream {
 public:
  explicit FrameStream(ByteStream connection) : connection_(std::move(connection)) {}

  int descriptor() const { return connection_.get(); }
  const Descriptor& socket() const { return connection_.socket(); }

  /// Puts a frame behind those that wait to be sent.
  void put(FrameKind kind, std::uint64_t topic, std::span<const std::byte> content);
  bool wants_to_write() const { return !outgoing_.empty(); }
  /// Sends as much as goes without waiting. False: the connection has ended.
  bool flush();

  /// Calls `take` for each frame that has come. False: the connection has ended. Throws FormatError as soon as a head has come
  /// that no rank sends.
  using Take = std::function<void(const FrameHead&, std::span<const std::byte> content)>;
  bool read(const Take& take);

  /// Whether the connection has ended because the other end did, and not for another reason.
  bool has_hung_up() const { return has_hung_up_; }

  /// Says that nothing more will be sent.
  void shut();

 private:
  void take_frames(const Take& take);
  bool ended(ssize_t result);

  ByteStream connection_;
  std::deque<Bytes> outgoing_;
  std::size_t sent_ = 0;  ///< of the first
  Bytes incoming_;
  std::size_t taken_ = 0;  ///< bytes of `incoming_` that have been dealt with
  bool has_hung_up_ = false;
};

}  // namespace hemiola
