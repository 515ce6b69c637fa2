// SPDX-License-Identifier: Apache-2.0
// Takes a text apart line by line and item by item, with errors that name source, line, and the expected and
// the found text.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

#include "hemiola/base/error.hpp"

namespace hemiola {

inline constexpr std::string_view kBlanks = " \t\r";

/// The lines of a text without comments, blanks at both ends, and empty lines.
class LineReader {
 public:
  LineReader(std::string_view text, const std::string& source) : rest_(text), source_(source) {}

  bool next(std::string_view* line) {
    while (!rest_.empty()) {
      ++number_;
      const std::size_t end = rest_.find('\n');
      std::string_view found = rest_.substr(0, end);
      rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
      found = found.substr(0, found.find('#'));
      const std::size_t first = found.find_first_not_of(kBlanks);
      if (first == std::string_view::npos) continue;
      *line = found.substr(first, found.find_last_not_of(kBlanks) - first + 1);
      return true;
    }
    return false;
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw FormatError(source_ + ", line " + std::to_string(std::max<std::int64_t>(number_, 1)) + ": " + what);
  }

 private:
  std::string_view rest_;
  const std::string& source_;
  std::int64_t number_ = 0;
};

/// Takes a line apart from the left.
class Cursor {
 public:
  Cursor(std::string_view rest, const LineReader& lines) : rest_(rest), lines_(lines) {}

  bool at_end() const { return rest_.empty(); }
  bool accept(std::string_view token) {
    if (!rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }
  void expect(std::string_view token) {
    if (!accept(token)) fail(quoted(token));
  }
  void skip_blanks() { rest_.remove_prefix(std::min(rest_.find_first_not_of(kBlanks), rest_.size())); }

  std::int64_t number(std::int64_t most, const char* what) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc{} || value < 0 || value > most)
      fail(std::string(what) + " in 0 … " + std::to_string(most));
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return value;
  }
  std::string_view word() {
    const std::string_view found = rest_.substr(0, rest_.find_first_of(kBlanks));
    rest_.remove_prefix(found.size());
    skip_blanks();
    return found;
  }
  /// The end of an item: a blank or the end of the line.
  void end_item() {
    if (!at_end() && kBlanks.find(rest_.front()) == std::string_view::npos) fail("a blank");
    skip_blanks();
  }
  [[noreturn]] void fail(const std::string& expected) const {
    constexpr std::size_t kShown = 40;
    const std::string found = at_end() ? "the end of the line" : quoted(rest_.substr(0, kShown));
    lines_.fail("expected " + expected + ", found " + found);
  }

 private:
  static std::string quoted(std::string_view text) {
    std::string shown(1, '\'');
    for (char c : text) shown += c < ' ' || c > '~' ? '?' : c;
    return shown += '\'';
  }

  std::string_view rest_;
  const LineReader& lines_;
};

}  // namespace hemiola
