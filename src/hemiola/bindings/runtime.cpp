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

#include "hemiola/algorithms/late/late_segmented.hpp"
#include "hemiola/base/deadline.hpp"
#include "hemiola/base/error.hpp"
#include "hemiola/base/home_process.hpp"
#include "hemiola/bindings/bindings.hpp"
#include "hemiola/bindings/bytes.hpp"
#include "hemiola/bindings/call_arguments.hpp"
#include "hemiola/bindings/conditions.hpp"
#include "hemiola/bindings/gil.hpp"
#include "hemiola/bindings/messages.hpp"
#include "hemiola/bindings/signals.hpp"
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

/// (kind, bytes, root, slow, algorithm, sparse) -> a recipe, in Python.
using PyDecide = nb::typed<nb::callable, nb::bytes(std::string, std::int64_t, int, RankFactors, std::string,
                                                   std::optional<std::variant<bool, std::string>>)>;
/// (recipe, bytes) -> Schedule, ScheduleParts, LateRule or SparsePlan.
using PyFollow = nb::typed<nb::callable, nb::object(nb::bytes, std::int64_t)>;

/// A schedule, when its messages leave zeros out, and how a late rank is found.
struct SparsePlan {
  ProgramSource chosen;
  SparseRule rule;
  std::optional<LateRule> late;
};

/// A Schedule or ScheduleParts.
using Made = std::variant<nb::handle_t<Schedule>, nb::handle_t<ScheduleParts>>;

ProgramSource source_of(nb::handle made) {
  if (nb::isinstance<ScheduleParts>(made)) return share<ScheduleParts>(made);
  return share(made);
}

ProgramSource source_of(const Made& made) {
  return std::visit([](nb::handle either) { return source_of(either); }, made);
}

/// Seconds of a byte, a plain byte and a position.
using CostWords = std::tuple<double, double, double>;

codec::Costs costs_of(const CostWords& words) {
  const auto [byte_s, plain_byte_s, position_s] = words;
  return {byte_s, plain_byte_s, position_s};
}

/// As a call's `sparse` is written in Python.
std::optional<std::variant<bool, std::string>> written(SparseMode mode) {
  if (mode == SparseMode::where_seen) return std::nullopt;
  if (mode == SparseMode::spccl) return "spccl";
  return mode == SparseMode::yes;
}

Selection selection_of(nb::handle object) {
  if (nb::isinstance<SparsePlan>(object)) {
    const auto& plan = nb::cast<const SparsePlan&>(object);
    return {plan.chosen, plan.late, plan.rule};
  }
  if (!nb::isinstance<LateRule>(object)) return {source_of(object), std::nullopt};
  LateRule rule = nb::cast<LateRule>(object);
  return {rule.plain, std::move(rule)};
}

/// What Python raised: the sentence of an error of ours, the traceback of any other.
std::string told_by(const nb::python_error& e) {
  if (!e.matches(nb::module_::import_("hemiola.errors").attr("HemiolaError"))) return e.what();
  return nb::cast<std::string>(nb::str(e.value()));
}

/// Calls Python; whatever it raises but an interrupt means that there is nothing to run.
template <typename Ask>
auto choosing(Ask ask) {
  const GilHeld gil;
  try {
    return ask();
  } catch (nb::python_error& e) {
    if (e.matches(PyExc_KeyboardInterrupt)) throw;
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
      const nb::object words = (*function)(nb::cast(name_of(q.kind)), q.byte_count, static_cast<int>(q.root),
                                           factors_of(q.slow), q.algorithm, written(q.sparse));
      return bytes_of(nb::cast<nb::bytes>(words));
    });
  };
  const auto follow = [function = kept(std::move(py_follow))](const Bytes& recipe, const Question& q) {
    return choosing([&] { return selection_of((*function)(to_python(recipe), q.byte_count)); });
  };
  return {decide, follow};
}

