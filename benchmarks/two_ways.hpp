// What a message's way takes, and the processor's time for a GiB, by one way between two processes and by another: rounds of
// both are interleaved; medians, with the ratio of each round's two.
#pragma once

#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <vector>

#include "hemiola/base/bytes.hpp"
#include "hemiola/runtime/wire/wire.hpp"

namespace hemiola::benchmarks {

/// Sends so many bytes to the other, and receives so many.
using Exchange = std::function<void(std::size_t out, std::size_t in)>;

struct Buffers {
  Bytes out = Bytes(1 << 20, std::byte{1}), in = Bytes(1 << 20, std::byte{2});
};

inline Exchange over_wire(Wire* wire, Rank other, Buffers* buffers) {
  return [=](std::size_t out, std::size_t in) {
    std::vector<Request> requests;
    if (out > 0) requests.push_back(wire->send(other, buffers->out.data(), out, Source::settled));
    if (in > 0) requests.push_back(wire->receive(other, {.dst = buffers->in.data()}, in));
    for (const Request request : requests)
      while (!wire->done(request))
        if (!wire->progress()) wire->wait(5000);
  };
}

inline double cpu_s() {
  rusage used;
  ::getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) { return double(t.tv_sec) + 1e-6 * double(t.tv_usec); };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

inline double now_s() {
  timespec now;
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return double(now.tv_sec) + 1e-9 * double(now.tv_nsec);
}

inline double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

/// Half a round trip, median of many, in microseconds.
inline double latency_us(const Exchange& exchange, bool is_first, std::size_t bytes) {
  std::vector<double> trips;
  for (int i = 0; i < 500; ++i) {
    const double began = now_s();
    if (is_first) exchange(bytes, 0);
    exchange(0, bytes);
    if (!is_first) exchange(bytes, 0);
    trips.push_back((now_s() - began) / 2 * 1e6);
  }
  return median(trips);
}

struct Stream {
  double cpu_s_per_gib;  ///< of both ends
  double gib_per_s;
};

inline Stream stream(const Exchange& exchange, const Exchange& tell, Buffers* buffers, bool both_ways,
                     bool is_first) {
  constexpr int kMessages = 300;
  constexpr std::size_t kBytes = 1 << 20;
  tell(8, 8);
  const double cpu_before = cpu_s(), began = now_s();
  for (int i = 0; i < kMessages; ++i)
    exchange(both_ways || is_first ? kBytes : 0, both_ways || !is_first ? kBytes : 0);
  tell(8, 8);
  const double own = cpu_s() - cpu_before, took = now_s() - began;
  std::memcpy(buffers->out.data(), &own, sizeof own);
  tell(8, 8);
  double others = 0;
  std::memcpy(&others, buffers->in.data(), sizeof others);
  const double gib = kMessages * (both_ways ? 2 : 1) * double(kBytes) / double(1 << 30);
  return {(own + others) / gib, gib / took};
}

/// Two ways between the same two processes: what is measured, and what it is measured by.
struct Contest {
  const char* name;
  Exchange exchange;
  const char* beside;
  Exchange other;
};

struct Row {
  const char* name;
  std::vector<double> own, others;
};

/// Prints in the first process; both call it.
inline void measure(const Contest& contest, Buffers* buffers, bool is_first, int rounds) {
  std::vector<Row> rows{{"8 B, us", {}, {}},
                        {"4 KiB, us", {}, {}},
                        {"64 KiB, us", {}, {}},
                        {"1 MiB one way, CPU s/GiB", {}, {}},
                        {"1 MiB one way, GiB/s", {}, {}},
                        {"1 MiB both ways, CPU s/GiB", {}, {}},
                        {"1 MiB both ways, GiB/s", {}, {}}};
  for (int round = 0; round < rounds; ++round)
    for (const bool is_own : {round % 2 == 0, round % 2 != 0}) {
      const Exchange& exchange = is_own ? contest.exchange : contest.other;
      std::size_t row = 0;
      const auto note = [&](double value) {
        (is_own ? rows[row].own : rows[row].others).push_back(value);
        ++row;
      };
      for (const std::size_t bytes : {8u, 4096u, 65536u}) note(latency_us(exchange, is_first, bytes));
      for (const bool both_ways : {false, true}) {
        const Stream found = stream(exchange, contest.other, buffers, both_ways, is_first);
        note(found.cpu_s_per_gib);
        note(found.gib_per_s);
      }
    }
  if (!is_first) return;
  std::printf("%-28s %9s %9s %8s (medians of %d rounds; the ratio's quartiles)\n", "", contest.name,
              contest.beside, "ratio", rounds);
  for (const Row& row : rows) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < row.own.size(); ++i) ratios.push_back(row.own[i] / row.others[i]);
    std::ranges::sort(ratios);
    std::printf("%-28s %9.3f %9.3f %8.2f (%.2f to %.2f)\n", row.name, median(row.own), median(row.others),
                median(ratios), ratios[ratios.size() / 4], ratios[3 * ratios.size() / 4]);
  }
}

}  // namespace hemiola::benchmarks
