// SPDX-License-Identifier: Apache-2.0
#include "hemiola/schedule/collective.hpp"

#include <nanobind/operators.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <tuple>
#include <utility>

#include "hemiola/base/other_names.hpp"
#include "hemiola/bindings/arrays.hpp"
#include "hemiola/bindings/bindings.hpp"
#include "hemiola/schedule/collective_names.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace hemiola::bindings {
namespace {

using PlaceRow = std::pair<std::int64_t, std::int64_t>;

int narrow_count(std::int64_t value, const char* what) {
  return to_index<Rank>(value, what);
}

Collective make(std::string_view kind, std::int64_t rank_count, std::int64_t chunk_count, std::int64_t root) {
  return Collective::make(kind_from_name(kind), narrow_count(rank_count, "rank_count"), chunk_count,
                          to_index<Rank>(root, "root"));
}

Collective with_owners(std::string_view kind, std::int64_t rank_count, const std::vector<std::int64_t>& owner,
                       std::int64_t root) {
  std::vector<Rank> ranks;
  ranks.reserve(owner.size());
  for (std::int64_t rank : owner) ranks.push_back(to_index<Rank>(rank, "owner"));
  return Collective::with_owners(kind_from_name(kind), narrow_count(rank_count, "rank_count"),
                                 std::move(ranks), to_index<Rank>(root, "root"));
}

std::vector<Collective::Place> to_places(const std::vector<PlaceRow>& rows, const char* what) {
  std::vector<Collective::Place> places;
  places.reserve(rows.size());
  for (const auto& [rank, chunk] : rows)
    places.emplace_back(to_index<Rank>(rank, what), to_index<Chunk>(chunk, what));
  return places;
}

std::vector<PlaceRow> to_rows(const std::vector<Collective::Place>& places) {
  return {places.begin(), places.end()};
}

Collective custom(std::int64_t rank_count, std::int64_t chunk_count, const std::vector<PlaceRow>& before,
                  const std::vector<PlaceRow>& after, bool reducing) {
  return Collective::custom(narrow_count(rank_count, "rank_count"), chunk_count, to_places(before, "before"),
                            to_places(after, "after"), reducing);
}

/// The pickled fields: kind, rank count, chunk count, root, owners, before, after, reducing.
using State = std::tuple<std::string, int, int, int, std::vector<int>, std::vector<PlaceRow>,
                         std::vector<PlaceRow>, bool>;

State state_of_collective(const Collective& c) {
  return {std::string(name_of(c.kind())),       c.rank_count(),      c.chunk_count(),    c.root(),
          {c.owner().begin(), c.owner().end()}, to_rows(c.before()), to_rows(c.after()), c.is_reducing()};
}

void restore_collective(Collective& self, const State& state) {
  const auto& [kind, rank_count, chunk_count, root, owner, before, after, reducing] = state;
  new (&self) Collective(kind == name_of(CollectiveKind::custom)
                             ? custom(rank_count, chunk_count, before, after, reducing)
                             : with_owners(kind, rank_count, {owner.begin(), owner.end()}, root));
}

std::string describe_collective(const Collective& c) {
  std::string text = "Collective('" + std::string(name_of(c.kind())) +
                     "', rank_count=" + std::to_string(c.rank_count()) +
                     ", chunk_count=" + std::to_string(c.chunk_count());
  if (is_rooted(c.kind())) text += ", root=" + std::to_string(c.root());
  return text + ")";
}

}  // namespace

