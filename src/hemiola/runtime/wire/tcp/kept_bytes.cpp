// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/wire/tcp/kept_bytes.hpp"

#include <algorithm>

namespace hemiola {

void KeptBytes::append(std::uint64_t acknowledged, std::span<const std::byte> bytes) {
  drop_before(std::min(acknowledged, end_));
  const std::size_t skipped =
      acknowledged > end_ ? std::min<std::uint64_t>(acknowledged - end_, bytes.size()) : 0;
  const auto rest = bytes.subspan(skipped);
  begin_ += skipped;  // all before them are dropped by now
  bytes_.insert(bytes_.end(), rest.begin(), rest.end());
  end_ += bytes.size();
}

/// The dropped bytes go once they are most of all, so that a byte is moved once on average.
void KeptBytes::drop_before(std::uint64_t position) {
  if (position <= begin_) return;
  begin_ = std::min(position, end_);
  const std::size_t kept = end_ - begin_;
  if (kept <= bytes_.size() / 2)
    bytes_.erase(bytes_.begin(), bytes_.end() - static_cast<std::ptrdiff_t>(kept));
}

void KeptBytes::restart() {
  bytes_.clear();
  begin_ = end_ = 0;
}

std::span<const std::byte> KeptBytes::from(std::uint64_t position) const {
  return std::span(bytes_).last(end_ - std::max(position, begin_));
}

}  // namespace hemiola