Schedule late_schedule(int rank_count, Rank late, const LateRule& rule, int reduced) {
  return algorithms::all_reduce_late_segmented(rank_count, late,
                                               {rule.segments, reduced, rule.chunks_per_owner});
}

/// A communicator and what is remembered about its calls.
struct CommunicatorCore {
  CommunicatorCore(std::shared_ptr<Session> session, std::vector<Rank> members,
                   const CommunicatorOptions& options, Chooser chooser, const std::function<void()>& check)
      : communicator(std::move(session), std::move(members), options, check),
        desk(&communicator, std::move(chooser)) {}

  /// An operation in the background may need the GIL to come to its end, so whoever has it lets go of it.
  static void destroy(const CommunicatorCore* core) {
    const GilReleased release;
    delete core;
  }

  Communicator communicator;
  CallDesk desk;
};

/// What Python holds. Threads that are in a call keep the core, so that closing takes nothing away from under them. All
/// of it is guarded by the GIL.
class PyCommunicator {
 public:
  PyCommunicator(std::shared_ptr<Session> session, const std::vector<int>& members,
                 const CommunicatorOptions& options, PyDecide decide, PyFollow follow,
                 const PyCommunicator* parent) {
    const std::vector<Rank> ranks(members.begin(), members.end());
    Chooser chooser = chooser_of(std::move(decide), std::move(follow));
    const std::shared_ptr<CommunicatorCore> above = parent != nullptr ? parent->core() : nullptr;
    const auto check = [&] {
      raise_signals();
      if (above) above->communicator.expect(ranks);
    };
    CommunicatorCore* core = nullptr;
    {
      GilReleased release;
      core = new CommunicatorCore(std::move(session), ranks, options, std::move(chooser), check);
    }
    core_ = {core, &CommunicatorCore::destroy};
  }
  ~PyCommunicator() { close(); }

