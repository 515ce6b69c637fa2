// SPDX-License-Identifier: Apache-2.0
#include "hemiola/base/closest.hpp"

#include <algorithm>
#include <numeric>

namespace hemiola {
namespace {

constexpr std::size_t kMaxLetters = 256;  ///< longer texts are nobody's slip of the finger

/// The edit distance of Levenshtein, a row of its table at a time.
std::size_t letters_apart(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({changed, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string_view closest(std::string_view text, const std::vector<std::string>& known) {
  std::string_view found;
  if (text.size() > kMaxLetters) return found;
  std::size_t fewest = text.size() / 2 + 1;
  for (const std::string& word : known) {
    const std::size_t apart = letters_apart(text, word);
    if (apart < fewest) {
      fewest = apart;
      found = word;
    }
  }
  return found;
}

}  // namespace hemiola
