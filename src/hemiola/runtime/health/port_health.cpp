// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/health/port_health.hpp"

#include <algorithm>
#include <cmath>

namespace hemiola {
namespace {

/// Measured factors are this exact; a step that is closer counts as met. Below 2 they are rather too low, and a step that
/// is too low costs more than the next one (docs/decisions/0008).
constexpr double kTolerance = 1.03;
constexpr double kToleranceBelow2 = 1.01;
/// A factor counts only so far above the present one.
constexpr double kRiseMargin = 1.05;
/// How much faster than it was a port must be for its factor to fall to another one above 1.
constexpr double kFallMargin = 1.15;

}  // namespace

double round_up_factor(double factor) {
  if (factor < PortHealth::kLeastFactor) return 1;
  for (double step : {1.25, 1.5})
    if (factor <= step * kToleranceBelow2) return step;
  const double least = factor / kTolerance;
  const double power = std::exp2(std::floor(std::log2(least)));  // of 2, at most `least` (or 1 below 2)
  for (double step : {power, 1.5 * power})
    if (step >= 2 && least <= step) return step;
  return 2 * power;
}

bool PortHealth::by_factor(const Showing& a, const Showing& b) {
  return a.factor < b.factor;
}

PortHealth::PortHealth(int rank_count, const std::map<Rank, double>& assumed, std::int64_t now_ns,
                       const Judging& judging)
    : judging_(judging),
      ports_(static_cast<std::size_t>(rank_count)),
      usual_(judging.operations_of_reference) {
  for (Rank rank : indices<Rank>(rank_count)) ports_[static_cast<std::size_t>(rank)].state.rank = rank;
  for (const auto& [rank, factor] : assumed) {
    Port& port = ports_[static_cast<std::size_t>(rank)];
    port.state.measured_factor = port.state.planned_factor = factor;
    port.state.since_ns = now_ns;
    port.share = 1 / factor;
  }
}

bool PortHealth::judge(std::uint64_t number, std::int64_t now_ns, std::span<const double> best_share) {
  std::vector<Port*> known;  // the slowest first
  for (std::size_t rank = 0; rank < ports_.size(); ++rank) {
    ports_[rank].latest_share = best_share[rank];
    if (best_share[rank] > 0) known.push_back(&ports_[rank]);
  }
  if (known.size() < 3) return false;  // of two, nobody can say which one is slow
  std::ranges::sort(known, {}, &Port::latest_share);
  const Port* reference =
      judging_.beside == Judging::Beside::fastest ? known.back() : known[known.size() / 2];
  now_.note(reference->latest_share);
  usual_.note(reference->latest_share);
  const double now = now_.share(), usual = usual_.share();
  bool changed = false;
  for (Port* port : known) {
    const double share = port->latest_share;
    const Showing showing{share, std::max(1.0, now / share), std::max(1.0, usual / share), number, now_ns};
    changed |= judge(port, showing, *known.front());
  }
  return changed;
}

bool PortHealth::is_lower(const Port& port, const Showing& showing) {
  const double in_force = port.state.planned_factor;
  if (showing.usual_factor < kFullSpeedFactor) return in_force > 1;
  return round_up_factor(showing.usual_factor) < in_force && showing.share > port.share * kFallMargin;
}

/// `slowest` of this operation has been judged.
void PortHealth::note_higher(Port* port, const Showing& showing, const Port& slowest) const {
  const double in_force = port->state.planned_factor;
  const bool shows_more =
      showing.factor > in_force * kRiseMargin && round_up_factor(showing.factor) > in_force;
  const bool may_have_waited = showing.share > slowest.latest_share * judging_.most_spread;
  const bool is_waited_for = slowest.state.planned_factor > 1 || slowest.higher.size() >= port->higher.size();
  if (!shows_more || (may_have_waited && is_waited_for))
    port->higher.clear();
  else if (!may_have_waited)
    port->higher.push_back(showing);
}

bool PortHealth::judge(Port* port, const Showing& showing, const Port& slowest) const {
  SlowPort& state = port->state;
  state.measured_factor = showing.usual_factor;
  note_higher(port, showing, slowest);
  if (is_lower(*port, showing))
    port->lower.push_back(showing);
  else
    port->lower.clear();
  if (is_believed(port->higher)) {
    raise(port);
  } else if (port->lower.size() == judging_.operations_to_fall) {
    lower(port);
  } else {
    return false;
  }
  return true;
}

/// The first two operations do not decide by how much: it may have happened in the middle of one, and a disturbed one
/// before it may have shown something, too.
const PortHealth::Showing& PortHealth::least_of(const std::vector<Showing>& shown) {
  return *std::min_element(shown.begin() + 2, shown.end(), by_factor);
}

/// The latest of them, but for one in the middle of which it may have happened.
bool PortHealth::is_steady(const std::vector<Showing>& higher) const {
  const auto latest = std::span(higher).last(kOperationsToRise - 1);
  const auto [least, most] = std::ranges::minmax(latest, {}, &Showing::share);
  return most.share <= least.share * judging_.most_spread;
}

bool PortHealth::is_believed(const std::vector<Showing>& higher) const {
  if (higher.size() < kOperationsToRise || !is_steady(higher)) return false;
  if (least_of(higher).factor < judging_.least_factor) return false;
  return higher.size() >= kOperationsToRiseMildly || least_of(higher).factor >= kMildFactor;
}

void PortHealth::raise(Port* port) {
  std::vector<Showing>& shown = port->higher;
  const Showing least = least_of(shown);
  SlowPort& state = port->state;
  if (state.planned_factor == 1) {
    const auto first = std::find_if(shown.begin(), shown.end(), [&](const Showing& one) {
      return one.factor * kRiseMargin >= least.factor;
    });
    state.since_number = first->number;
    state.since_ns = first->at_ns;
  }
  state.planned_factor = round_up_factor(least.usual_factor);
  port->share = least.share;
  shown.clear();
}

void PortHealth::lower(Port* port) {
  const auto most = std::max_element(port->lower.begin(), port->lower.end(), by_factor);
  port->state.planned_factor = round_up_factor(most->usual_factor);
  port->share = most->share;
  port->lower.clear();
}

bool PortHealth::adopt(const std::map<Rank, double>& measured, std::uint64_t number, std::int64_t now_ns) {
  bool changed = false;
  for (const auto& [rank, factor] : measured) {
    Port& port = ports_[static_cast<std::size_t>(rank)];
    const double planned = round_up_factor(factor);
    port.higher.clear();
    port.lower.clear();
    port.state.measured_factor = factor;
    if (planned == port.state.planned_factor) continue;
    changed = true;
    if (port.state.planned_factor == 1) {
      port.state.since_number = number;
      port.state.since_ns = now_ns;
    }
    port.state.planned_factor = planned;
    port.share = usual_.share() / factor;
  }
  return changed;
}

bool PortHealth::is_in_doubt() const {
  return std::ranges::any_of(ports_, [](const Port& port) { return !port.lower.empty(); });
}

std::map<Rank, double> PortHealth::factors_in_force() const {
  std::map<Rank, double> slow;
  for (const Port& port : ports_)
    if (port.state.planned_factor > 1) slow[port.state.rank] = port.state.planned_factor;
  return slow;
}

std::vector<SlowPort> PortHealth::slow_ports() const {
  std::vector<SlowPort> slow;
  for (const Port& port : ports_)
    if (port.state.planned_factor > 1) slow.push_back(port.state);
  return slow;
}

}  // namespace hemiola
