// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <optional>
#include <string>

#include "hemiola/base/error.hpp"
#include "hemiola/bindings/bindings.hpp"
#include "hemiola/bindings/gil.hpp"
#include "hemiola/bindings/long_call.hpp"
#include "hemiola/synthesis/far_first.hpp"
#include "hemiola/synthesis/forest/forest.hpp"
#include "hemiola/synthesis/host_shares.hpp"
#include "hemiola/synthesis/late/late_sources.hpp"
#include "hemiola/synthesis/rank_shares.hpp"
#include "hemiola/synthesis/stream.hpp"
#include "hemiola/synthesis/synthesize.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace hemiola::bindings {
namespace {

using synthesis::LatencyModel;
using synthesis::Options;
using synthesis::Streamed;
using synthesis::Synthesis;

LatencyModel latency_from_name(const std::string& name) {
  if (name == "pipelined") return LatencyModel::pipelined;
  if (name == "occupies") return LatencyModel::occupies;
  throw ArgumentError("synthesize: expected latency 'pipelined' or 'occupies', found '" + name.substr(0, 60) +
                      "'");
}

Options to_options(std::int64_t nbytes, const std::string& latency, std::uint64_t seed, int trials,
                   int threads) {
  Options options;
  options.buffer_bytes = nbytes;
  options.latency = latency_from_name(latency);
  options.seed = seed;
  options.trials = trials;
  options.threads = threads;
  return options;
}

/// Runs the search without the GIL and comes back for it to report and to look for Ctrl-C. An exception in Python, such
/// as a KeyboardInterrupt, ends the search; it is raised only where there is no result to return.
class Session {
 public:
  Session(nb::object progress) : progress_(std::move(progress)) {}

  /// `search` takes the options.
  template <typename Search>
  auto run(Options options, const Search& search) {
    options.report = [this](const synthesis::Progress& progress) { return report(progress); };
    try {
      const LongCall call;
      return search(options);
    } catch (const ArgumentError&) {
      if (raised_) std::rethrow_exception(raised_);
      throw;
    }
  }