  /// Ends the calls of other threads, and waits until they have left; a call of this thread, in which a signal handler
  /// has closed the communicator, ends when the handler returns.
  void close() {
    const std::shared_ptr<CommunicatorCore> core = std::move(core_);
    if (!core) return;
    if (!home_.is_here()) {
      new std::shared_ptr<CommunicatorCore>(core);  // its threads and its memory are in another process
      return;
    }
    core->communicator.close();
    const Deadline patience(kLongestLeave_s);
    while (others_are_inside() && !patience.passed()) {
      const GilReleased release;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  /// Where another thread has closed it, or this is a forked child, there is nobody to tell.
  void abort(const std::string& reason) {
    const std::shared_ptr<CommunicatorCore> core = core_;
    if (core && home_.is_here()) {
      {
        const GilReleased release;
        core->communicator.abort(reason);
      }
      aborted_ = core->communicator.ending_text();
    }
    close();
  }

  /// Throws in a forked child.
  void check_process() const { home_.check(); }

  std::shared_ptr<CommunicatorCore> core() const {
    home_.check();
    if (!core_ && !aborted_.empty()) throw LostRankError(aborted_ + "; it can no longer be used");
    if (!core_) throw ArgumentError("this communicator is closed");
    return core_;
  }

  void run(const PyCall& from) {
    const Visit visit(this, Purpose::take_part);
    const CallArguments arguments(from);
    const GilReleased release;
    visit->communicator.run(visit->desk.prepare(arguments.call(), interrupted()), interrupted());
  }

  std::shared_ptr<PendingOperation> start(const PyCall& from) {
    const Visit visit(this, Purpose::take_part);
    const std::shared_ptr<const CallArguments> arguments(new CallArguments(from), [](const CallArguments* a) {
      GilHeld gil;
      delete a;
    });
    const GilReleased release;
    PreparedCall call = visit->desk.prepare(arguments->call(), interrupted());
    call.keep_alive = arguments;
    const std::string wrong = call.complaint;
    const auto pending = visit->communicator.start(std::move(call));
    if (!wrong.empty()) throw ArgumentError(wrong);  // the others learn of it in the operation's turn
    return pending;
  }

  /// Sends or receives a message; returns whose it was.
  int run_message(const PyMessage& from) {
    const Visit visit(this, Purpose::take_part);
    const auto request = request_of(from, visit->communicator);
    const GilReleased release;
    visit->communicator.messages().run(request, visit->communicator.until_closed(interrupted()));
    return request->source;
  }

  PendingMessage start_message(const PyMessage& from) {
    const Visit visit(this, Purpose::take_part);
    const auto request = request_of(from, visit->communicator);
    const GilReleased release;
    visit->communicator.messages().post(request);
    return {std::shared_ptr<Communicator>(core_, &core_->communicator), request};
  }

  nb::bytes recipe(std::string_view kind, std::int64_t byte_count, int root) {
    const CollectiveKind collective = kind_from_name(kind);
    const Visit visit(this, Purpose::take_part);
    Bytes words;
    {
      const GilReleased release;
      words = visit->desk.recipe(collective, byte_count, Rank{root}, interrupted());
    }
    return to_python(words);
  }

  /// An operation in the background may need the GIL to get done, so whoever waits for its end lets go of it.
  template <typename Ask>
  auto between_operations(Ask ask) {
    const Visit visit(this, Purpose::look);
    const GilReleased release;
    return ask(visit->communicator);
  }

  /// Pairs of int64, per operation and rank: when it came, and its own time before; -1: there was none.
  nb::bytes arrivals() {
    static_assert(sizeof(Arrival) == 2 * sizeof(std::int64_t));
    const auto rows = between_operations([](Communicator& c) { return c.arrivals(interrupted()); });
    return nb::bytes(rows.data(), rows.size() * sizeof(Arrival));
  }

  std::vector<std::pair<std::string, std::int64_t>> operations() {
    std::vector<std::pair<std::string, std::int64_t>> told;
    for (const OperationSize& size :
         between_operations([](Communicator& c) { return c.operations(interrupted()); }))
      told.emplace_back(name_of(size.kind), size.bytes);
    return told;
  }

  /// Per rank: what was reached on the way to it, and on the way from it.
  std::vector<std::pair<float, float>> pair_shares() {
    std::vector<std::pair<float, float>> told;
    for (const auto& [to, from] :
         between_operations([](Communicator& c) { return c.pair_shares(interrupted()); }))
      told.emplace_back(to, from);
    return told;
  }

  /// Bytes per rank: sent to it, and received from it.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> payloads() {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> told;
    for (const auto& [sent, received] :
         between_operations([](Communicator& c) { return c.payloads(interrupted()); }))
      told.emplace_back(sent, received);
    return told;
  }

  /// By name: of values to be added, and of those to be copied.
  using CountByFormat = std::map<std::string, std::uint64_t>;
  std::pair<CountByFormat, CountByFormat> sent_forms() {
    const SentForms sent = between_operations([](Communicator& c) { return c.sent_forms(interrupted()); });
    const auto named = [](const SentForms::ByFormat& counts) {
      CountByFormat told;
      for (const codec::Format format : codec::kFormats)
        told.emplace(codec::name_of(format), counts[static_cast<std::size_t>(format)]);
      return told;
    };
    return {named(sent.added), named(sent.copied)};
  }

  Communicator::Health health() {
    return between_operations([](Communicator& c) { return c.health(interrupted()); });
  }

  bool expects_late_rank(std::int64_t bytes) {
    const Visit visit(this, Purpose::look);
    GilReleased release;
    return visit->desk.expects_late_rank(bytes, interrupted());
  }

  /// By rank; this one's own is empty.
  std::vector<std::string> carriers() const {
    const Communicator& communicator = core()->communicator;
    std::vector<std::string> told;
    for (Rank peer : indices<Rank>(communicator.rank_count()))
      told.push_back(peer == communicator.rank() ? "" : communicator.carrier(peer));
    return told;
  }

  RankFactors slow_in_force() const { return factors_of(core()->communicator.ports_in_force().slow); }
  bool watch_ports(const std::vector<int>& port, const std::vector<double>& healthy) {
    const Visit visit(this, Purpose::take_part);
    RankPorts ports;
    for (int rank : port) ports.port.emplace_back(rank);
    for (double bandwidth : healthy) ports.healthy.push_back(1e-9 * bandwidth);
    const GilReleased release;
    return visit->communicator.watch_ports(std::move(ports), interrupted());
  }
  void slow_down(const RankFactors& slow, const SlowLinks& links) const {
    core()->communicator.slow_down(conditions_of({}, slow).slow, links);
  }

 private:
  /// How long closing waits for other threads; whatever happens to them later happens in the core that they keep.
  static constexpr double kLongestLeave_s = 5;

  enum class Purpose : std::uint8_t {
    take_part,  ///< in something that all ranks do in the same order
    look,       ///< at what this rank knows
  };

  /// One thread's call, from its first moment to its last, both of which have the GIL.
  class Visit {
   public:
    Visit(PyCommunicator* host, Purpose purpose) : core_(host->core()), host_(host) {
      if (purpose == Purpose::take_part && std::ranges::find(host->inside_, self()) != host->inside_.end())
        throw ArgumentError(
            "this thread is in a call of this communicator already, which a signal handler has interrupted; "
            "a "
            "collective from in there could not be told its place among the calls of the other ranks. Take a "
            "note in the handler, and call when that call has returned");
      host->inside_.push_back(self());
    }
    ~Visit() { host_->inside_.erase(std::ranges::find(host_->inside_, self())); }
    Visit(const Visit&) = delete;

    CommunicatorCore* operator->() const { return core_.get(); }

   private:
    static std::thread::id self() { return std::this_thread::get_id(); }

    std::shared_ptr<CommunicatorCore> core_;
    PyCommunicator* host_;
  };

  bool others_are_inside() const {
    return std::ranges::any_of(inside_,
                               [](std::thread::id thread) { return thread != std::this_thread::get_id(); });
  }
  static const std::function<void()>& interrupted() {
    static const std::function<void()> raise = raise_signals;
    return raise;
  }

  HomeProcess home_;
  std::shared_ptr<CommunicatorCore> core_;  ///< null: closed
  std::string aborted_;                     ///< what its calls say since; empty: it was not
  std::vector<std::thread::id> inside_;
};

/// Waits with the GIL released, looking for signals now and then. Returns false after `timeout_s`.
bool wait_for(PendingOperation& pending, std::optional<double> timeout_s) {
  constexpr double kGlance_s = 0.05;
  double left = timeout_s.value_or(std::numeric_limits<double>::infinity());
  GilReleased release;
  for (; left > 0; left -= kGlance_s) {
    if (pending.wait_for(std::min(left, kGlance_s))) return true;
    raise_signals();
  }
  return pending.wait_for(0);
}

void bind_options(nb::module_& m) {
  nb::class_<CommunicatorOptions>(m, "CommunicatorOptions",
                                  "What hemiola.init was asked for; groups inherit it.")
      .def(
          "__init__",
          [](CommunicatorOptions* options, double timeout_s, bool keep_inputs, const std::string& wires,
             const std::vector<std::string>& ucx_libraries, const std::string& control,
             const Topology* emulate, const RankSeconds& late, const RankFactors& slow) {
            // The clock of an emulated network waits for every rank that a message has reached to react to it.
            new (options) CommunicatorOptions{.timeout_s = timeout_s,
                                              .keep_inputs = keep_inputs,
                                              .wire = nullptr,
                                              .wires = wires,
                                              .ucx_libraries = ucx_libraries,
                                              .has_messages = emulate == nullptr,
                                              .control = control_kind(control)};
            if (emulate != nullptr)
              options->wire = std::make_shared<EmulatedKind>(std::make_shared<ShmKind>(control == "hosts"),
                                                             *emulate, conditions_of(late, slow));
          },
          nb::kw_only(), "timeout_s"_a, "keep_inputs"_a, "wires"_a, "ucx_libraries"_a, "control"_a,
          "emulate"_a.none(), "late"_a, "slow"_a)
      .def_ro("timeout_s", &CommunicatorOptions::timeout_s);
}

/// `run` or `start` as Python calls it.
template <typename Result>
auto taking_call(Result (PyCommunicator::*method)(const PyCall&)) {
  return
      [method](PyCommunicator& communicator, std::string_view kind, nb::handle input, nb::handle output,
               nb::handle op, nb::handle root, nb::handle schedule, nb::handle timeout_s, nb::handle sparse) {
        return (communicator.*method)({kind, input, output, op, root, schedule, timeout_s, sparse});
      };
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
      .def_prop_ro("slow", [](const Communicator::Health& h) { return h.ports.slow; })
      .def_prop_ro("changes", [](const Communicator::Health& h) { return h.ports.changes; });
}

void bind_communicator(nb::module_& m) {
  nb::class_<PyCommunicator>(m, "Communicator", "The core of hemiola.Communicator.")
      .def(nb::init<std::shared_ptr<Session>, const std::vector<int>&, const CommunicatorOptions&, PyDecide,
                    PyFollow, const PyCommunicator*>(),
           "session"_a, "members"_a, "options"_a, "decide"_a, "follow"_a, "parent"_a.none())
      .def_prop_ro("rank",
                   [](const PyCommunicator& c) { return static_cast<int>(c.core()->communicator.rank()); })
      .def_prop_ro("rank_count", [](const PyCommunicator& c) { return c.core()->communicator.rank_count(); })
      .def("run", taking_call(&PyCommunicator::run), "kind"_a, "input"_a.none(), "output"_a.none(), "op"_a,
           "root"_a, "schedule"_a.none(), "timeout_s"_a.none(), "sparse"_a = nb::none())
      .def("start", taking_call(&PyCommunicator::start), "kind"_a, "input"_a.none(), "output"_a.none(),
           "op"_a, "root"_a, "schedule"_a.none(), "timeout_s"_a.none(), "sparse"_a = nb::none())
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
      .def("slow_in_force", &PyCommunicator::slow_in_force)
      .def("watch_ports", &PyCommunicator::watch_ports, "port"_a, "healthy"_a)
      .def("expects_late_rank", &PyCommunicator::expects_late_rank, "bytes"_a)
      .def("slow_down", &PyCommunicator::slow_down, "slow"_a, "links"_a)
      .def("arrivals_ns", &PyCommunicator::arrivals)
      .def("operations", &PyCommunicator::operations)
      .def("pair_shares", &PyCommunicator::pair_shares)
      .def("payloads", &PyCommunicator::payloads)
      .def("sent_forms", &PyCommunicator::sent_forms)
      .def("carriers", &PyCommunicator::carriers)
      .def("check_open", [](const PyCommunicator& c) { c.core(); })
      .def("check_process", &PyCommunicator::check_process)
      .def("close", &PyCommunicator::close)
      .def("abort", &PyCommunicator::abort, "reason"_a);
}

}  // namespace

