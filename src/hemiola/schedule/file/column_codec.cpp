// SPDX-License-Identifier: Apache-2.0
#include "hemiola/schedule/file/column_codec.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "hemiola/base/error.hpp"
#include "hemiola/base/interrupt.hpp"

namespace hemiola {
namespace {

enum Layout : std::uint8_t { kBytes1, kBytes2, kBytes4, kBytes8, kDifferences };
constexpr std::uint8_t kEscape = 255;
constexpr std::size_t kEscapedBytes = 1 + sizeof(std::uint64_t);

/// The narrowest fixed layout that holds `largest`; its width is 1 << layout.
Layout narrowest(std::uint64_t largest) {
  if (largest <= std::numeric_limits<std::uint8_t>::max()) return kBytes1;
  if (largest <= std::numeric_limits<std::uint16_t>::max()) return kBytes2;
  return largest <= std::numeric_limits<std::uint32_t>::max() ? kBytes4 : kBytes8;
}

template <typename Stored, typename T>
void write_fixed(std::span<const T> values, std::byte* to) {
  for (const T value : values) {
    const auto stored = static_cast<Stored>(value);
    std::memcpy(to, &stored, sizeof stored);
    to += sizeof stored;
  }
}

template <typename Stored, typename T>
void read_fixed(std::span<const std::byte> from, std::vector<T>* values) {
  for (std::size_t i = 0; i < values->size(); ++i) {
    Stored stored;
    std::memcpy(&stored, from.data() + i * sizeof stored, sizeof stored);
    (*values)[i] = static_cast<T>(stored);
  }
}

template <typename T>
std::size_t difference_bytes(std::span<const T> values) {
  std::size_t bytes = 0;
  T before = 0;
  for (const T value : values) {
    bytes += value >= before && value - before < kEscape ? 1 : kEscapedBytes;
    before = value;
  }
  return bytes;
}

template <typename T>
void write_differences(std::span<const T> values, std::byte* to) {
  T before = 0;
  for (const T value : values) {
    if (value >= before && value - before < kEscape) {
      *to++ = static_cast<std::byte>(value - before);
    } else {
      const std::uint64_t whole = value;
      *to++ = std::byte{kEscape};
      std::memcpy(to, &whole, sizeof whole);
      to += sizeof whole;
    }
    before = value;
  }
}

}  // namespace

void SectionWriter::add_raw(const void* value, std::size_t bytes) {
  const auto* from = static_cast<const std::byte*>(value);
  bytes_.insert(bytes_.end(), from, from + bytes);
}

void SectionWriter::add_column(std::span<const std::uint32_t> values) {
  add_any_column(values);
}
void SectionWriter::add_column(std::span<const std::uint64_t> values) {
  add_any_column(values);
}

template <typename T>
void SectionWriter::add_any_column(std::span<const T> values) {
  heed_interrupt(2 * static_cast<std::int64_t>(values.size()));  // one pass to look, one to write
  const Layout fixed = narrowest(values.empty() ? 0 : *std::max_element(values.begin(), values.end()));
  const std::size_t fixed_bytes = values.size() << fixed;
  const std::size_t by_difference = difference_bytes(values);
  const Layout layout = by_difference < fixed_bytes ? kDifferences : fixed;
  add_byte(layout);
  const std::size_t at = bytes_.size();
  bytes_.resize(at + std::min(by_difference, fixed_bytes));
  std::byte* to = bytes_.data() + at;
  switch (layout) {
    case kBytes1:
      return write_fixed<std::uint8_t>(values, to);
    case kBytes2:
      return write_fixed<std::uint16_t>(values, to);
    case kBytes4:
      return write_fixed<std::uint32_t>(values, to);
    case kBytes8:
      return write_fixed<std::uint64_t>(values, to);
    case kDifferences:
      return write_differences(values, to);
  }
}

void SectionReader::fail(const std::string& what) const {
  throw FormatError(place_ + ": " + what);
}

std::span<const std::byte> SectionReader::take(std::size_t count) {
  if (count > rest_.size())
    fail("expected " + std::to_string(count) + " more bytes of this section, found " +
         std::to_string(rest_.size()));
  const auto taken = rest_.first(count);
  rest_ = rest_.subspan(count);
  return taken;
}

std::uint32_t SectionReader::u32() {
  std::uint32_t value;
  std::memcpy(&value, take(sizeof value).data(), sizeof value);
  return value;
}

std::uint64_t SectionReader::u64() {
  std::uint64_t value;
  std::memcpy(&value, take(sizeof value).data(), sizeof value);
  return value;
}

void SectionReader::expect_end() const {
  if (!rest_.empty())
    fail("expected the end of this section, found " + std::to_string(rest_.size()) + " more bytes");
}

void SectionReader::column(std::size_t count, std::vector<std::uint32_t>* values) {
  any_column(count, values);
}
void SectionReader::column(std::size_t count, std::vector<std::uint64_t>* values) {
  any_column(count, values);
}

template <typename T>
void SectionReader::any_column(std::size_t count, std::vector<T>* values) {
  const std::uint8_t layout = byte();
  if (layout == kDifferences) return differences(count, values);
  check(layout < kDifferences && (std::size_t{1} << layout) <= sizeof(T),
        "expected a known layout of a column");
  check(count <= rest_.size() >> layout, "expected more values in a column than this section holds");
  values->resize(count);
  const auto from = take(count << layout);
  switch (layout) {
    case kBytes1:
      return read_fixed<std::uint8_t>(from, values);
    case kBytes2:
      return read_fixed<std::uint16_t>(from, values);
    case kBytes4:
      return read_fixed<std::uint32_t>(from, values);
    default:
      return read_fixed<std::uint64_t>(from, values);
  }
}

template <typename T>
void SectionReader::differences(std::size_t count, std::vector<T>* values) {
  check(count <= rest_.size(), "expected more values in a column than this section holds");
  values->resize(count);
  const std::byte* from = rest_.data();
  const std::byte* const end = from + rest_.size();
  std::uint64_t value = 0;
  for (T& to : *values) {
    check(from < end, "expected more values in a column than this section holds");
    const auto difference = std::to_integer<std::uint8_t>(*from++);
    if (difference == kEscape) {
      check(end - from >= static_cast<std::ptrdiff_t>(sizeof value),
            "expected a whole value after an escape");
      std::memcpy(&value, from, sizeof value);
      from += sizeof value;
    } else {
      value += difference;
    }
    check(value <= std::numeric_limits<T>::max(), "expected a smaller value in a column");
    to = static_cast<T>(value);
  }
  rest_ = rest_.subspan(static_cast<std::size_t>(from - rest_.data()));
}

}  // namespace hemiola
