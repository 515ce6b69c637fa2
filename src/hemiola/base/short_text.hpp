// SPDX-License-Identifier: Apache-2.0
// A text of bounded length that lies in one piece, in shared memory or in a message.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <string_view>

namespace hemiola {

struct ShortText {
  std::array<char, 384> characters;

  /// Cuts between characters, not inside one.
  void write(std::string_view text) {
    std::size_t length = std::min(text.size(), characters.size() - 1);
    if (length < text.size())
      while (length > 0 && (static_cast<unsigned char>(text[length]) & 0xc0u) == 0x80u) --length;
    std::memcpy(characters.data(), text.data(), length);
    characters[length] = '\0';
  }
  /// Text from another process may lack its end.
  std::string_view view() const {
    return {characters.data(), ::strnlen(characters.data(), characters.size())};
  }
};

}  // namespace hemiola
