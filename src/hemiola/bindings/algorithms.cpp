// hemiola.algorithms: the registry's entries as objects, and one function per entry. Signatures and
// docstrings of the functions come from the registry, so that they cannot disagree with it.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <string>

#include "hemiola/algorithms/registry.hpp"
#include "hemiola/bindings/bindings.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace hemiola::bindings {
namespace {

using algorithms::Algorithm;
using algorithms::ChunkCount;
using algorithms::Paper;
using algorithms::PortSpeed;

void bind_paper(nb::module_& m) {
  nb::class_<Paper>(m, "Paper", "Where an algorithm was published.")
      .def_ro("key", &Paper::key, "Key in docs/references.bib.")
      .def_ro("citation", &Paper::citation, "Authors and year.")
      .def("__repr__",
           [](const Paper& p) { return std::string(p.citation) + " [" + std::string(p.key) + "]"; });
}

constexpr const char* kStepCountDoc = R"(Count the steps of the schedule for that many ranks.

Parameters
----------
rank_count : int, valid for this algorithm.
chunk_count : int or None, for pipelined algorithms; None takes the default.

Raises
------
ArgumentError
    if the rank count or chunk count is not valid.)";

constexpr const char* kTransferCountDoc =
    R"(Count the transfers of the schedule for that many ranks, without making it.

Parameters
----------
rank_count : int, valid for this algorithm.
chunk_count : int or None, for pipelined algorithms; None takes the default.

Raises
------
ArgumentError
    if the rank count or chunk count is not valid.)";

constexpr const char* kBytesDoc = R"(Return the bytes that the busiest rank sends.

Parameters
----------
rank_count : int, valid for this algorithm.
nbytes : int, bytes of one rank's buffer (the gathered one of a gather), >= 0.
chunk_count : int or None, for pipelined algorithms; None takes the default.

Returns
-------
int, rounded up where the buffer does not divide into the chunks.

Raises
------
ArgumentError
    if the rank count, chunk count or nbytes is not valid.)";

constexpr const char* kSecondsDoc = R"(Evaluate the cost formula on a one-port network.

Every step costs one latency and the time of the busiest port, which sends and receives at once. This is the
classical model that `formula` states; hemiola.simulate, where steps are no barriers, may take less.

Parameters
----------
rank_count : int, valid for this algorithm.
nbytes : int, bytes of one rank's buffer (the gathered one of a gather), >= 0.
latency_s : float, seconds >= 0.
bandwidth : float, bytes per second > 0.
chunk_count : int or None, for pipelined algorithms; None takes the default.

Returns
-------
float, seconds.

Raises
------
ArgumentError
    if an argument is not valid.)";

constexpr const char* kBestChunksDoc =
    R"(Choose the chunk count, up to 4096, at which the cost formula is smallest.

Parameters
----------
rank_count, nbytes, latency_s, bandwidth : as in `seconds`.

Returns
-------
int, or None if the algorithm is not pipelined.

Raises
------
ArgumentError
    if an argument is not valid.)";

constexpr const char* kGenerateDoc = R"(Make the schedule.

Parameters
----------
rank_count : int, valid for this algorithm.
root : int, 0 … rank_count-1; 0 unless the collective is rooted.
chunk_count : int or None, for pipelined algorithms; None takes the default.

Returns
-------
Schedule

Raises
------
ArgumentError
    if an argument is not valid, or the schedule would have more than 2**28 transfers.)";

void bind_algorithm(nb::module_& m) {
  nb::class_<Algorithm>(m, "Algorithm", "One entry of the registry; get() returns it.")
      .def_ro("name", &Algorithm::name, "The function's name in hemiola.algorithms.")
      .def_prop_ro(
          "kind", [](const Algorithm& a) { return name_of(a.kind); }, "The collective's name.")
      .def_ro("paper", &Algorithm::paper)
      .def_ro("idea", &Algorithm::idea, "One sentence.")
      .def_ro("sizes", &Algorithm::sizes, "Valid rank counts, in words.")
      .def_ro("chunks_formula", &Algorithm::chunks_formula,
              "How many chunks, in the symbols of docs/algorithms.md.")
      .def_ro("steps_formula", &Algorithm::steps_formula, "How many steps, in the same symbols.")
      .def_ro("bytes_formula", &Algorithm::bytes_formula, "What the busiest rank sends, in the same symbols.")
      .def_ro("formula", &Algorithm::formula, "Seconds on a one-port network, in the same symbols.")
      .def_prop_ro(
          "needs", [](const Algorithm& a) { return name_of(a.needs); },
          "What it must know beside the rank count: '' (nothing), 'late', 'slow' or 'topology'.")
      .def_prop_ro("is_rooted", [](const Algorithm& a) { return is_rooted(a.kind); })
      .def_prop_ro("is_pipelined", &Algorithm::is_pipelined, "Whether it takes a chunk_count.")
      .def_ro("chunk_count_multiple", &Algorithm::chunk_count_multiple,
              "Of what a chunk_count must be a multiple.")
      .def("is_valid", &Algorithm::is_valid, "rank_count"_a,
           "Say whether the rank count is enough to generate a schedule, one of at most 2**28 transfers.")
      .def("step_count", &Algorithm::step_count, "rank_count"_a, nb::kw_only(), "chunk_count"_a = nb::none(),
           kStepCountDoc)
      .def(
          "transfer_count",
          [](const Algorithm& a, std::int64_t rank_count, ChunkCount chunk_count) {
            return a.cost_of(rank_count, chunk_count).transfer_count;
          },
          "rank_count"_a, nb::kw_only(), "chunk_count"_a = nb::none(), kTransferCountDoc)
      .def("bytes_per_rank", &Algorithm::bytes_per_rank, "rank_count"_a, "nbytes"_a, nb::kw_only(),
           "chunk_count"_a = nb::none(), kBytesDoc)
      .def(
          "seconds",
          [](const Algorithm& a, std::int64_t rank_count, std::int64_t nbytes, double latency_s,
             double bandwidth, ChunkCount chunk_count) {
            return seconds(a.cost_of(rank_count, chunk_count), nbytes, {latency_s, bandwidth});
          },
          "rank_count"_a, "nbytes"_a, "latency_s"_a, "bandwidth"_a, nb::kw_only(),
          "chunk_count"_a = nb::none(), kSecondsDoc)
      .def(
          "best_chunk_count",
          [](const Algorithm& a, std::int64_t rank_count, std::int64_t nbytes, double latency_s,
             double bandwidth) { return best_chunk_count(a, rank_count, nbytes, {latency_s, bandwidth}); },
          "rank_count"_a, "nbytes"_a, "latency_s"_a, "bandwidth"_a, kBestChunksDoc)
      .def("generate", &Algorithm::schedule, "rank_count"_a, "root"_a = 0, "chunk_count"_a = nb::none(),
           kGenerateDoc, nb::call_guard<nb::gil_scoped_release>())
      .def("__repr__", [](const Algorithm& a) { return "<Algorithm " + std::string(a.name) + ">"; });
}

