// SPDX-License-Identifier: Apache-2.0
#include "hemiola/base/units.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "hemiola/base/error.hpp"

namespace hemiola {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

constexpr std::array<Unit, 7> kTimeUnits{{{"s", 1.0},
                                          {"ms", 1e-3},
                                          {"us", 1e-6},
                                          {"\xc2\xb5s", 1e-6},  // micro sign
                                          {"\xce\xbcs", 1e-6},  // Greek mu
                                          {"ns", 1e-9},
                                          {"ps", 1e-12}}};
constexpr std::array<Unit, 11> kPrefixes{{{"", 1.0},
                                          {"k", 1e3},
                                          {"K", 1e3},
                                          {"M", 1e6},
                                          {"G", 1e9},
                                          {"T", 1e12},
                                          {"P", 1e15},
                                          {"Ki", 1024.0},
                                          {"Mi", 1048576.0},
                                          {"Gi", 1073741824.0},
                                          {"Ti", 1099511627776.0}}};

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

std::string quoted(std::string_view text) {
  return "'" + std::string(text.substr(0, 60)) + (text.size() > 60 ? "…'" : "'");
}

/// Splits "50 GB/s" into 50 and "GB/s"; throws when there is no leading finite number >= 0.
double split_number(std::string_view text, std::string_view what, std::string_view* unit) {
  const std::string_view body = trim(text);
  double value = 0;
  const auto [end, status] = std::from_chars(body.data(), body.data() + body.size(), value);
  if (status != std::errc{} || !std::isfinite(value) || value < 0)
    throw FormatError("expected " + std::string(what) + ", found " + quoted(text));
  *unit = trim(body.substr(static_cast<std::size_t>(end - body.data())));
  return value;
}

/// The factor of a unit such as "GiB" given its base ("B"); 0 when it is none.
double prefixed(std::string_view unit, std::string_view base) {
  if (unit.size() < base.size() || unit.substr(unit.size() - base.size()) != base) return 0;
  const std::string_view prefix = unit.substr(0, unit.size() - base.size());
  for (const Unit& p : kPrefixes)
    if (p.name == prefix) return p.factor;
  return 0;
}

/// Bytes per second of "GB/s", "Gbit/s", "Gb/s" or "Gbps", and of "G" alone: ports are sold by Gbit/s. 0 for other text.
double bandwidth_factor(std::string_view unit) {
  const auto ends_with = [&](std::string_view end) {
    return unit.size() > end.size() && unit.ends_with(end);
  };
  if (!ends_with("/s") && !ends_with("ps")) return unit == "G" || unit == "T" ? prefixed(unit, "") / 8 : 0;
  std::string size(unit.substr(0, unit.size() - 2));
  // "gbps" is no other unit than "Gbps"; "mbps" is never a thousandth of a bit.
  for (const char prefix : {'m', 'g', 't'})
    if (size.front() == prefix) size.front() = static_cast<char>(prefix - 'a' + 'A');
  for (const auto& [base, share] :
       {Unit{"B", 1.0}, Unit{"bit", 0.125}, Unit{"bits", 0.125}, Unit{"b", 0.125}})
    if (const double factor = prefixed(size, base); factor != 0) return factor * share;
  return 0;
}

std::string format_number(double value) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.4g", value);
  return buffer;
}

}  // namespace

Picoseconds from_seconds(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0 || seconds > 9e6)
    throw ArgumentError("expected a time between 0 and 9e6 seconds, found " + format_number(seconds));
  return std::llround(static_cast<long double>(seconds) * kSecond);
}

Picoseconds serialization_time(std::int64_t bytes, double bandwidth_Bps, double slowdown) {
  const long double limit = 9e18L;
  if (slowdown == 1.0 && bandwidth_Bps < 9e18 && bandwidth_Bps == std::floor(bandwidth_Bps)) {
    const auto divisor = static_cast<unsigned __int128>(bandwidth_Bps);
    const auto time = (static_cast<unsigned __int128>(bytes) * kSecond + divisor - 1) / divisor;
    if (time < static_cast<unsigned __int128>(limit)) return static_cast<Picoseconds>(time);
  } else {
    const long double time = static_cast<long double>(bytes) * kSecond * slowdown / bandwidth_Bps;
    if (time < limit) return static_cast<Picoseconds>(std::ceil(time));
  }
  throw ArgumentError("sending " + std::to_string(bytes) + " bytes at " + std::to_string(bandwidth_Bps) +
                      " B/s would take more than 100 days; check the bandwidth's unit");
}

double parse_seconds(std::string_view text) {
  std::string_view unit;
  const double value = split_number(text, "a time such as '0.5 us'", &unit);
  for (const Unit& u : kTimeUnits)
    if (u.name == unit) return value * u.factor;
  throw FormatError("expected a time such as '0.5 us' (s, ms, us, ns, ps), found " + quoted(text));
}

double parse_bandwidth(std::string_view text) {
  std::string_view unit;
  const double value = split_number(text, "a bandwidth such as '50 GB/s'", &unit);
  const double factor = bandwidth_factor(unit);
  if (factor == 0 || value == 0)
    throw FormatError(
        "expected a bandwidth above 0 such as '50 GB/s', '200 Gbit/s' or '400G' (of a port), found " +
        quoted(text));
  return value * factor;
}

std::int64_t parse_bytes(std::string_view text) {
  std::string_view unit;
  const double value = split_number(text, "a size such as '64 MiB'", &unit);
  double factor = unit.empty() ? 1 : prefixed(unit, "B");
  if (factor == 0) factor = prefixed(unit, "");  // "64M", "1Gi"
  const double bytes = value * factor;
  if (factor == 0 || bytes != std::floor(bytes) || bytes > 9e18)
    throw FormatError("expected a whole number of bytes such as '64 MiB', found " + quoted(text));
  return static_cast<std::int64_t>(bytes);
}

std::string format_seconds(double seconds) {
  if (seconds == 0) return "0 s";
  constexpr std::array<Unit, 5> scale{{{"s", 1.0}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}, {"ps", 1e-12}}};
  for (const Unit& u : scale)
    if (std::abs(seconds) >= u.factor * 0.99995)
      return format_number(seconds / u.factor) + " " + std::string(u.name);
  return format_number(seconds / 1e-12) + " ps";
}

std::string format_bandwidth(double bandwidth) {
  constexpr std::array<Unit, 5> scale{
      {{"TB/s", 1e12}, {"GB/s", 1e9}, {"MB/s", 1e6}, {"kB/s", 1e3}, {"B/s", 1.0}}};
  for (const Unit& u : scale)
    if (bandwidth >= u.factor * 0.99995)
      return format_number(bandwidth / u.factor) + " " + std::string(u.name);
  return format_number(bandwidth) + " B/s";
}

std::string format_bytes(std::int64_t bytes) {
  constexpr std::array<Unit, 4> scale{
      {{"TiB", 1099511627776.0}, {"GiB", 1073741824.0}, {"MiB", 1048576.0}, {"KiB", 1024.0}}};
  for (const Unit& u : scale)
    if (static_cast<double>(bytes) >= u.factor)
      return format_number(static_cast<double>(bytes) / u.factor) + " " + std::string(u.name);
  return std::to_string(bytes) + " B";
}

}  // namespace hemiola
