// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/wire/tcp/resumption.hpp"

#include <bit>
#include <utility>

#include "hemiola/runtime/session/lost_member.hpp"

namespace hemiola {
namespace {

constexpr std::uint64_t kReady = 0x656d'7573'6572'2068;

}  // namespace

/// No stream has come over the present one while the one before is unread, since the other has not got a count.
StreamSocket Resumption::leave(StreamSocket present) {
  if (!present) return {};
  told_ = 0;
  const std::size_t heard = std::exchange(heard_, 0);
  if (left_) return present;
  left_ = std::move(present);
  unheard_of_left_ = sizeof(Words) - heard;
  return {};
}

bool Resumption::progress(Rank peer, StreamSocket* socket, MessageSender* out, MessageReceiver* in) {
  if (told_ == 0 && !tell(kReady, socket)) return false;
  hear(socket);
  if (heard_ < sizeof kReady) return false;
  const auto words = std::bit_cast<Words>(words_);
  if (words.ready != kReady) throw BadMessageError(peer, "8 bytes that go on with no stream");
  if (left_) in->take_rest(&left_, unheard_of_left_);
  left_ = {};
  if (told_ == 1 && !tell(in->stream_bytes(), socket)) return false;
  if (heard_ < sizeof words) return false;
  if (!out->resume(words.count))
    throw BadMessageError(
        peer, "a count of " + std::to_string(words.count) + " received bytes, which it cannot have received");
  return true;
}

/// A new connection has room for a word; where it has broken, reading shows it.
bool Resumption::tell(std::uint64_t word, StreamSocket* socket) {
  if (!socket->writable()) return false;
  iovec part{&word, sizeof word};
  if (socket->write(&part, 1) != sizeof word) return false;
  ++told_;
  return true;
}

void Resumption::hear(StreamSocket* socket) {
  if (heard_ == words_.size() || !socket->readable()) return;
  iovec part{words_.data() + heard_, words_.size() - heard_};
  heard_ += socket->read(&part, 1);
}

}  // namespace hemiola
