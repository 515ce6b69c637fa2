#include <nanobind/stl/string.h>

#include <string>

#include "hemiola/base/error.hpp"
#include "hemiola/bindings/bindings.hpp"
#include "hemiola/synthesis/synthesize.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace hemiola::bindings {
namespace {

using synthesis::LatencyModel;
using synthesis::Options;
using synthesis::Synthesis;

LatencyModel latency_from_name(const std::string& name) {
  if (name == "pipelined") return LatencyModel::pipelined;
  if (name == "occupies") return LatencyModel::occupies;
  throw ArgumentError("synthesize: expected latency 'pipelined' or 'occupies', found '" + name.substr(0, 60) +
                      "'");
}

/// Runs the search without the GIL and comes back for it to report and to look for Ctrl-C. What Python raised, a
/// KeyboardInterrupt among it, ends the search; it is raised only where there is no result to return.
class Session {
 public:
  Session(nb::object progress) : progress_(std::move(progress)) {}

  Synthesis run(const Topology& topology, const Collective& collective, Options options) {
    options.report = [this](const synthesis::Progress& progress) { return report(progress); };
    try {
      nb::gil_scoped_release released;
      return synthesis::synthesize(topology, collective, options);
    } catch (const ArgumentError&) {
      if (raised_) std::rethrow_exception(raised_);
      throw;
    }
  }

 private:
  bool report(const synthesis::Progress& progress) {
    nb::gil_scoped_acquire acquired;
    try {
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
      if (!progress_.is_none()) progress_(progress.done, progress.total);
    } catch (nb::python_error& error) {
      if (!error.matches(PyExc_KeyboardInterrupt)) throw;
      raised_ = std::current_exception();
      return false;
    }
    return true;
  }

  nb::object progress_;
  std::exception_ptr raised_;
};

}  // namespace

void bind_synthesis(nb::module_& m) {
  nb::class_<Synthesis>(m, "Synthesis")
      .def_ro("schedule", &Synthesis::schedule)
      .def_prop_ro("seconds", [](const Synthesis& s) { return to_seconds(s.duration); })
      .def_prop_ro("bound_s", [](const Synthesis& s) { return to_seconds(s.bound); })
      .def_ro("trials", &Synthesis::trials)
      .def_ro("stopped", &Synthesis::stopped);
  m.def(
      "synthesize",
      [](const Topology& topology, const Collective& collective, std::int64_t nbytes,
         const std::string& latency, std::uint64_t seed, int trials, int threads, nb::object progress) {
        Options options;
        options.buffer_bytes = nbytes;
        options.latency = latency_from_name(latency);
        options.seed = seed;
        options.trials = trials;
        options.threads = threads;
        return Session(std::move(progress)).run(topology, collective, std::move(options));
      },
      "topology"_a, "collective"_a, nb::kw_only(), "nbytes"_a, "latency"_a, "seed"_a, "trials"_a, "threads"_a,
      "progress"_a.none());
}

}  // namespace hemiola::bindings
