// SPDX-License-Identifier: Apache-2.0
// Long loops, sorts and copies that hear an interrupt (interrupt.hpp) all along.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <type_traits>
#include <vector>

#include "hemiola/base/interrupt.hpp"

namespace hemiola {

namespace interrupt {
/// Items between two looks at the clock of patience: a look costs nothing beside them.
inline constexpr std::int64_t kBlock = 1 << 15;
}  // namespace interrupt

/// Calls `visit(begin, end)` for the items first … last, a block at a time, and hears an interrupt after each block.
template <typename Count, typename Visit>
void for_heedful_blocks(Count first, std::type_identity_t<Count> last, Visit visit) {
  for (Count begin = first; begin < last;) {
    const Count end = last - begin < static_cast<Count>(interrupt::kBlock)
                          ? last
                          : begin + static_cast<Count>(interrupt::kBlock);
    visit(begin, end);
    heed_interrupt(static_cast<std::int64_t>(end - begin));
    begin = end;
  }
}

/// The same for the items 0 … count.
template <typename Count, typename Visit>
void for_heedful_blocks(Count count, Visit visit) {
  for_heedful_blocks(Count{}, count, visit);
}

/// vector->resize(count), or resize(count, value) where one is given, but that an interrupt is heard while new pages come.
template <typename Vector, typename... Value>
void heedful_resize(Vector* items, std::size_t count, const Value&... value) {
  items->reserve(count);
  for_heedful_blocks(count - std::min(count, items->size()), [&](std::size_t begin, std::size_t end) {
    items->resize(items->size() + end - begin, value...);
  });
}

/// vector->reserve(count), but that an interrupt is heard while the items move.
template <typename Item>
void heedful_reserve(std::vector<Item>* items, std::size_t count) {
  if (count <= items->capacity()) return;
  std::vector<Item> larger;
  larger.reserve(count);
  for_heedful_blocks(items->size(), [&](std::size_t begin, std::size_t end) {
    larger.insert(larger.end(), items->data() + begin, items->data() + end);
  });
  items->swap(larger);
}

/// std::sort of items that can be copied bit by bit; an interrupt leaves them in some order.
template <typename Iterator, typename Less = std::less<>>
void heedful_sort(Iterator begin, Iterator end, Less less = {}) {
  static_assert(std::is_trivially_copyable_v<std::remove_reference_t<decltype(*begin)>>);
  if (end - begin <= interrupt::kBlock) {
    std::sort(begin, end, less);
    heed_interrupt(16 * (end - begin));
    return;
  }
  std::int64_t compared = 0;
  std::sort(begin, end, [&](const auto& a, const auto& b) {
    if ((++compared & (interrupt::kBlock - 1)) == 0) heed_interrupt(interrupt::kBlock);
    return less(a, b);
  });
}

}  // namespace hemiola
