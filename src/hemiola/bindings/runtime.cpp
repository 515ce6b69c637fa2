// SPDX-License-Identifier: Apache-2.0
#include <nanobind/ndarray.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <variant>

#include "hemiola/algorithms/late/late_hierarchical.hpp"
#include "hemiola/algorithms/late/late_segmented.hpp"
#include "hemiola/base/deadline.hpp"
#include "hemiola/base/error.hpp"
#include "hemiola/base/home_process.hpp"
#include "hemiola/bindings/bindings.hpp"
#include "hemiola/bindings/bytes.hpp"
#include "hemiola/bindings/call_arguments.hpp"
#include "hemiola/bindings/conditions.hpp"
#include "hemiola/bindings/gil.hpp"
#include "hemiola/bindings/left_to_python.hpp"
#include "hemiola/bindings/messages.hpp"
#include "hemiola/bindings/python_communicator.hpp"
#include "hemiola/bindings/signals.hpp"
#include "hemiola/bindings/value_class.hpp"
#include "hemiola/runtime/communicator/call_desk.hpp"
#include "hemiola/runtime/communicator/communicator.hpp"
#include "hemiola/runtime/communicator/wire_choice.hpp"
#include "hemiola/runtime/wire/emulated/emulated_kind.hpp"
#include "hemiola/runtime/wire/shm/shm_kind.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace hemiola::bindings {
namespace {

RankFactors factors_of(const std::map<Rank, double>& slow) {
  RankFactors factors;
  for (const auto& [rank, factor] : slow) factors[rank] = factor;
  return factors;
}

/// (kind, bytes, root, slow, algorithm, sparse, late rank and quarters) -> a recipe, in Python.
using PyDecide = nb::typed<nb::callable, nb::bytes(std::string, std::int64_t, int, RankFactors, std::string,
                                                   std::optional<bool>, std::optional<std::pair<int, int>>)>;
/// (recipe, bytes) -> the schedule to run, in Python.
using PyFollow = nb::typed<nb::callable, Selection(nb::bytes, std::int64_t)>;

/// A Schedule or ScheduleParts.
using Made = std::variant<nb::handle_t<Schedule>, nb::handle_t<ScheduleParts>>;

ProgramSource source_of(const Made& made) {
  if (const auto* parts = std::get_if<nb::handle_t<ScheduleParts>>(&made))
    return share<ScheduleParts>(*parts);
  return share(std::get<nb::handle_t<Schedule>>(made));
}

/// Seconds of a byte, a plain byte and a position.
using CostWords = std::tuple<double, double, double>;

codec::Costs costs_of(const CostWords& words) {
  const auto [byte_s, plain_byte_s, position_s] = words;
  return {byte_s, plain_byte_s, position_s};
}

/// As a call's `sparse` is written in Python.
std::optional<bool> written(SparseMode mode) {
  if (mode == SparseMode::where_seen) return std::nullopt;
  return mode == SparseMode::yes;
}

/// Any rank is None.
std::optional<std::pair<std::optional<int>, int>> written(const LateRank& late) {
  if (!late) return std::nullopt;
  return std::pair(late.moves ? std::nullopt : std::optional(static_cast<int>(late.rank)), late.quarters);
}

bool is_of(const nb::python_error& e, const char* name) {
  return e.matches(nb::module_::import_("hemiola.errors").attr(name));
}

/// Python's error: the sentence of an error of ours, the traceback of any other.
std::string told_by(const nb::python_error& e) {
  if (!is_of(e, "HemiolaError")) return e.what();
  return nb::cast<std::string>(nb::str(e.value()));
}

/// Calls Python. An interrupt and unreadable words are reported as such. Any other error means that there is nothing to
/// run.
template <typename Ask>
auto choosing(Ask ask) {
  const GilHeld gil;
  try {
    return ask();
  } catch (nb::python_error& e) {
    if (e.matches(PyExc_KeyboardInterrupt)) throw;
    if (is_of(e, "FormatError")) throw FormatError(told_by(e));
    throw ArgumentError("no schedule could be chosen: " + told_by(e));
  }
}

/// Keeps a Python function for C++ that lets go of it in any thread.
template <typename Function>
std::shared_ptr<Function> kept(Function function) {
  return {new Function(std::move(function)), [](Function* f) {
            const GilHeld gil;
            delete f;
          }};
}

Chooser chooser_of(PyDecide py_decide, PyFollow py_follow) {
  const auto decide = [function = kept(std::move(py_decide))](const Question& q) {
    return choosing([&] {
      const nb::object words =
          (*function)(nb::cast(name_of(q.kind)), q.byte_count, static_cast<int>(q.root),
                      factors_of(q.found.ports.slow), q.algorithm, written(q.sparse), written(q.found.late));
      return bytes_of(nb::cast<nb::bytes>(words));
    });
  };
  const auto follow = [function = kept(std::move(py_follow))](const Bytes& recipe, const Question& q) {
    return choosing([&] { return nb::cast<Selection>((*function)(to_python(recipe), q.byte_count)); });
  };
  return {decide, follow};
}

std::shared_ptr<const Schedule> late_schedule(int rank_count, Rank late, const LateRule& rule, int reduced) {
  if (!rule.around.empty()) return rule.around[static_cast<std::size_t>(late)];
  const algorithms::LateSegments parts{
      rule.segments, reduced, rule.chunks_per_owner,
      rule.direct_finish ? algorithms::FinishKind::direct : algorithms::FinishKind::doubling};
  if (rule.node_of_rank.empty())
    return std::make_shared<const Schedule>(algorithms::all_reduce_late_segmented(rank_count, late, parts));
  const auto layout = algorithms::NodeLayout::placed(rule.node_of_rank);
  return std::make_shared<const Schedule>(algorithms::all_reduce_late_hierarchical(layout, late, parts));
}

/// The parts of a segment that are reduced one step after another.
int late_segment_steps(int rank_count, const std::vector<int>& node_of_rank) {
  if (node_of_rank.empty()) return std::max(rank_count - 2, 1);
  return algorithms::late_node_steps(algorithms::NodeLayout::placed(node_of_rank).node_count());
}

bool wait_for(PendingOperation& pending, std::optional<double> timeout_s) {
  const auto is_over = [&] {
    const GilReleased release;
    return wait_hearing_signals(pending, timeout_s.value_or(std::numeric_limits<double>::infinity()));
  }();
  end_what_is_left();
  return is_over;
}

void bind_options(nb::module_& m) {
  nb::class_<CommunicatorOptions>(m, "CommunicatorOptions",
                                  "The options of hemiola.init; groups inherit them.")
      .def(
          "__init__",
          [](CommunicatorOptions* options, double timeout_s, bool keep_inputs, const std::string& wires,
             const std::vector<std::string>& ucx_libraries, const std::string& control,
             std::size_t recorded_transfers, const Topology* emulate, const RankSeconds& late,
             const RankFactors& slow) {
            // The clock of an emulated network waits for every rank that a message has reached to react to it.
            new (options) CommunicatorOptions{.timeout_s = timeout_s,
                                              .keep_inputs = keep_inputs,
                                              .wire = nullptr,
                                              .wires = wires,
                                              .ucx_libraries = ucx_libraries,
                                              .has_messages = emulate == nullptr,
                                              .control = control_kind(control),
                                              .recorded_transfers = recorded_transfers};
            if (emulate != nullptr)
              options->wire = std::make_shared<EmulatedKind>(std::make_shared<ShmKind>(control == "hosts"),
                                                             *emulate, conditions_of(late, slow));
          },
          nb::kw_only(), "timeout_s"_a, "keep_inputs"_a, "wires"_a, "ucx_libraries"_a, "control"_a,
          "recorded_transfers"_a, "emulate"_a.none(), "late"_a, "slow"_a)
      .def_ro("timeout_s", &CommunicatorOptions::timeout_s);
}

void run_call(PyCommunicator& communicator, std::string_view kind, nb::handle input, nb::handle output,
              nb::handle op, nb::handle root, nb::handle schedule, nb::handle timeout_s, nb::handle sparse) {
  const CallArguments arguments({kind, input, output, op, root, schedule, timeout_s, sparse});
  communicator.run(arguments.call());
}

std::shared_ptr<PendingOperation> start_call(PyCommunicator& communicator, std::string_view kind,
                                             nb::handle input, nb::handle output, nb::handle op,
                                             nb::handle root, nb::handle schedule, nb::handle timeout_s,
                                             nb::handle sparse) {
  const PyCall from{kind, input, output, op, root, schedule, timeout_s, sparse};
  const auto arguments = ended_with_gil(new CallArguments(from));
  return communicator.start(arguments->call(), arguments);
}

/// `run_message` or `start_message` as Python calls it.
template <typename Result>
auto taking_message(Result (PyCommunicator::*method)(const PyMessage&), bool is_send) {
  return [method, is_send](PyCommunicator& communicator, nb::handle array, nb::handle peer, nb::handle tag,
                           nb::handle timeout_s) {
    return (communicator.*method)({is_send, array, peer, tag, timeout_s});
  };
}

void bind_health(nb::module_& m) {
  nb::class_<SlowPort>(m, "SlowPort", "A rank whose ports are slower than the others'.")
      .def_prop_ro("rank", [](const SlowPort& p) { return static_cast<int>(p.rank); })
      .def_ro("measured_factor", &SlowPort::measured_factor)
      .def_ro("planned_factor", &SlowPort::planned_factor)
      .def_ro("since_number", &SlowPort::since_number)
      .def_ro("since_ns", &SlowPort::since_ns);
  nb::class_<HealthChange>(m, "HealthChange",
                           "From which operation on schedules are planned for which factors.")
      .def_ro("number", &HealthChange::number)
      .def_prop_ro("slow", [](const HealthChange& c) { return factors_of(c.slow); });
  nb::class_<Communicator::Health>(m, "Health", "The core of hemiola.Health.")
      .def_ro("is_watching", &Communicator::Health::is_watching)
      .def_ro("operation_count", &Communicator::Health::operation_count)
      .def_ro("complaints", &Communicator::Health::complaints)
      .def_prop_ro("slow", [](const Communicator::Health& h) { return h.ports.slow; })
      .def_prop_ro("changes", [](const Communicator::Health& h) { return h.ports.changes; });
}

void bind_communicator(nb::module_& m) {
  nb::class_<PyCommunicator>(m, "Communicator", "The core of hemiola.Communicator.")
      .def(
          "__init__",
          [](PyCommunicator* communicator, std::shared_ptr<Session> session, const std::vector<int>& members,
             CommunicatorOptions options, PyDecide decide, PyFollow follow, const PyCommunicator* parent,
             std::string terms) {
            options.terms = std::move(terms);
            new (communicator) PyCommunicator(std::move(session), members, options,
                                              chooser_of(std::move(decide), std::move(follow)), parent);
          },
          "session"_a, "members"_a, "options"_a, "decide"_a, "follow"_a, "parent"_a.none(), "terms"_a)
      .def_prop_ro("rank",
                   [](const PyCommunicator& c) { return static_cast<int>(c.core()->communicator.rank()); })
      .def_prop_ro("rank_count", [](const PyCommunicator& c) { return c.core()->communicator.rank_count(); })
      .def("run", &run_call, "kind"_a, "input"_a.none(), "output"_a.none(), "op"_a, "root"_a,
           "schedule"_a.none(), "timeout_s"_a.none(), "sparse"_a = nb::none())
      .def("start", &start_call, "kind"_a, "input"_a.none(), "output"_a.none(), "op"_a, "root"_a,
           "schedule"_a.none(), "timeout_s"_a.none(), "sparse"_a = nb::none())
      .def("send", taking_message(&PyCommunicator::run_message, true), "array"_a.none(), "dst"_a.none(),
           "tag"_a.none(), "timeout_s"_a.none())
      .def("recv", taking_message(&PyCommunicator::run_message, false), "array"_a.none(), "src"_a.none(),
           "tag"_a.none(), "timeout_s"_a.none())
      .def("start_send", taking_message(&PyCommunicator::start_message, true), "array"_a.none(),
           "dst"_a.none(), "tag"_a.none(), "timeout_s"_a.none())
      .def("start_recv", taking_message(&PyCommunicator::start_message, false), "array"_a.none(),
           "src"_a.none(), "tag"_a.none(), "timeout_s"_a.none())
      .def("recipe", &PyCommunicator::recipe, "kind"_a, "byte_count"_a, "root"_a)
      .def("health", &PyCommunicator::health)
      .def("slow_in_force",
           [](const PyCommunicator& c) {
             return factors_of(c.core()->communicator.adaptation().findings(Signature{}).ports.slow);
           })
      .def("watch_ports", &PyCommunicator::watch_ports, "port"_a, "healthy"_a)
      .def(
          "adopt_ports",
          [](PyCommunicator& c, const RankFactors& slow) { c.adopt_ports(conditions_of({}, slow).slow); },
          "slow"_a)
      .def("expects_late_rank", &PyCommunicator::expects_late_rank, "bytes"_a)
      .def(
          "slow_down",
          [](const PyCommunicator& c, const RankFactors& slow, const SlowLinks& links) {
            c.core()->communicator.slow_down(conditions_of({}, slow).slow, links);
          },
          "slow"_a, "links"_a)
      .def("arrivals_ns", &PyCommunicator::arrivals)
      .def("own_arrivals_ns", &PyCommunicator::own_arrivals)
      .def("forget_arrivals", &PyCommunicator::forget_arrivals)
      .def("operations", &PyCommunicator::operations)
      .def("pair_shares", &PyCommunicator::pair_shares)
      .def("payloads", &PyCommunicator::payloads)
      .def("sent_forms", &PyCommunicator::sent_forms)
      .def("recorded_transfers", &PyCommunicator::recorded_transfers)
      .def("carriers", &PyCommunicator::carriers)
      .def("check_open", [](const PyCommunicator& c) { c.core(); })
      .def("check_process", &PyCommunicator::check_process)
      .def_prop_ro(
          "is_called", [](PyCommunicator& c) { return c.core()->communicator.is_called(); },
          "Whether a rank has called for the next members.")
      .def_prop_ro(
          "is_whole", [](const PyCommunicator& c) { return c.core()->communicator.is_whole(); },
          "Whether this rank has not given it up.")
      .def("call", &PyCommunicator::call,
           "Call for the next members in the next operation; nothing where it is closed.")
      .def("close", &PyCommunicator::close)
      .def("abort", &PyCommunicator::abort, "reason"_a);
}

void bind_late(nb::module_& m) {
  nb::class_<LateForecast>(m, "LateForecast",
                           "The predicted time of an all-reduce from the last rank's arrival on.")
      .def(
          "__init__",
          [](LateForecast* forecast, double plain_s, double segment_s, std::vector<double> finish_s) {
            new (forecast) LateForecast{plain_s, segment_s, std::move(finish_s)};
          },
          nb::kw_only(), "plain_s"_a, "segment_s"_a, "finish_s"_a)
      .def_ro("plain_s", &LateForecast::plain_s)
      .def_ro("segment_s", &LateForecast::segment_s)
      .def_ro("finish_s", &LateForecast::finish_s);
  nb::class_<LateRule>(m, "LateRule", "How an all-reduce finds its late rank.")
      .def(
          "__init__",
          [](LateRule* rule, nb::handle_t<Schedule> plain, int segments, int chunks_per_owner,
             std::optional<LateForecast> forecast, std::vector<int> node_of_rank, const std::string& finish) {
            const auto made = share(plain);
            const int steps = late_segment_steps(made->rank_count(), node_of_rank);
            new (rule) LateRule{.plain = made,
                                .generate = &late_schedule,
                                .segments = segments,
                                .segment_steps = steps,
                                .chunks_per_owner = chunks_per_owner,
                                .node_of_rank = std::move(node_of_rank),
                                .direct_finish = algorithms::finish_kind("LateRule", finish) ==
                                                 algorithms::FinishKind::direct};
            if (forecast) rule->forecast = std::make_shared<const LateForecast>(std::move(*forecast));
            rule->check();
          },
          "plain"_a, nb::kw_only(), "segments"_a, "chunks_per_owner"_a, "forecast"_a = nb::none(),
          "node_of_rank"_a = std::vector<int>(), "finish"_a = "doubling")
      .def_static(
          "around",
          [](nb::handle_t<Schedule> plain, const std::vector<nb::handle_t<Schedule>>& around) {
            LateRule rule{.plain = share(plain), .generate = &late_schedule, .segment_steps = 0};
            for (const auto& one : around) rule.around.push_back(share(one));
            rule.check();
            return rule;
          },
          "plain"_a, "around"_a, "One that runs the schedule around whichever rank comes last.")
      .def_ro("node_of_rank", &LateRule::node_of_rank)
      .def_ro("direct_finish", &LateRule::direct_finish)
      .def_ro("segments", &LateRule::segments)
      .def_ro("chunks_per_owner", &LateRule::chunks_per_owner)
      .def_prop_ro(
          "forecast", [](const LateRule& rule) { return rule.forecast.get(); },
          nb::rv_policy::reference_internal);
  nb::class_<LateOutlook>(
      m, "LateOutlook",
      "The prediction for a schedule that is planned around the rank that keeps coming last.")
      .def(
          "__init__",
          [](LateOutlook* outlook, double plain_s, double delay_s, double finish_s) {
            if (!(plain_s > 0) || !(delay_s >= 0) || !(finish_s >= 0))
              throw ArgumentError(
                  "LateOutlook: expected plain_s above 0, and delay_s and finish_s of 0 or more");
            new (outlook) LateOutlook{plain_s, delay_s, finish_s};
          },
          nb::kw_only(), "plain_s"_a, "delay_s"_a, "finish_s"_a)
      .def_ro("plain_s", &LateOutlook::plain_s)
      .def_ro("delay_s", &LateOutlook::delay_s)
      .def_ro("finish_s", &LateOutlook::finish_s);
}

}  // namespace

