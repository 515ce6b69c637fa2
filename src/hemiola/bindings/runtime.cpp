#include <nanobind/stl/function.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>

#include "hemiola/algorithms/late.hpp"
#include "hemiola/base/error.hpp"
#include "hemiola/bindings/array_argument.hpp"
#include "hemiola/bindings/bindings.hpp"
#include "hemiola/bindings/conditions.hpp"
#include "hemiola/runtime/communicator/call_desk.hpp"
#include "hemiola/runtime/communicator/communicator.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace hemiola::bindings {
namespace {

/// Lets the user interrupt a blocking call. Signals are handled in the main thread only; elsewhere this does nothing.
void raise_signals() {
  nb::gil_scoped_acquire gil;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

/// A schedule of Python's, whole or in parts, kept alive by a reference to its Python object.
template <typename Made = Schedule>
std::shared_ptr<const Made> share(nb::handle object) {
  const Made* made = nb::cast<const Made*>(object);
  auto* owner = new nb::object(nb::borrow(object));
  return {made, [owner](const Made*) {
            nb::gil_scoped_acquire gil;
            delete owner;
          }};
}

/// (kind, bytes, root, slow) -> Schedule, ScheduleParts or LateRule, in Python.
using PyChooser = nb::typed<nb::callable, nb::object(std::string, std::int64_t, int, RankFactors)>;

RankFactors factors_of(const std::map<Rank, double>& slow) {
  RankFactors factors;
  for (const auto& [rank, factor] : slow) factors[rank] = factor;
  return factors;
}

Choice choice_of(nb::handle object) {
  if (nb::isinstance<ScheduleParts>(object)) return {share<ScheduleParts>(object), std::nullopt};
  if (!nb::isinstance<LateRule>(object)) return {share(object), std::nullopt};
  LateRule rule = nb::cast<LateRule>(object);
  return {rule.plain, std::move(rule)};
}

CallDesk::Chooser chooser_of(PyChooser choose) {
  return [choose = std::move(choose)](CollectiveKind kind, std::int64_t byte_count, Rank root,
                                      const std::map<Rank, double>& slow) {
    try {
      return choice_of(choose(nb::cast(name_of(kind)), byte_count, static_cast<int>(root), factors_of(slow)));
    } catch (nb::python_error& e) {
      if (e.matches(PyExc_KeyboardInterrupt)) throw;
      throw ArgumentError(std::string("no schedule could be chosen: ") + e.what());
    }
  };
}

OperationKind operation_named(std::string_view name) {
  return name == "barrier" ? OperationKind::barrier : operation_of(kind_from_name(name));
}

std::string unknown_op(const std::string& op) {
  std::string known;
  for (std::string_view name : kOpNames) known += (known.empty() ? "" : ", ") + std::string(name);
  return "expected an op of " + known + ", found '" + op.substr(0, 60) + "'";
}

/// The arrays of a call, and the call that views them.
struct CallArguments {
  ArrayArgument input, output;
  Call call;
};

Schedule late_schedule(int rank_count, Rank late, const LateRule& rule, int reduced) {
  return algorithms::all_reduce_late_segmented(rank_count, late,
                                               {rule.segments, reduced, rule.chunks_per_owner});
}

/// A communicator and what is remembered about its calls.
class PyCommunicator {
 public:
  PyCommunicator(std::shared_ptr<LocalSession> session, const std::vector<int>& members, double timeout_s,
                 bool keep_inputs, bool arbiter, const Topology* emulate, const RankSeconds& late,
                 const RankFactors& slow, PyChooser choose) {
    CommunicatorOptions options{timeout_s, keep_inputs, arbiter, nullptr};
    if (emulate != nullptr)
      options.emulation = std::make_shared<const Emulation>(Emulation{*emulate, conditions_of(late, slow)});
    std::vector<Rank> ranks(members.begin(), members.end());
    {
      nb::gil_scoped_release release;
      core_ = std::make_unique<Communicator>(std::move(session), std::move(ranks), options);
    }
    desk_ = std::make_unique<CallDesk>(core_.get(), chooser_of(std::move(choose)));
    core_->when_outdated([this](Operation* operation) {
      nb::gil_scoped_acquire gil;  // which also keeps other threads from the desk
      desk_->renew(operation);
    });
  }
  ~PyCommunicator() { close(); }

  /// Aborts what runs in the background.
  void close() {
    nb::gil_scoped_release release;
    core_.reset();
  }

  Communicator& core() const {
    if (!core_) throw ArgumentError("this communicator is closed");
    return *core_;
  }

  void run(std::string_view kind, nb::handle input, nb::handle output, const std::string& op,
           std::int64_t root, nb::handle schedule, double timeout_s, const std::string& complaint) {
    CallArguments arguments;
    fill(kind, input, output, op, root, schedule, timeout_s, complaint, &arguments);
    const Operation operation = desk().prepare(arguments.call);
    static const std::function<void()> interrupted = raise_signals;
    nb::gil_scoped_release release;
    core_->run(operation, interrupted);
  }

  std::shared_ptr<PendingOperation> start(std::string_view kind, nb::handle input, nb::handle output,
                                          const std::string& op, std::int64_t root, nb::handle schedule,
                                          double timeout_s, const std::string& complaint) {
    auto* arguments = new CallArguments;
    const std::shared_ptr<CallArguments> owned(arguments, [](CallArguments* a) {
      nb::gil_scoped_acquire gil;
      delete a;
    });
    fill(kind, input, output, op, root, schedule, timeout_s, complaint, arguments);
    Operation operation = desk().prepare(arguments->call);
    operation.keep_alive = owned;
    const std::string wrong = operation.complaint;
    const auto pending = core_->start(std::move(operation));
    if (!wrong.empty()) throw ArgumentError(wrong);  // the others learn of it in the operation's turn
    return pending;
  }

  /// An operation in the background may need the GIL to get done, so whoever waits for its end lets go of it.
  nb::object arrivals() const {
    Communicator& communicator = core();
    std::vector<std::int64_t> times;
    {
      nb::gil_scoped_release release;
      times = communicator.arrival_times_ns();
    }
    return nb::cast(times);
  }

  Communicator::Health health() const {
    Communicator& communicator = core();
    nb::gil_scoped_release release;
    return communicator.health();
  }

  bool expects_late_rank(std::int64_t bytes) const {
    Communicator& communicator = core();
    nb::gil_scoped_release release;
    return communicator.expects_late_rank(bytes);
  }

  RankFactors slow_in_force() const { return factors_of(core().ports_in_force().slow); }
  void slow_down(const RankFactors& slow) const { core().slow_down(conditions_of({}, slow).slow); }

 private:
  CallDesk& desk() {
    core();
    return *desk_;
  }

  static void fill(std::string_view kind, nb::handle input, nb::handle output, const std::string& op,
                   std::int64_t root, nb::handle schedule, double timeout_s, const std::string& complaint,
                   CallArguments* to) {
    Call& call = to->call;
    call.kind = operation_named(kind);
    call.root = root;
    call.timeout_s = timeout_s;
    call.complaint = complaint;
    if (const auto known = op_named(op))
      call.op = *known;
    else if (call.complaint.empty())
      call.complaint = unknown_op(op);
    take(input, &to->input, &call.input, &call.complaint);
    take(output, &to->output, &call.output, &call.complaint);
    if (nb::isinstance<LateRule>(schedule)) {
      call.late = nb::cast<LateRule>(schedule);
      call.schedule = call.late->plain;
    } else if (!schedule.is_none()) {
      call.schedule = share(schedule);
    }
  }

  static void take(nb::handle object, ArrayArgument* argument, std::optional<ArrayView>* view,
                   std::string* complaint) {
    if (object.is_none()) return;
    const std::string wrong = argument->take(object);
    if (wrong.empty())
      *view = argument->view();
    else if (complaint->empty())
      *complaint = wrong;
  }

  std::unique_ptr<Communicator> core_;
  std::unique_ptr<CallDesk> desk_;
};

/// Waits with the GIL released, looking for signals now and then. Returns false after `timeout_s`.
bool wait_for(PendingOperation& pending, std::optional<double> timeout_s) {
  constexpr double kGlance_s = 0.05;
  double left = timeout_s.value_or(std::numeric_limits<double>::infinity());
  nb::gil_scoped_release release;
  for (; left > 0; left -= kGlance_s) {
    if (pending.wait_for(std::min(left, kGlance_s))) return true;
    raise_signals();
  }
  return pending.wait_for(0);
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

}  // namespace

void bind_runtime(nb::module_& m) {
  nb::class_<LocalSession>(m, "LocalSession", "The ranks of one machine that have found each other.")
      .def_static(
          "join",
          [](int rank, int rank_count, std::string name, double timeout_s) {
            nb::gil_scoped_release release;
            return LocalSession::join({Rank{rank}, rank_count, std::move(name), timeout_s});
          },
          "rank"_a, "rank_count"_a, "name"_a, "timeout_s"_a = 60.0)
      .def_prop_ro("rank", [](const LocalSession& s) { return static_cast<int>(s.rank()); })
      .def_prop_ro("rank_count", &LocalSession::rank_count);

  nb::class_<PendingOperation>(m, "PendingOperation", "An operation that runs in the background.")
      .def("wait", &wait_for, "timeout_s"_a = nb::none())
      .def("done", &PendingOperation::is_done);

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

  bind_health(m);
  nb::class_<PyCommunicator>(m, "Communicator", "The core of hemiola.Communicator.")
      .def(nb::init<std::shared_ptr<LocalSession>, const std::vector<int>&, double, bool, bool,
                    const Topology*, const RankSeconds&, const RankFactors&, PyChooser>(),
           "session"_a, "members"_a, "timeout_s"_a, "keep_inputs"_a, "arbiter"_a, "emulate"_a.none(),
           "late"_a, "slow"_a, "choose"_a)
      .def_prop_ro("rank", [](const PyCommunicator& c) { return static_cast<int>(c.core().rank()); })
      .def_prop_ro("rank_count", [](const PyCommunicator& c) { return c.core().rank_count(); })
      .def("run", &PyCommunicator::run, "kind"_a, "input"_a.none(), "output"_a.none(), "op"_a, "root"_a,
           "schedule"_a.none(), "timeout_s"_a, "complaint"_a)
      .def("start", &PyCommunicator::start, "kind"_a, "input"_a.none(), "output"_a.none(), "op"_a, "root"_a,
           "schedule"_a.none(), "timeout_s"_a, "complaint"_a)
      .def("health", &PyCommunicator::health)
      .def("slow_in_force", &PyCommunicator::slow_in_force)
      .def("expects_late_rank", &PyCommunicator::expects_late_rank, "bytes"_a)
      .def("slow_down", &PyCommunicator::slow_down, "slow"_a)
      .def("arrival_times_ns", &PyCommunicator::arrivals)
      .def("close", &PyCommunicator::close);
}

}  // namespace hemiola::bindings
