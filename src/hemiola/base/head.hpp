// A message as bytes: a head that lies in memory as it is sent, then what belongs to it. For processes that run the same
// version on machines of one byte order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <type_traits>

#include "hemiola/base/bytes.hpp"

namespace hemiola {

template <typename Head>
Bytes with_head(const Head& head, std::span<const std::byte> content) {
  static_assert(std::is_trivially_copyable_v<Head>);
  Bytes bytes(sizeof head + content.size());
  std::memcpy(bytes.data(), &head, sizeof head);
  if (!content.empty()) std::memcpy(bytes.data() + sizeof head, content.data(), content.size());
  return bytes;
}

/// What its sender has left out at the end is as it is by default.
template <typename Head>
Head head_of(std::span<const std::byte> message) {
  static_assert(std::is_trivially_copyable_v<Head>);
  Head head{};
  std::memcpy(static_cast<void*>(&head), message.data(), std::min(message.size(), sizeof head));
  return head;
}

template <typename Head>
std::span<const std::byte> after_head(std::span<const std::byte> message) {
  return message.subspan(std::min(message.size(), sizeof(Head)));
}

}  // namespace hemiola