void bind_runtime(nb::module_& m) {
  nb::class_<PendingOperation>(m, "PendingOperation", "An operation that runs in the background.")
      .def("wait", &wait_for, "timeout_s"_a = nb::none())
      .def("done", &PendingOperation::is_done)
      .def_prop_ro(
          "times_ns", &PendingOperation::times_ns,
          "When its turn came and when it was over, by time.monotonic_ns; 0 where that is still to come.");

  bind_late(m);

  nb::class_<SparseRule>(m, "SparseRule", "When messages leave zeros out, and by which schedule.")
      .def(
          "__init__",
          [](SparseRule* rule, double coded_below, const std::optional<Made>& without_fill_in,
             double without_fill_in_below, const Made& exchange, int pause,
             std::pair<CostWords, CostWords> costs) {
            new (rule) SparseRule{coded_below,
                                  without_fill_in ? source_of(*without_fill_in) : ProgramSource(),
                                  without_fill_in_below,
                                  source_of(exchange),
                                  pause,
                                  {costs_of(costs.first), costs_of(costs.second)}};
            rule->check();
          },
          nb::kw_only(), "coded_below"_a, "without_fill_in"_a = nb::none(), "without_fill_in_below"_a = 0,
          "exchange"_a, "pause"_a, "costs"_a);
  nb::class_<Selection>(
      m, "Selection",
      "A schedule to run, and when it looks for a late rank, leaves zeros out, or is planned "
      "around the rank that keeps coming last.")
      .def(
          "__init__",
          [](Selection* selection, const Made& chosen, const std::optional<LateRule>& late,
             const std::optional<SparseRule>& sparse, const std::optional<LateOutlook>& outlook) {
            new (selection) Selection{source_of(chosen), late, sparse, outlook};
          },
          "chosen"_a, nb::kw_only(), "late"_a = nb::none(), "sparse"_a = nb::none(), "outlook"_a = nb::none())
      .def_ro("late", &Selection::late)
      .def_ro("outlook", &Selection::outlook);

  nb::class_<Complaint>(m, "Complaint",
                        "The error in an argument; passed in its place, so that the other ranks learn of it.")
      .def(nb::init<std::string>(), "text"_a)
      .def_ro("text", &Complaint::text);
  nb::class_<BlockTable>(
      m, "BlockTable",
      "The bytes of an all-to-all's blocks, by giver, then taker; in place of a call's `schedule`, "
      "which is then the planner's choice.")
      .def(
          "__init__",
          [](BlockTable* table,
             const nb::ndarray<const std::int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>& of) {
            new (table) BlockTable{
                std::make_shared<const std::vector<std::int64_t>>(of.data(), of.data() + of.size())};
          },
          "sizes"_a, nb::sig("def __init__(self, sizes: NDArray[numpy.int64]) -> None"));
  m.def("wire_names", &wire_names, "The kinds of wire that HEMIOLA_WIRE may ask for.");
  nb::class_<EightBitMessages>(m, "EightBitMessages",
                               "Messages of eight bits an element; in place of a call's `sparse`.")
      .def(
          "__init__",
          [](EightBitMessages* messages, nb::object residual, std::vector<bool> rounds_to) {
            new (messages) EightBitMessages{std::move(residual),
                                            std::make_shared<const std::vector<bool>>(std::move(rounds_to))};
          },
          "residual"_a, "rounds_to"_a);
  bind_messages(m);
  bind_options(m);
  bind_health(m);
  bind_communicator(m);
}

