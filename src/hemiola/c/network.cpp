// SPDX-License-Identifier: Apache-2.0
#include "hemiola/c/network.hpp"

#include <sched.h>

#include <algorithm>
#include <array>
#include <bitset>
#include <chrono>
#include <cmath>
#include <cstring>
#include <functional>
#include <set>

#include "hemiola/algorithms/published/direct.hpp"
#include "hemiola/algorithms/published/ring.hpp"
#include "hemiola/base/error.hpp"

namespace hemiola::c {
namespace {

constexpr std::int64_t kSmallBytes = 64, kLargeBytes = 1 << 20;
constexpr int kRepetitions = 8;
/// A hop's share of an exchange in which all send to all, where ranks share cores; its messages have the rest.
constexpr double kShareOfHop = 0.5;
/// Where ranks of a host were never alone with each other.
constexpr PortFigures kUsualInside{1e-6, 5e9, 0};

/// The shortest and the total time of all-gathers of such blocks.
struct Times {
  double least_s, total_s;
};

Times times_of(Core& core, const std::shared_ptr<const Schedule>& schedule, std::int64_t block_bytes) {
  const std::int64_t whole_bytes = block_bytes * core.communicator.rank_count();
  // Pages that were never written are all one.
  std::vector<std::byte> block(static_cast<std::size_t>(block_bytes), std::byte{1});
  std::vector<std::byte> whole(static_cast<std::size_t>(whole_bytes), std::byte{1});
  Call call{.kind = OperationKind::all_gather,
            .input = ArrayView{block.data(), DType::uint8, {&block_bytes, 1}},
            .output = ArrayView{whole.data(), DType::uint8, {&whole_bytes, 1}},
            .schedule = schedule,
            .algorithm = {},
            .complaint = {}};
  Times times{1e9, 0};
  for (int i = 0; i < kRepetitions; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    core.run(call);
    const double taken_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    times = {std::min(times.least_s, taken_s), times.total_s + taken_s};
  }
  return times;
}

/// Times a ring, in which every rank sends and receives in every step, with small and large blocks. Where ranks share
/// cores, an exchange of next to nothing between all gives the cost of a message.
PortFigures port_of(Core& core, bool shares_cores) {
  const int ranks = core.communicator.rank_count();
  const auto ring = std::make_shared<const Schedule>(algorithms::all_gather_ring(ranks));
  const double steps = ranks - 1;
  PortFigures port;
  port.latency_s = times_of(core, ring, kSmallBytes).least_s / steps;
  const double large_s = times_of(core, ring, kLargeBytes).least_s / steps;
  port.bandwidth_Bps = static_cast<double>(kLargeBytes) / std::max(large_s - port.latency_s, 1e-9);
  if (shares_cores) {
    const auto direct = std::make_shared<const Schedule>(algorithms::all_gather_direct(ranks));
    const double small_s = times_of(core, direct, kSmallBytes).total_s / kRepetitions;
    port.latency_s = kShareOfHop * small_s;
    port.message_s = (1 - kShareOfHop) * small_s / steps;
  }
  return port;
}

using Cores = std::bitset<CPU_SETSIZE>;

Cores own_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  Cores cores;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cores;
  for (int core = 0; core < CPU_SETSIZE; ++core)
    cores[static_cast<std::size_t>(core)] = CPU_ISSET(core, &set);
  return cores;
}

/// Whether some ranks of a host have fewer cores together than they are.
bool share_cores(const Members& members, double timeout_s) {
  const Cores own = own_cores();
  Cores all;
  for (const Bytes& told :
       members.exchange("cores", std::as_bytes(std::span(&own, 1)), Deadline(timeout_s))) {
    Cores cores;
    if (told.size() == sizeof cores) std::memcpy(&cores, told.data(), sizeof cores);
    all |= cores;
  }
  return static_cast<int>(all.count()) < members.count();
}

/// Of some of the ranks, in a communicator of their own that ends again.
PortFigures apart(const std::shared_ptr<Session>& session, const std::vector<Rank>& ranks,
                  CommunicatorOptions options, const std::string& terms) {
  options.terms = terms;
  Core core(session, ranks, options, {});
  const bool is_inside = terms == "figures=inside";
  const PortFigures port =
      port_of(core, is_inside && share_cores(core.communicator.members(), options.timeout_s));
  core.communicator.close();
  return port;
}

void join_port(PortFigures* port, const PortFigures& other) {
  if (!port->is_known()) *port = other;
  if (!other.is_known()) return;
  *port = {std::max(port->latency_s, other.latency_s), std::min(port->bandwidth_Bps, other.bandwidth_Bps),
           std::max(port->message_s, other.message_s)};
}

bool is_number_of_port(const PortFigures& port) {
  const auto is_time = [](double seconds) { return seconds >= 0 && seconds < 1000; };
  return is_time(port.latency_s) && is_time(port.message_s) && port.bandwidth_Bps >= 0 &&
         port.bandwidth_Bps < 1e18;
}

}  // namespace

