// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/wire/wire.hpp"

#include "hemiola/base/error.hpp"
#include "hemiola/runtime/session/lost_member.hpp"

namespace hemiola {

void check_message_size(Rank peer, const Landing& landing, std::size_t capacity, std::size_t bytes) {
  const bool may_be_smaller = landing.received != nullptr;
  if (bytes == capacity || (may_be_smaller && bytes < capacity)) return;
  throw BadMessageError(
      peer, "a message of " + std::to_string(bytes) + " bytes where " + (may_be_smaller ? "at most " : "") +
                std::to_string(capacity) +
                " were expected, of which nothing has landed. Its header was damaged on the way, "
                "or ranks run different versions of hemiola");
}

}  // namespace hemiola