void bind_collective(nb::module_& m) {
  m.def("kind_meant", &kind_meant, "name"_a,
        "The collective that a name means, such as 'allreduce' or 'bcast'; '' for any other text.");
  m.def(
      "op_meant",
      [](std::string_view name) {
        const auto op = op_meant(name);
        return op ? name_of(*op) : std::string_view{};
      },
      "name"_a, "The operation that a name means, such as 'avg' or 'SUM'; '' for any other text.");
  nb::class_<Collective>(m, "Collective",
                         R"(The conditions that must hold before and after: the promise that a schedule keeps.

Notes
-----
| kind               | owner of a chunk        | defined before on    | holds after                        |
|--------------------|-------------------------|----------------------|------------------------------------|
| ``all_gather``     | the rank that brings it | its owner            | every rank: the owner's value      |
| ``reduce_scatter`` | the rank that gets it   | every rank: own part | its owner: all parts, once each    |
| ``all_reduce``     | the rank that reduces   | every rank: own part | every rank: all parts, once each   |
| ``broadcast``      | the root                | the root             | every rank: the root's value       |
| ``reduce``         | the root                | every rank: own part | the root: all parts, once each     |
| ``all_to_all``     | the rank that sends it  | its owner            | its destination: the owner's value |
| ``gather``         | the rank that sends it  | its owner            | the root: the owner's value        |
| ``scatter``        | the rank that gets it   | the root             | its owner: the root's value        |
| ``custom``         | none                    | ``before``           | ``after``                          |

In an all_to_all, chunk ``(src * rank_count + dst) * k + j`` is the j-th piece of the data from src to dst.)")
      .def_static("make", &make, "kind"_a, "rank_count"_a, "chunk_count"_a, "root"_a = 0,
                  R"(Make a collective whose chunks are owned block-wise.

Parameters
----------
kind : str, any of the kinds above but custom.
rank_count : int, 1 … 2^20.
chunk_count : int, 1 … 2^28; a multiple of rank_count (of its square for all_to_all) except for broadcast and reduce.
root : int, a rank; ignored by kinds without a root.

Returns
-------
Collective in which chunk c belongs to rank ``c // (chunk_count // rank_count)``, or to the root.

Raises
------
ArgumentError
    If the kind is unknown or a number is outside its range.)")
      .def_static("with_owners", &with_owners, "kind"_a, "rank_count"_a, "owner"_a, "root"_a = 0,
                  R"(Make a collective with a stated owner for each chunk.

Parameters
----------
kind : str, any kind but custom.
rank_count : int, 1 … 2^20.
owner : sequence of int, one rank per chunk; all equal to the root for broadcast and reduce.
root : int, a rank; ignored by kinds without a root.

Returns
-------
Collective

Raises
------
ArgumentError
    If the kind is unknown or a number is outside its range.)")
      .def_static("custom", &custom, "rank_count"_a, "chunk_count"_a, "before"_a, "after"_a, nb::kw_only(),
                  "reducing"_a = false,
                  R"(Make a collective with any pre- and postcondition.

Parameters
----------
rank_count : int, 1 … 2^20.
chunk_count : int, 1 … 2^28.
before : sequence of (rank, chunk): slots that hold the chunk's value (with `reducing`, the rank's contribution to it).
after : sequence of (rank, chunk): slots that must hold the value (all contributions, once each) in the end.
reducing : bool, whether values are added up.

Returns
-------
Collective

Raises
------
ArgumentError
    If a rank or chunk does not exist, or a chunk is wanted that no rank holds before.)")
      .def_prop_ro(
          "kind", [](const Collective& c) { return name_of(c.kind()); }, "The collective's name, a str.")
      .def_prop_ro("rank_count", &Collective::rank_count)
      .def_prop_ro("chunk_count", &Collective::chunk_count)
      .def_prop_ro(
          "root",
          [](const Collective& c) -> std::optional<int> {
            return is_rooted(c.kind()) ? std::optional<int>(c.root()) : std::nullopt;
          },
          nb::sig("def root(self) -> int | None"),
          "The root of a broadcast, reduce, gather or scatter; None for the others.")
      .def_prop_ro("is_reducing", &Collective::is_reducing, "Whether values are added up.")
      .def_prop_ro(
          "owner",
          [](nb::handle self) {
            return view_of(as_integers(std::span(nb::cast<const Collective&>(self).owner())), self);
          },
          "One rank per chunk, a read-only NumPy view; empty for custom.")
      .def_prop_ro(
          "before", [](const Collective& c) { return to_rows(c.before()); },
          "The (rank, chunk) pairs of a custom collective's precondition, sorted; empty for other kinds.")
      .def_prop_ro(
          "after", [](const Collective& c) { return to_rows(c.after()); },
          "The (rank, chunk) pairs of a custom collective's postcondition, sorted; empty for other kinds.")
      .def(nb::self == nb::self, nb::sig("def __eq__(self, arg: object, /) -> bool"))
      .def("__hash__",
           [](const Collective& c) {
             return nb::hash(nb::make_tuple(name_of(c.kind()), c.rank_count(), c.chunk_count()));
           })
      .def("__getstate__", &state_of_collective)
      .def("__setstate__", &restore_collective)
      .def("__repr__", &describe_collective);
}

}  // namespace hemiola::bindings
