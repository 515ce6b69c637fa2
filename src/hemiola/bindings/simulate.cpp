// SPDX-License-Identifier: Apache-2.0
#include "hemiola/simulate/simulate.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <chrono>
#include <memory>

#include "hemiola/bindings/bindings.hpp"
#include "hemiola/bindings/conditions.hpp"
#include "hemiola/bindings/gil.hpp"
#include "hemiola/bindings/long_call.hpp"
#include "hemiola/schedule/file/schedule_file.hpp"
#include "hemiola/simulate/busiest_link.hpp"
#include "hemiola/simulate/exchange_estimate.hpp"
#include "hemiola/simulate/step_estimate.hpp"
#include "hemiola/simulate/streamed.hpp"
#include "hemiola/simulate/trace.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace hemiola::bindings {
namespace {

/// A new NumPy array that owns its memory.
template <typename T>
nb::ndarray<nb::numpy, T, nb::ndim<1>> owned_array(std::unique_ptr<T[]> values, std::size_t count) {
  T* data = values.release();
  return {data, {count}, nb::capsule(data, [](void* p) noexcept { delete[] static_cast<T*>(p); })};
}

auto seconds_array(const std::vector<Picoseconds>& times) {
  auto values = std::make_unique<double[]>(times.size());
  for (std::size_t i = 0; i < times.size(); ++i)
    values[i] =
        times[i] == Timeline::kNever ? std::numeric_limits<double>::quiet_NaN() : to_seconds(times[i]);
  return owned_array(std::move(values), times.size());
}

/// One row of Timeline.spans, as NumPy lays it out.
struct [[gnu::packed]] SpanRow {
  std::int64_t transfer;
  std::int32_t link;
  double start_s, end_s, arrival_s;
};

nb::object spans_array(const Timeline& timeline) {
  const std::size_t count = timeline.spans.size();
  auto bytes = std::make_unique<std::uint8_t[]>(count * sizeof(SpanRow));
  auto* rows = reinterpret_cast<SpanRow*>(bytes.get());
  for (std::size_t i = 0; i < count; ++i) {
    const Span& s = timeline.spans[i];
    rows[i] = {s.transfer, s.link, to_seconds(s.start), to_seconds(s.end), to_seconds(s.arrival)};
  }
  return nb::cast(owned_array(std::move(bytes), count * sizeof(SpanRow)))
      .attr("view")(nb::module_::import_("hemiola.simulate").attr("SPAN_DTYPE"));
}

/// Calls a Python function at most ten times a second; then lets Ctrl-C through, too.
class PythonProgress {
 public:
  explicit PythonProgress(nb::object call) : call_(std::move(call)) {}

  void operator()(std::int64_t landed, std::int64_t total) {
    const auto now = std::chrono::steady_clock::now();
    if (now - last_ < std::chrono::milliseconds(100)) return;
    last_ = now;
    GilHeld gil;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    if (!call_.is_none()) call_(landed, total);
  }

 private:
  nb::object call_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

Timeline simulate_with_conditions(const Schedule& schedule, const Topology& topology, std::int64_t nbytes,
                                  const RankSeconds& late, const RankFactors& slow, double density,
                                  const std::tuple<double, double, double, double, double>& codecs,
                                  const std::string& network, double noise, std::uint64_t seed,
                                  bool keep_spans, nb::object progress) {
  PythonProgress report(std::move(progress));
  const auto [compress_Bps, decompress_Bps, add_Bps, position_compress_s, position_decompress_s] = codecs;
  const CodecSpeeds speeds{compress_Bps, decompress_Bps, add_Bps, position_compress_s, position_decompress_s};
  const SimulateOptions options{
      link_sharing_from_name(network), keep_spans, noise, seed, speeds, std::ref(report)};
  const Conditions conditions = conditions_of(late, slow, density);
  const LongCall call;
  return simulate(schedule, topology, nbytes, conditions, options);
}

Timeline simulate_file(const ScheduleFile& file, const Topology& topology, std::int64_t nbytes,
                       const RankSeconds& late, const RankFactors& slow, nb::object progress) {
  PythonProgress report(std::move(progress));
  const Conditions conditions = conditions_of(late, slow);
  const LongCall call;
  return simulate_streamed(file, file.chunk_weights(), topology, nbytes, conditions, std::ref(report));
}

double busiest_link_s(const Schedule& schedule, const Topology& topology, std::int64_t nbytes,
                      const RankFactors& slow) {
  const Conditions conditions = conditions_of({}, slow);
  const LongCall call;
  return to_seconds(busiest_link(schedule, topology, nbytes, conditions));
}

constexpr const char* kBusiestLinkDoc =
    R"(Return the time that the busiest link needs for all bytes that a schedule sends over it; no simulation ends
    before.

Parameters
----------
schedule : Schedule for as many ranks as the topology has.
topology : Topology that connects every two ranks that exchange a chunk.
nbytes : int >= 0, one rank's buffer in bytes.
slow : mapping of rank to factor >= 1.

Returns
-------
float, seconds.

Raises
------
ArgumentError
    as hemiola.simulate.

Notes
-----
O(1) per transfer, and per pair of ranks and link between them.)";

std::tuple<double, double> estimate_by_steps_s(const Schedule& schedule, const Topology& topology,
                                               std::int64_t nbytes, const RankSeconds& late,
                                               const RankFactors& slow) {
  const Conditions conditions = conditions_of(late, slow);
  const LongCall call;
  const StepEstimate found = estimate_by_steps(schedule, topology, nbytes, conditions);
  return {to_seconds(found.duration), found.work};
}

constexpr const char* kEstimateDoc =
    R"(Return about the time of a schedule, and the cost of simulating it.

Parameters
----------
schedule : Schedule for as many ranks as the topology has.
topology : Topology that connects every two ranks that exchange a chunk.
nbytes : int >= 0, one rank's buffer in bytes.
late : mapping of rank to seconds.
slow : mapping of rank to factor >= 1.

Returns
-------
(float, float): seconds, the least of these: if every step waited for the one before, for its busiest link and its
longest latency; if each transfer had its way for itself, in the schedule's order; and, where nobody is late and no
transfer waits for an earlier one, if links served one step after the other. And the cost of a fluid simulation, in
transfers that have links for themselves.

Raises
------
ArgumentError
    as hemiola.simulate.

Notes
-----
O(links on its way) per transfer.)";

