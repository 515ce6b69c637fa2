// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/net/random_bytes.hpp"

#include <sys/random.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "hemiola/base/error.hpp"

namespace hemiola {

void fill_randomly(std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::getrandom(bytes.data(), bytes.size(), 0);
    if (count < 0 && errno != EINTR)
      throw LostRankError(std::string("the system gives no random numbers, without which no rank can prove "
                                      "who it is: ") +
                          std::strerror(errno));
    if (count > 0) bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
}

}  // namespace hemiola
