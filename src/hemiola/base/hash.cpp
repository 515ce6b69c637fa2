#include "hemiola/base/hash.hpp"

#include <array>
#include <cinttypes>
#include <cstdio>

namespace hemiola {

std::string Hash128::hex() const {
  std::array<char, 33> text;
  std::snprintf(text.data(), text.size(), "%016" PRIx64 "%016" PRIx64, high, low);
  return text.data();
}

}  // namespace hemiola