std::tuple<double, double> estimate_exchange_s(const Topology& topology, std::int64_t nbytes,
                                               const RankSeconds& late, const RankFactors& slow) {
  const Conditions conditions = conditions_of(late, slow);
  const LongCall call;
  const StepEstimate found = estimate_exchange(topology, nbytes, conditions);
  return {to_seconds(found.duration), found.work};
}

constexpr const char* kExchangeDoc =
    R"(Return about the time of a direct all-to-all, and the cost of simulating it, without its schedule.

Parameters
----------
topology : Topology that connects all ranks.
nbytes : int >= 0, one rank's buffer in bytes.
late : mapping of rank to seconds.
slow : mapping of rank to factor >= 1.

Returns
-------
(float, float): seconds, of the busiest link and the longest latency; and the cost of a fluid simulation, in transfers
that have links for themselves.

Raises
------
ArgumentError
    as hemiola.simulate.

Notes
-----
O(1) per pair of ranks and link between them.)";

}  // namespace

void bind_simulate(nb::module_& m) {
  nb::class_<Timeline>(m, "Timeline", "The result of the core's simulation; see hemiola.Timeline.")
      .def_prop_ro("seconds", [](const Timeline& t) { return to_seconds(t.duration); })
      .def_prop_ro(
          "finish_s", [](const Timeline& t) { return seconds_array(t.finish); }, nb::rv_policy::move)
      .def_prop_ro(
          "link_busy_s", [](const Timeline& t) { return seconds_array(t.link_busy); }, nb::rv_policy::move)
      .def_prop_ro(
          "landed_s", [](const Timeline& t) { return seconds_array(t.landed); }, nb::rv_policy::move)
      .def_prop_ro("spans", &spans_array);
  m.def("simulate", &simulate_with_conditions, "schedule"_a, "topology"_a, "nbytes"_a, nb::kw_only(),
        "late"_a, "slow"_a, "density"_a, "codecs"_a, "network"_a, "noise"_a, "seed"_a, "keep_spans"_a,
        "progress"_a.none(), "See hemiola.simulate.");
  m.def("simulate_file", &simulate_file, "file"_a, "topology"_a, "nbytes"_a, nb::kw_only(), "late"_a,
        "slow"_a, "progress"_a.none(), "See hemiola.simulate.");
  m.def("busiest_link_s", &busiest_link_s, "schedule"_a, "topology"_a, "nbytes"_a, "slow"_a, kBusiestLinkDoc);
  m.def("estimate_by_steps_s", &estimate_by_steps_s, "schedule"_a, "topology"_a, "nbytes"_a, "late"_a,
        "slow"_a, kEstimateDoc);
  m.def("estimate_exchange_s", &estimate_exchange_s, "topology"_a, "nbytes"_a, "late"_a, "slow"_a,
        kExchangeDoc);
  m.def(
      "write_trace",
      [](const Schedule& schedule, const Topology& topology, std::int64_t nbytes, const Timeline& timeline,
         const std::filesystem::path& path) {
        const LongCall call;
        FileSink sink(path, "trace");
        write_trace(schedule, topology, nbytes, timeline, &sink);
        sink.finish();
      },
      "schedule"_a, "topology"_a, "nbytes"_a, "timeline"_a, "path"_a, "See hemiola.Timeline.save_trace.");
}

}  // namespace hemiola::bindings
