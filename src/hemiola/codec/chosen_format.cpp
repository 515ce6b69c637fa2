// SPDX-License-Identifier: Apache-2.0
#include "hemiola/codec/chosen_format.hpp"

#include <atomic>

namespace hemiola::codec {
namespace {

std::atomic<int> chosen = -1;

std::optional<Format> format_of(int number) {
  return number < 0 ? std::nullopt : std::optional(static_cast<Format>(number));
}

}  // namespace

std::optional<Format> chosen_format() {
  return format_of(chosen.load(std::memory_order_relaxed));
}

std::optional<Format> choose_format(std::optional<Format> format) {
  return format_of(chosen.exchange(format ? static_cast<int>(*format) : -1));
}

}  // namespace hemiola::codec
