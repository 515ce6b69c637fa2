#include "hemiola/simulate/simulate.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>

#include <chrono>

#include "hemiola/bindings/bindings.hpp"
#include "hemiola/bindings/conditions.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace hemiola::bindings {
namespace {

using Seconds = nb::ndarray<nb::numpy, double, nb::ndim<1>>;

Seconds seconds_array(const std::vector<Picoseconds>& times) {
  auto* values = new double[times.size()];
  for (std::size_t i = 0; i < times.size(); ++i) values[i] = to_seconds(times[i]);
  return Seconds(values, {times.size()},
                 nb::capsule(values, [](void* p) noexcept { delete[] static_cast<double*>(p); }));
}

/// Calls a Python function at most ten times a second; in between, lets Ctrl-C through.
class PythonProgress {
 public:
  explicit PythonProgress(nb::object call) : call_(std::move(call)) {}

  void operator()(std::int64_t landed, std::int64_t total) {
    const auto now = std::chrono::steady_clock::now();
    if (now - last_ < std::chrono::milliseconds(100)) return;
    last_ = now;
    nb::gil_scoped_acquire gil;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    if (!call_.is_none()) call_(landed, total);
  }

 private:
  nb::object call_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace

void bind_simulate(nb::module_& m) {
  nb::class_<Timeline>(m, "Timeline")
      .def_prop_ro("seconds", [](const Timeline& t) { return to_seconds(t.duration); })
      .def_prop_ro(
          "finish_s", [](const Timeline& t) { return seconds_array(t.finish); }, nb::rv_policy::move)
      .def_prop_ro(
          "link_busy_s", [](const Timeline& t) { return seconds_array(t.link_busy); }, nb::rv_policy::move);
  m.def(
      "simulate",
      [](const Schedule& schedule, const Topology& topology, std::int64_t nbytes, const RankSeconds& late,
         const RankFactors& slow, const std::string& network, bool keep_spans, nb::object progress) {
        PythonProgress report(std::move(progress));
        SimulateOptions options{network_from_name(network), keep_spans, std::ref(report)};
        const Conditions conditions = conditions_of(late, slow);
        nb::gil_scoped_release release;
        return simulate(schedule, topology, nbytes, conditions, options);
      },
      "schedule"_a, "topology"_a, "nbytes"_a, "late"_a, "slow"_a, "network"_a, "keep_spans"_a,
      "progress"_a.none());
}

}  // namespace hemiola::bindings
