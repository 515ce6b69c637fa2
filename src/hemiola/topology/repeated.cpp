// SPDX-License-Identifier: Apache-2.0
#include "hemiola/topology/repeated.hpp"

#include <algorithm>
#include <string>

#include "hemiola/base/error.hpp"
#include "hemiola/topology/nics.hpp"
#include "hemiola/topology/vertex_names.hpp"

namespace hemiola {
namespace {

/// Where a vertex of one copy comes to lie in the whole.
class Numbering {
 public:
  Numbering(const Topology& box, int copy_count, const std::vector<Vertex>& shared)
      : rank_count_(box.rank_count()), copy_count_(copy_count) {
    place_.resize(static_cast<std::size_t>(box.switch_count()));
    for (std::size_t s = 0; s < place_.size(); ++s) {
      const Vertex v{rank_count_ + static_cast<int>(s)};
      const bool is_shared = std::find(shared.begin(), shared.end(), v) != shared.end();
      place_[s] = {is_shared, is_shared ? shared_count_++ : own_count_++};
    }
  }

  int rank_count() const { return rank_count_ * copy_count_; }
  int switch_count() const { return own_count_ * copy_count_ + shared_count_; }

  bool is_shared(Vertex v) const {
    return v >= rank_count_ && place_[static_cast<std::size_t>(v - rank_count_)].is_shared;
  }
  Vertex at(Vertex v, int copy) const {
    if (v < rank_count_) return Vertex{copy * rank_count_ + v};
    const Place place = place_[static_cast<std::size_t>(v - rank_count_)];
    const int before = place.is_shared ? own_count_ * copy_count_ : own_count_ * copy;
    return Vertex{rank_count() + before + place.index};
  }

 private:
  struct Place {
    bool is_shared = false;
    int index = 0;  ///< among the shared switches, or among the copy's own
  };
  int rank_count_;
  int copy_count_;
  int own_count_ = 0;
  int shared_count_ = 0;
  std::vector<Place> place_;
};

void check_arguments(const Topology& box, int copy_count, const std::vector<Vertex>& shared) {
  if (copy_count < 1)
    throw ArgumentError("repeated: expected at least one copy, found " + std::to_string(copy_count));
  for (Vertex v : shared)
    if (v < box.rank_count() || v >= box.vertex_count())
      throw ArgumentError("repeated: expected shared switches among the vertices " +
                          std::to_string(box.rank_count()) + " … " + std::to_string(box.vertex_count() - 1) +
                          ", found " + std::to_string(v));
  if (std::int64_t{copy_count} * box.vertex_count() > Topology::kMaxVertices ||
      std::int64_t{copy_count} * box.link_count() > Topology::kMaxLinks)
    throw ArgumentError("repeated: " + std::to_string(copy_count) + " copies of '" + box.name() +
                        "' are more than a topology may hold");
}

/// Of a vertex that the copies share as it is, of others with the host's number.
std::vector<std::string> names_of_copies(const Topology& box, int copy_count, const Numbering& numbering) {
  const std::vector<std::string>& names = box.vertex_names();
  if (names.empty()) return {};
  std::vector<std::string> all(static_cast<std::size_t>(numbering.rank_count() + numbering.switch_count()));
  for (int copy = 0; copy < copy_count; ++copy)
    for (Vertex v : indices<Vertex>(box.vertex_count()))
      all[at(numbering.at(v, copy))] =
          numbering.is_shared(v) ? names[at(v)] : name_on_host(names[at(v)], copy * box.node_count());
  return all;
}

/// Switches that copies share move to the end.
Hardware hardware_of_copies(const Topology& box, int copy_count, const Numbering& numbering) {
  Hardware all = box.hardware();
  if (all.switches.empty()) return all;
  all.switches.assign(static_cast<std::size_t>(numbering.switch_count()), {});
  for (int copy = 0; copy < copy_count; ++copy)
    for (Vertex v = Vertex{box.rank_count()}; v < box.vertex_count(); ++v)
      all.switches[at(numbering.at(v, copy)) - at(Vertex{numbering.rank_count()})] = box.ability_of(v);
  return all;
}

}  // namespace

Topology repeated(const Topology& box, int copy_count, const std::vector<Vertex>& shared_switches) {
  check_arguments(box, copy_count, shared_switches);
  const Numbering numbering(box, copy_count, shared_switches);
  std::vector<Link> links;
  std::vector<int> nodes;
  std::vector<Nic> nics;
  links.reserve(static_cast<std::size_t>(copy_count) * box.links().size());
  for (int copy = 0; copy < copy_count; ++copy) {
    std::vector<int> link_number;
    for (Link link : box.links()) {
      const bool is_there = copy > 0 && numbering.is_shared(link.src) && numbering.is_shared(link.dst);
      link_number.push_back(is_there ? -1 : static_cast<int>(links.size()));
      if (is_there) continue;
      link.src = numbering.at(link.src, copy);
      link.dst = numbering.at(link.dst, copy);
      links.push_back(link);
    }
    for (Rank rank : indices<Rank>(box.rank_count()))
      nodes.push_back(copy * box.node_count() + box.node_of(rank));
    for (Nic& nic : renumbered_nics(box.nics(), link_number)) {
      nic.host += copy * box.node_count();
      nics.push_back(std::move(nic));
    }
  }
  if (copy_count == 1)
    return Topology(box.name(), numbering.rank_count(), numbering.switch_count(), links, nodes, nics,
                    box.vertex_names(), hardware_of_copies(box, copy_count, numbering));
  return Topology(std::to_string(copy_count) + " x " + box.name(), numbering.rank_count(),
                  numbering.switch_count(), std::move(links), std::move(nodes), std::move(nics),
                  names_of_copies(box, copy_count, numbering),
                  hardware_of_copies(box, copy_count, numbering));
}

}  // namespace hemiola
