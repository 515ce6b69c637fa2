#include "hemiola/topology/host_links.hpp"

namespace hemiola {
namespace {

constexpr int kUnknown = -1;  ///< no rank seen yet
constexpr int kOutside = -2;  ///< between hosts

/// The vertices that switches reach from `start` through switches, all switches marked as seen.
class SwitchGroups {
 public:
  explicit SwitchGroups(const Topology& topology)
      : topology_(topology), host_(static_cast<std::size_t>(topology.vertex_count()), kUnknown) {
    for (Rank rank : indices<Rank>(topology.rank_count())) host_of(rank) = topology.node_of(rank);
    std::vector<bool> seen(host_.size());
    for (int vertex = topology.rank_count(); vertex < topology.vertex_count(); ++vertex)
      if (!seen[static_cast<std::size_t>(vertex)]) settle_group(vertex, &seen);
  }

  bool is_inside_host(const Link& link) const {
    const int from = host_[static_cast<std::size_t>(link.src)],
              to = host_[static_cast<std::size_t>(link.dst)];
    return from >= 0 && from == to;
  }

 private:
  int& host_of(int vertex) { return host_[static_cast<std::size_t>(vertex)]; }

  void settle_group(int start, std::vector<bool>* seen) {
    std::vector<int> group{start};
    (*seen)[static_cast<std::size_t>(start)] = true;
    int host = kUnknown;
    const auto visit = [&](Vertex neighbour) {
      if (topology_.is_rank(neighbour)) {
        const int other = host_of(neighbour);
        host = host == kUnknown || host == other ? other : kOutside;
      } else if (!(*seen)[static_cast<std::size_t>(neighbour)]) {
        (*seen)[static_cast<std::size_t>(neighbour)] = true;
        group.push_back(neighbour);
      }
    };
    for (std::size_t i = 0; i < group.size(); ++i) {
      const Vertex v{group[i]};
      for (const int* l = topology_.out_begin(v); l != topology_.out_end(v); ++l)
        visit(topology_.link(*l).dst);
      for (const int* l = topology_.in_begin(v); l != topology_.in_end(v); ++l) visit(topology_.link(*l).src);
    }
    for (const int vertex : group) host_of(vertex) = host;
  }

  const Topology& topology_;
  std::vector<int> host_;  ///< per vertex
};

}  // namespace

std::vector<bool> links_between_hosts(const Topology& topology) {
  const SwitchGroups groups(topology);
  std::vector<bool> between;
  for (const Link& link : topology.links()) between.push_back(!groups.is_inside_host(link));
  return between;
}

}  // namespace hemiola
