// SPDX-License-Identifier: Apache-2.0
// Columns of integers as bytes, in the narrowest of a few layouts, and the sections that carry them.
//
// A column is a layout byte and its values. They are 1, 2, 4 or 8 bytes each (layouts 0 to 3), or differences
// (layout 4). There a byte d < 255 means the value before plus d, and the byte 255 is followed by the value
// itself in 8 bytes. Before the first value stands 0. Differences suit columns that mostly ascend, such as
// the links of one step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace hemiola {

/// Appends numbers and columns to a section's bytes.
class SectionWriter {
 public:
  void clear() { bytes_.clear(); }
  std::span<const std::byte> bytes() const { return bytes_; }

  void add_byte(std::uint8_t value) { bytes_.push_back(std::byte{value}); }
  void add_u32(std::uint32_t value) { add_raw(&value, sizeof value); }
  void add_u64(std::uint64_t value) { add_raw(&value, sizeof value); }
  void add_bytes(std::span<const std::byte> bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  /// In the layout that takes the fewest bytes.
  void add_column(std::span<const std::uint32_t> values);
  void add_column(std::span<const std::uint64_t> values);

 private:
  void add_raw(const void* value, std::size_t bytes);
  template <typename T>
  void add_any_column(std::span<const T> values);

  std::vector<std::byte> bytes_;
};

/// Takes a section apart. Every failure is a FormatError that names the place; an allocation is never larger
/// than the section's bytes can justify.
class SectionReader {
 public:
  /// `place` is how errors begin: "schedule 'x', offset 96".
  SectionReader(std::span<const std::byte> bytes, std::string place)
      : rest_(bytes), place_(std::move(place)) {}

  std::uint8_t byte() { return std::to_integer<std::uint8_t>(take(1)[0]); }
  std::uint32_t u32();
  std::uint64_t u64();
  std::span<const std::byte> bytes(std::size_t count) { return take(count); }
  void column(std::size_t count, std::vector<std::uint32_t>* values);
  void column(std::size_t count, std::vector<std::uint64_t>* values);
  void expect_end() const;

  /// Throws FormatError unless `holds`.
  void check(bool holds, const char* expected) const {
    if (!holds) fail(expected);
  }
  [[noreturn]] void fail(const std::string& what) const;

 private:
  std::span<const std::byte> take(std::size_t count);
  template <typename T>
  void any_column(std::size_t count, std::vector<T>* values);
  template <typename T>
  void differences(std::size_t count, std::vector<T>* values);

  std::span<const std::byte> rest_;
  std::string place_;
};

}  // namespace hemiola
