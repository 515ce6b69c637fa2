// SPDX-License-Identifier: Apache-2.0
// The knowledge by which others recognize a process as a rank of their job.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "hemiola/base/hash.hpp"
#include "hemiola/base/index.hpp"

namespace hemiola {

class TlsContext;

/// The secret of a job's ranks. It never travels, and nothing prints it.
class Token {
 public:
  static constexpr std::size_t kBytes = 32;

  /// A new one, that nobody could guess.
  static Token random();
  /// From 64 hexadecimal digits, which is how launchers hand it on. Throws ArgumentError, which does not repeat them.
  static Token from_hex(std::string_view digits);

  const std::array<std::byte, kBytes>& secret() const { return bytes_; }

 private:
  Token() = default;
  std::array<std::byte, kBytes> bytes_{};
};

/// The rank of a process that has none yet.
inline constexpr Rank kNewcomer{1 << 30};

struct Credentials {
  Token token;
  Hash128 job = {};               ///< tells jobs apart that have one token
  std::uint32_t incarnation = 0;  ///< how often the launcher has restarted the job
  Rank rank{0};
  std::string version = {};  ///< of Hemiola; at most 31 characters count
  std::shared_ptr<const TlsContext> tls =
      nullptr;  ///< by which connections are encrypted; none: they are not
};

}  // namespace hemiola
