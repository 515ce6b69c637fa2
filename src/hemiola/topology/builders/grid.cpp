// SPDX-License-Identifier: Apache-2.0
#include "hemiola/topology/builders/grid.hpp"

#include <algorithm>
#include <string>

#include "hemiola/base/error.hpp"

namespace hemiola::topologies {
namespace {

constexpr std::int64_t kMaxDimensions = 16;

const char* name_of(Wires wires) {
  switch (wires) {
    case Wires::line:
      return "mesh";
    case Wires::ring:
      return "torus";
    case Wires::all_pairs:
      return "all-pairs";
    case Wires::switched:
      return "switch";
  }
  return "";
}

struct Size {
  std::int64_t rank_count = 1;
  std::int64_t switch_count = 0;
  std::int64_t link_count = 0;
};

/// Counts before anything is allocated; throws when the grid would be larger than a Topology may be.
Size size_of(const std::vector<Dimension>& dimensions) {
  check_range("grid", "a number of dimensions", static_cast<std::int64_t>(dimensions.size()), 1,
              kMaxDimensions);
  Size size;
  for (const Dimension& d : dimensions) {
    check_range("grid", "a dimension", d.size, 1, Topology::kMaxVertices);
    size.rank_count *= d.size;
    check_size("grid", size.rank_count, 0);
  }
  for (const Dimension& d : dimensions) {
    const std::int64_t row_count = size.rank_count / d.size;
    if (needs_switch(d.wires, d.size)) size.switch_count += row_count;
    size.link_count += row_count * links_in_row(d.wires, d.size);
    check_size("grid", size.rank_count + size.switch_count, size.link_count);
  }
  return size;
}

/// The rank at coordinate 0 of row `index`, when `stride` ranks lie between neighbours of a dimension of that
/// size.
int first_of_row(int index, int stride, int size) {
  return index / stride * stride * size + index % stride;
}

std::string name_of(const std::vector<Dimension>& dimensions) {
  const bool same = std::all_of(dimensions.begin(), dimensions.end(),
                                [&](const Dimension& d) { return d.wires == dimensions.front().wires; });
  std::string kinds, sizes;
  for (const Dimension& d : dimensions) {
    if (kinds.empty() || !same) kinds += (kinds.empty() ? "" : "+") + std::string(name_of(d.wires));
    sizes += (sizes.empty() ? "" : "x") + std::to_string(d.size);
  }
  return kinds + " " + sizes;
}

}  // namespace

Topology grid(const std::vector<Dimension>& dimensions) {
  const Size size = size_of(dimensions);
  const auto rank_count = static_cast<int>(size.rank_count);
  Wiring wiring;
  wiring.reserve(size.link_count);
  int stride = 1;
  int next_switch = rank_count;
  for (const Dimension& d : dimensions) {
    for (int index = 0; d.size > 1 && index < rank_count / d.size; ++index) {
      const Row row{first_of_row(index, stride, d.size), stride, d.size};
      wire_row(wiring, row, d.wires, d.cost, Vertex{next_switch});
      if (needs_switch(d.wires, d.size)) ++next_switch;
    }
    stride *= d.size;
  }
  return Topology(name_of(dimensions), rank_count, static_cast<int>(size.switch_count), wiring.take());
}

}  // namespace hemiola::topologies