Bytes Figures::packed() const {
  const std::array numbers{inside.latency_s,  inside.bandwidth_Bps,  inside.message_s,
                           between.latency_s, between.bandwidth_Bps, between.message_s};
  const auto bytes = std::as_bytes(std::span(numbers));
  return {bytes.begin(), bytes.end()};
}

Figures Figures::of(std::span<const std::byte> bytes) {
  std::array<double, 6> numbers{};
  if (bytes.size() != sizeof numbers)
    throw FormatError("expected the figures of a network, found " + std::to_string(bytes.size()) + " bytes");
  std::memcpy(numbers.data(), bytes.data(), sizeof numbers);
  const Figures figures{{numbers[0], numbers[1], numbers[2]}, {numbers[3], numbers[4], numbers[5]}};
  if (!is_number_of_port(figures.inside) || !is_number_of_port(figures.between))
    throw FormatError("expected the figures of a network, found impossible ones");
  return figures;
}

void Figures::join(const Figures& other) {
  join_port(&inside, other.inside);
  join_port(&between, other.between);
}

std::vector<int> hosts_of(const Session& session, const std::vector<Rank>& ranks) {
  std::vector<int> numbers, hosts;
  for (const Rank rank : ranks) {
    const int host = session.host_of(rank);
    auto place = std::ranges::find(numbers, host);
    if (place == numbers.end()) place = numbers.insert(numbers.end(), host);
    hosts.push_back(static_cast<int>(place - numbers.begin()));
  }
  return hosts;
}

bool are_enough(const Figures& figures, const std::vector<int>& hosts) {
  const bool has_several = std::ranges::any_of(hosts, [](int host) { return host > 0; });
  return hosts.size() == 1 || (has_several ? figures.between : figures.inside).is_known();
}

Figures measured(const std::shared_ptr<Session>& session, const std::vector<Rank>& ranks, Core& core,
                 const CommunicatorOptions& options) {
  const std::vector<int> hosts = hosts_of(*session, ranks);
  const Members& members = core.communicator.members();
  Figures own;
  if (std::ranges::count(hosts, 0) == static_cast<std::ptrdiff_t>(hosts.size())) {
    own.inside = port_of(core, share_cores(members, options.timeout_s));
  } else {
    std::vector<Rank> neighbours, firsts;
    const int host = hosts[at(members.self)];
    for (std::size_t i = 0; i < hosts.size(); ++i) {
      if (hosts[i] == host) neighbours.push_back(ranks[i]);
      if (std::ranges::find(hosts, hosts[i]) == hosts.begin() + static_cast<std::ptrdiff_t>(i))
        firsts.push_back(ranks[i]);
    }
    if (neighbours.size() > 1) own.inside = apart(session, neighbours, options, "figures=inside");
    if (std::ranges::find(firsts, session->rank()) != firsts.end())
      own.between = apart(session, firsts, options, "figures=between");
  }
  Figures all;
  for (const Bytes& told : members.exchange("figures", own.packed(), Deadline(options.timeout_s)))
    all.join(Figures::of(told));
  return all;
}

Topology network_of(const Figures& figures, const std::vector<int>& hosts) {
  const int ranks = static_cast<int>(hosts.size());
  const int host_count = 1 + *std::ranges::max_element(hosts);
  const PortFigures& inside = figures.inside.is_known() ? figures.inside : kUsualInside;
  topologies::Wiring wiring;
  for (Rank rank : indices<Rank>(ranks))
    wiring.port(Vertex{rank}, Vertex{ranks + hosts[at(rank)]}, inside.cost());
  const Vertex core{ranks + host_count};
  if (host_count == 1) return Topology("one host", ranks, 1, wiring.take());
  for (int host = 0; host < host_count; ++host)
    wiring.port(Vertex{ranks + host}, core, figures.between.cost());
  return Topology("hosts", ranks, host_count + 1, wiring.take(), hosts);
}

}  // namespace hemiola::c