 private:
  bool report(const synthesis::Progress& progress) {
    GilHeld acquired;
    try {
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
      LongCall::tell_watcher();
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

/// All-reduces around a late rank, by the source of their trees.
void bind_around(nb::module_& m) {
  nb::class_<synthesis::PackedAround>(m, "PackedAround")
      .def(
          "__init__",
          [](synthesis::PackedAround* self, const Topology& topology, int late_rank, std::int64_t nbytes) {
            new (self) synthesis::PackedAround(topology, Rank{late_rank}, nbytes);
          },
          "topology"_a, "late_rank"_a, nb::kw_only(), "nbytes"_a)
      .def(
          "schedule",
          [](synthesis::PackedAround& packed, int pieces, std::int64_t nbytes) {
            const LongCall call;
            return synthesis::around(packed.topology(), packed.trees(pieces, nbytes), nbytes);
          },
          nb::kw_only(), "pieces"_a, "nbytes"_a);
  m.def(
      "matched_around",
      [](const Topology& topology, int late_rank, int chunks, std::int64_t nbytes) {
        const LongCall call;
        Picoseconds broadcast = 0;
        const auto trees = synthesis::matched_around(topology, Rank{late_rank}, chunks, nbytes, &broadcast);
        return Synthesis{synthesis::around(topology, trees, nbytes), broadcast, 0, 1, false};
      },
      "topology"_a, "late_rank"_a, nb::kw_only(), "chunks"_a, "nbytes"_a);
  m.def(
      "stars_around",
      [](const Topology& topology, int late_rank, int pieces, std::int64_t nbytes) {
        const LongCall call;
        const auto trees = synthesis::stars_around(topology.rank_count(), Rank{late_rank}, pieces);
        return synthesis::around(topology, trees, nbytes);
      },
      "topology"_a, "late_rank"_a, nb::kw_only(), "pieces"_a, "nbytes"_a);
  m.def(
      "rails_around",
      [](const Topology& topology, int late_rank, int ranks_per_host, int pieces) {
        const LongCall call;
        const auto nics = synthesis::rail_nics(topology, ranks_per_host);
        const auto trees = synthesis::rails_around(nics, Rank{late_rank}, pieces);
        return synthesis::around(topology, trees, 0);
      },
      "topology"_a, "late_rank"_a, nb::kw_only(), "ranks_per_host"_a, "pieces"_a);
}

}  // namespace

void bind_synthesis(nb::module_& m) {
  bind_around(m);
  nb::class_<Synthesis>(m, "Synthesis")
      .def_ro("schedule", &Synthesis::schedule)
      .def_prop_ro("seconds", [](const Synthesis& s) { return to_seconds(s.duration); })
      .def_prop_ro("bound_s", [](const Synthesis& s) { return to_seconds(s.bound); })
      .def_ro("trials", &Synthesis::trials)
      .def_ro("stopped", &Synthesis::stopped);
  m.def(
      "synthesize",
      [](const Topology& topology, const Collective& collective, std::int64_t nbytes,
         const std::string& latency, std::uint64_t seed, int trials, int threads, bool timed,
         std::optional<std::int64_t> operations, nb::object progress) {
        Options asked = to_options(nbytes, latency, seed, trials, threads);
        asked.timed = timed;
        asked.operations = operations.value_or(Budget::kUnlimited);
        return Session(std::move(progress)).run(asked, [&](const Options& options) {
          return synthesis::synthesize(topology, collective, options);
        });
      },
      "topology"_a, "collective"_a, nb::kw_only(), "nbytes"_a, "latency"_a, "seed"_a, "trials"_a, "threads"_a,
      "timed"_a, "operations"_a.none() = nb::none(), "progress"_a.none());
  nb::class_<Streamed>(m, "StreamedSynthesis")
      .def_ro("transfer_count", &Streamed::transfer_count)
      .def_ro("step_count", &Streamed::step_count)
      .def_prop_ro("seconds_at_most", [](const Streamed& s) { return to_seconds(s.duration_at_most); })
      .def_ro("streamed", &Streamed::streamed);
  m.def(
      "synthesize_to_file",
      [](const Topology& topology, const Collective& collective, const std::string& path, std::int64_t nbytes,
         const std::string& latency, std::uint64_t seed, int trials, int threads, nb::object progress) {
        return Session(std::move(progress))
            .run(to_options(nbytes, latency, seed, trials, threads), [&](const Options& options) {
              FileSink sink(path);
              const Streamed written = synthesis::synthesize_into(topology, collective, options, &sink);
              sink.finish();
              return written;
            });
      },
      "topology"_a, "collective"_a, "path"_a, nb::kw_only(), "nbytes"_a, "latency"_a, "seed"_a, "trials"_a,
      "threads"_a, "progress"_a.none());
  m.def(
      "synthesize_forest",
      [](const Topology& topology, const std::string& kind, int trees, int pieces, std::int64_t nbytes,
         int root, bool up_and_down_only) {
        const LongCall call;
        return synthesis::synthesize_forest(
            topology, {kind_from_name(kind), trees, pieces, nbytes, Rank{root}, up_and_down_only});
      },
      "topology"_a, "kind"_a, nb::kw_only(), "trees"_a, "pieces"_a, "nbytes"_a, "root"_a = 0,
      "up_and_down_only"_a = false);
  m.def(
      "broadcast_through_hosts",
      [](int host_count, int ranks_per_host, int root, int pieces) {
        const LongCall call;
        return synthesis::broadcast_through_hosts({host_count, ranks_per_host, Rank{root}, pieces});
      },
      "host_count"_a, "ranks_per_host"_a, nb::kw_only(), "root"_a, "pieces"_a);
  m.def(
      "reduce_through_hosts",
      [](int host_count, int ranks_per_host, int root, int pieces) {
        const LongCall call;
        return synthesis::reduce_through_hosts({host_count, ranks_per_host, Rank{root}, pieces});
      },
      "host_count"_a, "ranks_per_host"_a, nb::kw_only(), "root"_a, "pieces"_a);
  m.def(
      "broadcast_through_all",
      [](int rank_count, int root, int pieces, int lag) {
        const LongCall call;
        return synthesis::broadcast_through_all({rank_count, Rank{root}, pieces, lag});
      },
      "rank_count"_a, nb::kw_only(), "root"_a, "pieces"_a, "lag"_a);
  m.def(
      "reduce_through_all",
      [](int rank_count, int root, int pieces, int lag) {
        const LongCall call;
        return synthesis::reduce_through_all({rank_count, Rank{root}, pieces, lag});
      },
      "rank_count"_a, nb::kw_only(), "root"_a, "pieces"_a, "lag"_a);
  m.def(
      "far_first_exchange",
      [](const Topology& topology) {
        const LongCall call;
        return synthesis::far_first_exchange(topology);
      },
      "topology"_a);
}

}  // namespace hemiola::bindings
