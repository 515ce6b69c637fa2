#include "hemiola/runtime/wire/wire.hpp"

#include "hemiola/base/error.hpp"

namespace hemiola {

void Wire::slow_down(const NetworkSlowdown&) {
  throw ArgumentError("only an emulated network can be made slower; pass emulate=topology to init");
}

void check_message_size(Rank peer, const Landing& landing, std::size_t capacity, std::size_t bytes) {
  const bool may_be_smaller = landing.received != nullptr;
  if (bytes == capacity || (may_be_smaller && bytes < capacity)) return;
  throw MessageSizeError("rank " + std::to_string(peer) + " has sent a message of " + std::to_string(bytes) +
                         " bytes where " + (may_be_smaller ? "at most " : "") + std::to_string(capacity) +
                         " were expected. Nothing of it has landed; the wire is of no use until it is reset. "
                         "This is a bug in hemiola, or ranks run different versions of it.");
}

}  // namespace hemiola
