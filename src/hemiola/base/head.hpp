// SPDX-License-Identifier: Apache-2.0
// A message as bytes: a head that lies in memory as it is sent, then its content. For processes that run the
// same version on machines of one byte order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "hemiola/base/bytes.hpp"
#include "hemiola/base/error.hpp"

namespace hemiola {

template <typename Head>
Bytes with_head(const Head& head, std::span<const std::byte> content) {
  static_assert(std::is_trivially_copyable_v<Head>);
  Bytes bytes(sizeof head + content.size());
  std::memcpy(bytes.data(), &head, sizeof head);
  if (!content.empty()) std::memcpy(bytes.data() + sizeof head, content.data(), content.size());
  return bytes;
}

/// Throws FormatError for a message of less than `least` bytes of its head; fields that its sender has left
/// out behind them have their defaults.
template <typename Head>
Head head_of(std::span<const std::byte> message, std::size_t least = sizeof(Head)) {
  static_assert(std::is_trivially_copyable_v<Head>);
  if (message.size() < least)
    throw FormatError("a message of " + std::to_string(message.size()) + " bytes, where at least " +
                      std::to_string(least) + " were expected");
  Head head{};
  std::memcpy(static_cast<void*>(&head), message.data(), std::min(message.size(), sizeof head));
  return head;
}

/// As many items as were expected, or FormatError.
template <typename Item>
std::vector<Item> items_of(std::span<const std::byte> bytes, std::size_t expected) {
  static_assert(std::is_trivially_copyable_v<Item>);
  if (bytes.size() != expected * sizeof(Item))
    throw FormatError("a list of " + std::to_string(bytes.size()) + " bytes, where " +
                      std::to_string(expected) + " items of " + std::to_string(sizeof(Item)) +
                      " were expected");
  std::vector<Item> items(expected);
  if (expected > 0) std::memcpy(static_cast<void*>(items.data()), bytes.data(), bytes.size());
  return items;
}

template <typename Head>
std::span<const std::byte> after_head(std::span<const std::byte> message) {
  return message.subspan(std::min(message.size(), sizeof(Head)));
}

}  // namespace hemiola
