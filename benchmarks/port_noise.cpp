// SPDX-License-Identifier: Apache-2.0
// Months of noisy operations, simulated: how often a healthy port is called slow, and how often one that has recovered stays so.
//   cmake --build build/<folder> --target port_noise_benchmark
//   build/<folder>/port_noise_benchmark [operations a seed] [seeds] [noise in % ...]
// Goal: no missed recovery. A port is missed where it is still planned for so many judged operations after it has recovered.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "hemiola/runtime/adaptation/port_watch.hpp"
#include "hemiola/runtime/health/port_health.hpp"

namespace {

using namespace hemiola;

constexpr int kPorts = 4;
constexpr int kLongestHealthy = 2000, kLongestSlow = 500, kMostToRecover = 1000;

struct Counts {
  std::int64_t operations = 0, episodes = 0, noticed = 0, recovered = 0, missed = 0, false_alarms = 0;
  std::int64_t operations_to_recover = 0;
};

/// One port is now healthy, now slow; the figures of all have the same noise.
class Job {
 public:
  Job(unsigned seed, const Judging& judging, double deviation)
      : generator_(seed), noise_(0, deviation), health_(kPorts, {}, 0, judging) {}

  void run(std::int64_t operations, Counts* counts) {
    while (counts->operations < operations) {
      healthy(counts);
      slow(counts);
    }
  }

 private:
  bool is_slow(int port) const { return health_.factors_in_force().contains(Rank{port}); }
  bool is_anybody_slow() const { return !health_.factors_in_force().empty(); }
  int up_to(int most) { return std::uniform_int_distribution<int>(1, most)(generator_); }

  bool operation(double factor, Counts* counts) {
    for (int port = 0; port < kPorts; ++port)
      shares_[static_cast<std::size_t>(port)] =
          std::clamp((0.97 - std::abs(noise_(generator_))) / (port == 0 ? factor : 1.0), 0.05, 1.0);
    ++counts->operations;
    return health_.judge(++number_, 0, shares_);
  }

  void healthy(Counts* counts) {
    for (int left = std::max(up_to(kLongestHealthy), kMostToRecover), since = 1; left > 0; --left, ++since) {
      const bool was = is_anybody_slow();
      if (!operation(1, counts)) continue;
      if (!was && is_anybody_slow()) ++counts->false_alarms;
      if (waits_ && !is_slow(0)) {
        waits_ = false;
        ++counts->recovered;
        counts->operations_to_recover += since;
      }
    }
    counts->missed += waits_;
  }

  void slow(Counts* counts) {
    const double factor = std::exp2(std::uniform_real_distribution<double>(0.2, 3)(generator_));
    ++counts->episodes;
    for (int left = up_to(kLongestSlow); left > 0; --left) operation(factor, counts);
    waits_ = is_slow(0);
    counts->noticed += waits_;
  }

  std::mt19937 generator_;
  std::normal_distribution<double> noise_;
  PortHealth health_;
  std::vector<double> shares_ = std::vector<double>(kPorts);
  std::uint64_t number_ = 0;
  bool waits_ = false;  ///< for port 0 to be healthy again
};

}  // namespace

int main(int argc, char** argv) {
  const std::int64_t operations = argc > 1 ? std::atoll(argv[1]) : 10'000;
  const unsigned seeds = argc > 2 ? static_cast<unsigned>(std::atoi(argv[2])) : 1000;
  std::vector<double> deviations;
  for (int i = 3; i < argc; ++i) deviations.push_back(std::atof(argv[i]) / 100);
  if (deviations.empty()) deviations = {0.01, 0.03, 0.05, 0.08};
  std::int64_t missed = 0;
  std::printf("%s\n",
              "figures   noise  operations  episodes  noticed  recovered  missed  after (mean)  false alarms "
              "a million");
  for (const bool certain : {true, false})
    for (const double deviation : deviations) {
      Counts all;
      for (unsigned seed = 0; seed < seeds; ++seed) {
        Counts counts;
        Job(seed, certain ? Judging{} : PortWatch::kJudgingByArrivals, deviation).run(operations, &counts);
        all.operations += counts.operations;
        all.episodes += counts.episodes;
        all.noticed += counts.noticed;
        all.recovered += counts.recovered;
        all.missed += counts.missed;
        all.false_alarms += counts.false_alarms;
        all.operations_to_recover += counts.operations_to_recover;
      }
      missed += all.missed;
      std::printf("%-8s  %4.0f %%  %10lld  %8lld  %7lld  %9lld  %6lld  %12.1f  %.2f\n",
                  certain ? "certain" : "arrivals", 100 * deviation, static_cast<long long>(all.operations),
                  static_cast<long long>(all.episodes), static_cast<long long>(all.noticed),
                  static_cast<long long>(all.recovered), static_cast<long long>(all.missed),
                  static_cast<double>(all.operations_to_recover) /
                      static_cast<double>(std::max<std::int64_t>(1, all.recovered)),
                  1e6 * static_cast<double>(all.false_alarms) / static_cast<double>(all.operations));
    }
  return missed > 0;
}