void bind_premul_sum(nb::module_& m) {
  auto premul_sum =
      nb::class_<PremulSum>(m, "PremulSum",
                            R"(A sum in which each rank multiplies its own elements first; passed as `op`.

Parameters
----------
factor : float. This rank's factor; each rank has its own, so that sums can be weighted.

Raises
------
ArgumentTypeError : a factor that is no number.

Notes
-----
For floating and complex dtypes; NCCL and PyTorch call it PREMUL_SUM. A product is rounded to the dtype before it is
added; those of 16 and 8 bits are multiplied as float32. Inputs stay as they were: the products lie in memory of the
communicator's, as large as the input. Nobody looks for late ranks or for zeros.

Examples
--------
>>> import hemiola as hm
>>> hm.PremulSum(0.25)
PremulSum(0.25)
>>> comm.all_reduce(x, hm.PremulSum(own_samples / all_samples))  # doctest: +SKIP
)");
  premul_sum.def(nb::init<double>(), "factor"_a)
      .def_ro("factor", &PremulSum::factor, "This rank's factor.")
      .def("__repr__", [](const PremulSum& op) {
        return "PremulSum(" + nb::cast<std::string>(nb::repr(nb::float_(op.factor))) + ")";
      });
  bind_as_value(
      premul_sum, [](const PremulSum& op) { return std::tuple(op.factor); },
      [](double factor) { return PremulSum{factor}; });
}

}  // namespace hemiola::bindings
