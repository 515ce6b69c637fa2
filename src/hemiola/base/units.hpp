// SPDX-License-Identifier: Apache-2.0
// Time and sizes inside the core: integer picoseconds and integer bytes, so that results are exact and rounding
// makes no ties. Seconds, GB/s and µs exist only where text is read or printed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hemiola {

using Picoseconds = std::int64_t;
inline constexpr Picoseconds kSecond = 1'000'000'000'000;

/// Nearest picosecond; throws ArgumentError unless finite, >= 0 and below about 100 days.
Picoseconds from_seconds(double seconds);
constexpr double to_seconds(Picoseconds t) {
  return static_cast<double>(t) / static_cast<double>(kSecond);
}

/// Time that `bytes` need on a link of `bandwidth_Bps` slowed down by `slowdown`, rounded up to a picosecond as in a
/// simulation. Exact when the bandwidth is an integer number of bytes per second and the slowdown is 1.
Picoseconds serialization_time(std::int64_t bytes, double bandwidth_Bps, double slowdown = 1.0);

/// "0.5 us" → seconds. Accepts s, ms, us, µs, ns, ps. Throws FormatError that names the text.
double parse_seconds(std::string_view text);
/// "50 GB/s", "200 Gbit/s", "64 MiB/s" → bytes per second. SI and binary prefixes, B or bit. Throws FormatError.
double parse_bandwidth(std::string_view text);
/// "64 MiB", "1 GB", "4096" → bytes. Throws FormatError; a fraction of a byte is refused.
std::int64_t parse_bytes(std::string_view text);

std::string format_seconds(double seconds);      ///< "3.2 us"
std::string format_bandwidth(double bandwidth);  ///< "50 GB/s"
std::string format_bytes(std::int64_t bytes);    ///< "64 MiB"

}  // namespace hemiola
