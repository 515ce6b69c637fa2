// SPDX-License-Identifier: Apache-2.0
#include "hemiola/bounds/lower_bound.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "hemiola/base/error.hpp"
#include "hemiola/base/progress.hpp"
#include "hemiola/base/rounding.hpp"
#include "hemiola/bounds/distance.hpp"
#include "hemiola/bounds/problem.hpp"
#include "hemiola/topology/host_links.hpp"
#include "hemiola/topology/sides.hpp"
#include "hemiola/topology/slowed_links.hpp"
#include "hemiola/topology/vertex_names.hpp"

namespace hemiola {
namespace {

void check_arguments(const Topology& topology, CollectiveKind kind, std::int64_t bytes, Rank root) {
  if (kind == CollectiveKind::custom)
    throw ArgumentError(
        "lower_bound: expected one of the named collectives, found 'custom', which has no stated demand");
  const std::int64_t max_bytes = (std::int64_t{1} << 53) / topology.rank_count();
  if (bytes < 0 || bytes > max_bytes)
    throw ArgumentError("lower_bound: expected a buffer of 0 … " + std::to_string(max_bytes) +
                        " bytes, found " + std::to_string(bytes));
  if (root < 0 || root >= topology.rank_count())
    throw ArgumentError("lower_bound: expected a root in 0 … " + std::to_string(topology.rank_count() - 1) +
                        ", found " + std::to_string(root));
}

/// Throws ArgumentError that names two ranks of which one cannot reach the other, if the collective needs it to, and the
/// two sides.
void check_connected(const Topology& topology, CollectiveKind kind, Rank root) {
  const Vertex hub{is_rooted(kind) ? root : Rank{0}};
  const auto check = [&](bounds::Direction direction) {
    const auto latency = bounds::least_latency(topology, {&hub, 1}, direction);
    for (Vertex v : indices<Vertex>(topology.rank_count())) {
      if (latency[static_cast<std::size_t>(v)] != bounds::kUnreachable) continue;
      const bool from_hub = direction == bounds::Direction::from_sources;
      std::vector<bool> reached;
      for (Vertex u : indices<Vertex>(topology.rank_count()))
        reached.push_back(latency[static_cast<std::size_t>(u)] != bounds::kUnreachable);
      throw ArgumentError(described(topology) + " has no path from " +
                          called(topology, Vertex{from_hub ? hub : v}) + " to " +
                          called(topology, Vertex{from_hub ? v : hub}) + ", which " +
                          std::string(name_of(kind)) + " needs: " + missing_link(reached, !from_hub));
    }
  };
  if (kind != CollectiveKind::reduce && kind != CollectiveKind::gather)
    check(bounds::Direction::from_sources);
  if (kind != CollectiveKind::broadcast && kind != CollectiveKind::scatter)
    check(bounds::Direction::to_sources);
}

/// Which theorem on slow ranks a bound is an instance of, if any.
std::string theorem_of(const bounds::Problem& problem, const Bound& bound) {
  if (problem.kind != CollectiveKind::all_reduce || problem.conditions.slow.empty() || bound.time == 0)
    return "";
  if (problem.topology.node_count() < problem.rank_count()) {
    if (bound.name == "hosts" || bound.name == "cut") return " [OptCC, Theorem 3]";
    return bound.name == "traffic" ? " [corrects OptCC, Theorem 13]" : "";
  }
  if (bound.name != "ports" && bound.name != "traffic") return "";
  return problem.conditions.slow.size() == 1 ? " [OptCC, Theorem 1]" : " [OptCC, Theorem 2]";
}

/// Work that a proof must know switches not to do.
enum class Needs : std::uint8_t {
  nothing,             ///< it counts what ends must send or get, whatever happens on the way
  told_of_switches,    ///< it counts what ranks send each other, and asks what switches do
  forwarding,          ///< it holds only where all switches forward
  forwarding_between,  ///< or where those that do more are each inside one host
};

struct Finder {
  const char* name;
  Bound (*find)(const bounds::Problem&);
  double share;  ///< about its share of the time on a large network
  Needs needs;
};

std::vector<Finder> finders_for(PortUse port_use) {
  std::vector<Finder> finders = {{"ports", bounds::port_bound, 0.01, Needs::nothing},
                                 {"traffic", bounds::traffic_bound, 0.01, Needs::told_of_switches},
                                 {"hosts", bounds::host_traffic_bound, 0.01, Needs::forwarding_between},
                                 {"islands", bounds::island_bound, 0.01, Needs::forwarding},
                                 {"relays", bounds::relay_bound, 0.1, Needs::nothing},
                                 {"cut", bounds::cut_bound, 0.7, Needs::nothing},
                                 {"distance", bounds::distance_bound, 0.1, Needs::nothing},
                                 {"arrival", bounds::arrival_bound, 0.01, Needs::nothing},
                                 {"late", bounds::late_bound, 0.1, Needs::told_of_switches},
                                 {"exchange", bounds::exchange_bound, 0.1, Needs::nothing},
                                 {"trees", bounds::tree_bound, 0.1, Needs::forwarding}};
  if (port_use == PortUse::one)
    finders.insert(finders.begin(), {"one_port", bounds::one_port_bound, 0.05, Needs::forwarding});
  return finders;
}

bool has_able_switch_between_hosts(const Topology& topology) {
  if (topology.hardware().switches.empty()) return false;
  const std::vector<int> host = host_of_vertices(topology);
  for (Vertex v{topology.rank_count()}; v < topology.vertex_count(); ++v)
    if (topology.ability_of(v) != SwitchAbility{} && host[static_cast<std::size_t>(v)] == kNoHost)
      return true;
  return false;
}

bool is_void(const bounds::Problem& problem, const Finder& finder) {
  if (finder.needs == Needs::forwarding) return problem.adds_in_switch() || problem.copies_in_switch();
  return finder.needs == Needs::forwarding_between && has_able_switch_between_hosts(problem.topology);
}

std::string assumption_of(const bounds::Problem& problem, const Finder& finder, PortUse port_use) {
  const bool adds = problem.adds_in_switch(), copies = problem.copies_in_switch();
  std::string text = "adding takes no time; a port carries ";
  text += port_use == PortUse::one && finder.find == bounds::one_port_bound
              ? "one message at a time, at the pace of the slower of its ends"
              : "any number of messages at once";
  if (finder.needs == Needs::nothing || problem.topology.switch_count() == 0) return text;
  if (finder.needs == Needs::forwarding_between && (adds || copies))
    return text + "; switches between hosts only forward";
  if (!adds && !copies) return text + "; switches only forward";
  return text + "; switches " + (adds ? (copies ? "reduce and multicast" : "reduce") : "multicast");
}

/// Looks for every bound; they are sorted, the largest first.
LowerBound largest_of(bounds::Problem problem, PortUse port_use) {
  LowerBound result;
  // Every rank launches before it sends, so that each bound is that much later; the searches know nothing of it.
  const Picoseconds launch = problem.topology.hardware().launch;
  Parts parts(1);
  for (const Finder& finder : finders_for(port_use)) {
    parts.next(finder.share);
    Bound bound = is_void(problem, finder)
                      ? Bound{finder.name, 0, "switches reduce or multicast, so that less is sent"}
                      : finder.find(problem);
    bound.assumes = assumption_of(problem, finder, port_use);
    bound.witness += theorem_of(problem, bound);
    problem.known = std::max(problem.known, bound.time);
    result.bounds.push_back(after_launch(std::move(bound), launch));
  }
  std::stable_sort(result.bounds.begin(), result.bounds.end(),
                   [](const Bound& a, const Bound& b) { return a.time > b.time; });
  result.time = result.bounds[0].time;
  result.witness = result.bounds[0].witness;
  return result;
}

}  // namespace

PortUse port_use_from_name(std::string_view name) {
  if (name == "shared") return PortUse::shared;
  if (name == "one") return PortUse::one;
  throw ArgumentError("lower_bound: expected ports 'shared' or 'one', found '" +
                      std::string(name.substr(0, 60)) + "'");
}

Bound after_launch(Bound bound, Picoseconds launch) {
  if (launch == 0) return bound;
  bound.time += launch;
  bound.witness += ", after a launch of " + format_seconds(to_seconds(launch));
  return bound;
}

LowerBound lower_bound(const Topology& topology, CollectiveKind kind, std::int64_t bytes,
                       const Conditions& conditions, Rank root, PortUse port_use) {
  check_arguments(topology, kind, bytes, root);
  conditions.check(topology.rank_count());
  check_connected(topology, kind, root);
  return largest_of(bounds::Problem{topology, conditions, kind, root, bytes,
                                    bounds::Demand(kind, topology.rank_count(), root, bytes),
                                    slowed_bandwidths(topology, conditions)},
                    port_use);
}

LowerBound exchange_lower_bound(const Topology& topology, std::vector<std::int64_t> blocks,
                                const Conditions& conditions) {
  constexpr CollectiveKind kind = CollectiveKind::all_to_all;
  const int n = topology.rank_count();
  if (blocks.size() != static_cast<std::size_t>(n) * static_cast<std::size_t>(n))
    throw ArgumentError("lower_bound: expected " + std::to_string(n) + " times " + std::to_string(n) +
                        " blocks, found " + std::to_string(blocks.size()));
  std::int64_t bytes = 0;
  for (const std::int64_t block : blocks) {
    check_arguments(topology, kind, block, Rank{0});
    check_arguments(topology, kind, bytes += rounded_up(block, std::int64_t{n}) / n, Rank{0});
  }
  conditions.check(n);
  check_connected(topology, kind, Rank{0});
  return largest_of(
      bounds::Problem{topology, conditions, kind, Rank{0}, bytes, bounds::Demand(n, std::move(blocks)),
                      slowed_bandwidths(topology, conditions)},
      PortUse::shared);
}

}  // namespace hemiola
