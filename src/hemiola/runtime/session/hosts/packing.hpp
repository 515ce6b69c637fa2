// What messages between the ranks of a job are made of: values as they lie in memory (all ranks run the same version on
// machines of one byte order, which the session sees to), and bytes behind their count.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "hemiola/base/bytes.hpp"
#include "hemiola/base/error.hpp"
#include "hemiola/base/index.hpp"

namespace hemiola {

class Packer {
 public:
  template <typename T>
  Packer& put(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    const auto bytes = std::as_bytes(std::span(&value, 1));
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    return *this;
  }
  Packer& put_bytes(std::span<const std::byte> bytes) {
    put(static_cast<std::uint64_t>(bytes.size()));
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    return *this;
  }
  Packer& put_text(std::string_view text) { return put_bytes(std::as_bytes(std::span(text))); }
  Bytes take() { return std::move(bytes_); }

 private:
  Bytes bytes_;
};

class Unpacker {
 public:
  explicit Unpacker(std::span<const std::byte> bytes) : left_(bytes) {}

  template <typename T>
  T get() {
    T value{};
    const auto bytes = next(sizeof value);
    std::memcpy(static_cast<void*>(&value), bytes.data(), sizeof value);
    return value;
  }
  Bytes get_bytes() {
    const auto bytes = next(get<std::uint64_t>());
    return {bytes.begin(), bytes.end()};
  }
  std::string get_text() {
    const Bytes bytes = get_bytes();
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  bool is_empty() const { return left_.empty(); }

 private:
  std::span<const std::byte> next(std::size_t count) {
    HEMIOLA_CHECK(count <= left_.size(), "a message of the session that is too short");
    const auto bytes = left_.first(count);
    left_ = left_.subspan(count);
    return bytes;
  }

  std::span<const std::byte> left_;
};

inline std::vector<Rank> ranks_of(const Bytes& bytes) {
  std::vector<Rank> ranks(bytes.size() / sizeof(Rank));
  if (!ranks.empty()) std::memcpy(static_cast<void*>(ranks.data()), bytes.data(), bytes.size());
  return ranks;
}

}  // namespace hemiola