void bind_runtime(nb::module_& m) {
  nb::class_<PendingOperation>(m, "PendingOperation", "An operation that runs in the background.")
      .def("wait", &wait_for, "timeout_s"_a = nb::none())
      .def("done", &PendingOperation::is_done)
      .def_prop_ro(
          "times_ns", &PendingOperation::times_ns,
          "When its turn came and when it was over, by time.monotonic_ns; 0 where that is still to come.");

  nb::class_<LateForecast>(m, "LateForecast",
                           "What an all-reduce is predicted to take from the last rank's arrival on.")
      .def(
          "__init__",
          [](LateForecast* forecast, double plain_s, double segment_s, std::vector<double> finish_s) {
            new (forecast) LateForecast{plain_s, segment_s, std::move(finish_s)};
          },
          nb::kw_only(), "plain_s"_a, "segment_s"_a, "finish_s"_a)
      .def_ro("plain_s", &LateForecast::plain_s)
      .def_ro("segment_s", &LateForecast::segment_s)
      .def_ro("finish_s", &LateForecast::finish_s);
  nb::class_<LateRule>(m, "LateRule", "How an all-reduce finds its late rank; passed in place of a schedule.")
      .def(
          "__init__",
          [](LateRule* rule, nb::handle_t<Schedule> plain, int segments, int chunks_per_owner,
             std::optional<LateForecast> forecast) {
            new (rule) LateRule{share(plain), &late_schedule, segments, chunks_per_owner, nullptr};
            if (forecast) rule->forecast = std::make_shared<const LateForecast>(std::move(*forecast));
            rule->check();
          },
          "plain"_a, nb::kw_only(), "segments"_a, "chunks_per_owner"_a, "forecast"_a = nb::none())
      .def_ro("segments", &LateRule::segments)
      .def_ro("chunks_per_owner", &LateRule::chunks_per_owner)
      .def_prop_ro(
          "forecast", [](const LateRule& rule) { return rule.forecast.get(); },
          nb::rv_policy::reference_internal);

  nb::class_<SparsePlan>(
      m, "SparsePlan",
      "A schedule, when its messages leave zeros out, and where a late rank may pay how it is "
      "found; passed in place of a schedule.")
      .def(
          "__init__",
          [](SparsePlan* plan, const Made& chosen, double coded_below,
             const std::optional<Made>& without_fill_in, double without_fill_in_below, const Made& exchange,
             int pause, std::pair<CostWords, CostWords> costs, const std::optional<LateRule>& late) {
            new (plan) SparsePlan{source_of(chosen),
                                  {coded_below,
                                   without_fill_in ? source_of(*without_fill_in) : ProgramSource(),
                                   without_fill_in_below,
                                   source_of(exchange),
                                   pause,
                                   {costs_of(costs.first), costs_of(costs.second)}},
                                  late};
            plan->rule.check();
          },
          "chosen"_a, nb::kw_only(), "coded_below"_a, "without_fill_in"_a = nb::none(),
          "without_fill_in_below"_a = 0, "exchange"_a, "pause"_a, "costs"_a, "late"_a = nb::none());

  nb::class_<Complaint>(
      m, "Complaint",
      "What is wrong with an argument; passed in its place, so that the other ranks learn of it.")
      .def(nb::init<std::string>(), "text"_a)
      .def_ro("text", &Complaint::text);
  m.def("wire_names", &wire_names, "The kinds of wire that HEMIOLA_WIRE may ask for.");
  bind_messages(m);
  bind_options(m);
  bind_health(m);
  bind_communicator(m);
}

void bind_premul_sum(nb::module_& m) {
  nb::class_<PremulSum>(m, "PremulSum",
                        R"(A sum in which each rank multiplies its own elements first; passed as `op`.

Parameters
----------
factor : float. What this rank multiplies by; each rank's own, so that sums can be weighted.

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
)")
      .def(nb::init<double>(), "factor"_a)
      .def_ro("factor", &PremulSum::factor, "What this rank multiplies by.")
      .def("__repr__",
           [](const PremulSum& op) {
             return "PremulSum(" + nb::cast<std::string>(nb::repr(nb::float_(op.factor))) + ")";
           })
      .def("__eq__",
           [](const PremulSum& a, nb::handle b) {
             return nb::isinstance<PremulSum>(b) && nb::cast<const PremulSum&>(b).factor == a.factor;
           })
      .def("__hash__", [](const PremulSum& op) { return nb::hash(nb::float_(op.factor)); });
}

}  // namespace hemiola::bindings