std::string document(const Algorithm& a) {
  std::string text =
      std::string(a.idea) + "\n\nParameters\n----------\nrank_count : int, " + std::string(a.sizes) + ".\n";
  if (is_rooted(a.kind)) text += "root : int, 0 … rank_count-1.\n";
  if (a.is_pipelined())
    text += "chunk_count : int, a multiple of " + std::to_string(a.chunk_count_multiple) +
            "; None takes the default for the rank count.\n";
  text +=
      "\nReturns\n-------\nSchedule\n\nRaises\n------\nArgumentError\n    if an argument is not valid.\n\n";
  return text + "Notes\n-----\nCost, in the symbols of docs/algorithms.md: " + std::string(a.formula) +
         ".\nSource: " + std::string(a.paper.citation) + " [" + std::string(a.paper.key) + "].";
}

/// Defines the function that generates an entry's schedule, with the keywords that make sense for it.
void bind_generator(nb::module_& m, const Algorithm& a) {
  const std::string doc = document(a);
  const auto def = [&](auto function, auto... extra) {
    m.def(a.name.data(), function, "rank_count"_a, extra..., doc.c_str(),
          nb::call_guard<nb::gil_scoped_release>());
  };
  const Algorithm* entry = &a;
  if (is_rooted(a.kind) && a.is_pipelined())
    def([entry](std::int64_t n, std::int64_t root,
                ChunkCount chunks) { return entry->schedule(n, root, chunks); },
        nb::kw_only(), "root"_a = 0, "chunk_count"_a = nb::none());
  else if (is_rooted(a.kind))
    def([entry](std::int64_t n, std::int64_t root) { return entry->schedule(n, root); }, nb::kw_only(),
        "root"_a = 0);
  else if (a.is_pipelined())
    def([entry](std::int64_t n, ChunkCount chunks) { return entry->schedule(n, 0, chunks); }, nb::kw_only(),
        "chunk_count"_a = nb::none());
  else
    def([entry](std::int64_t n) { return entry->schedule(n); });
}

}  // namespace

void bind_algorithms(nb::module_& m) {
  nb::module_ a = m.def_submodule("algorithms", "Published algorithms; import hemiola.algorithms instead.");
  bind_paper(a);
  bind_algorithm(a);
  a.def(
      "names",
      [](std::optional<std::string_view> kind, std::string_view needs) {
        return algorithms::names(kind ? std::optional(kind_from_name(*kind)) : std::nullopt,
                                 algorithms::needs_from_name(needs));
      },
      "kind"_a = nb::none(), nb::kw_only(), "needs"_a = "",
      R"(List the names of algorithms, of those for one collective if `kind` is given.

Parameters
----------
kind : str or None, a collective such as 'all_reduce'.
needs : str, what they must know beside the rank count: '' (nothing), 'late', 'slow' or 'topology'.

Returns
-------
list of str, in the order of docs/algorithms.md.

Raises
------
ArgumentError
    if no collective or need has that name.)");
  a.def("get", &algorithms::get, "name"_a, nb::rv_policy::reference,
        R"(Look up an algorithm by name.

Parameters
----------
name : str, one of names().

Returns
-------
Algorithm

Raises
------
ArgumentError
    if there is none of that name.)");
  for (const Algorithm& algorithm : algorithms::registry())
    if (algorithm.needs == algorithms::Needs::nothing) bind_generator(a, algorithm);
}

}  // namespace hemiola::bindings
