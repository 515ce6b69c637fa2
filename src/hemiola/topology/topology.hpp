// SPDX-License-Identifier: Apache-2.0
// The network as a directed graph: ranks (vertices 0 … rank_count-1), switches (from rank_count up), links
// between them, and which ranks share a host. Immutable once built.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "hemiola/base/index.hpp"
#include "hemiola/base/units.hpp"

namespace hemiola {

/// A directed connection. A message occupies it for `message` and then, m bytes long, for m / bandwidth_Bps; the last byte
/// arrives `latency` later.
struct Link {
  Vertex src;
  Vertex dst;
  Picoseconds latency = 0;
  double bandwidth_Bps = 0;
  Picoseconds message = 0;

  friend bool operator==(const Link&, const Link&) = default;
};

using VertexPair = std::pair<Vertex, Vertex>;  ///< source, destination

/// A network card, so that it can be spoken of by its name: the links that it carries both ways, slower where it is.
struct Nic {
  std::string name;        ///< as its host calls it, such as mlx5_0; other hosts may use the name too
  int host = 0;            ///< a node of the topology
  std::vector<int> links;  ///< indices of links, ascending; a cable between two cards is in both

  friend bool operator==(const Nic&, const Nic&) = default;
};

/// The work that a switch can do on messages beside forwarding them.
struct SwitchAbility {
  bool reduces = false;     ///< adds what several ranks send, and forwards the sum
  bool multicasts = false;  ///< forwards one message to several ranks

  friend bool operator==(const SwitchAbility&, const SwitchAbility&) = default;
};

/// Properties of the machine beside its links.
struct Hardware {
  /// From an operation's call on a rank until it can send, as a GPU starts its kernel.
  Picoseconds launch = 0;
  std::vector<SwitchAbility> switches;  ///< one per switch, in their order; none where all only forward

  friend bool operator==(const Hardware&, const Hardware&) = default;
};

/// Why no link has this bandwidth; empty where one may.
std::string bandwidth_fault(double bandwidth_Bps);

class Topology {
 public:
  /// At most this many vertices and links, so that a hostile file cannot exhaust memory.
  static constexpr std::int64_t kMaxVertices = 1 << 22;
  static constexpr std::int64_t kMaxLinks = 1 << 24;
  /// Longer latencies, and costs of a message, are mistakes of unit; up to here picoseconds survive the way through a
  /// double of seconds.
  static constexpr Picoseconds kMaxLatency = 1000 * kSecond;

  /// An exabyte per second; sums of bandwidths stay exact far below the limit of 128 bits.
  static constexpr double kMaxBandwidth_Bps = 1e18;

  /// Checks every link (known vertices, no self-link, bandwidth above 0, latency and message 0 … kMaxLatency)
  /// and throws ArgumentError that names the first bad one. `node_of_rank` is empty when every rank is a host
  /// of its own, else it has hosts 0 … node_count-1 without gaps. Parallel links are allowed. `nics` are
  /// checked and put into order by `ordered_nics` (nics.hpp), `vertex_names` by `checked_names`
  /// (vertex_names.hpp): none, or one per vertex. A launch takes 0 … kMaxLatency.
  /// `hardware.switches`: none, or one per switch.
  Topology(std::string name, int rank_count, int switch_count, std::vector<Link> links,
           std::vector<int> node_of_rank = {}, std::vector<Nic> nics = {},
           std::vector<std::string> vertex_names = {}, Hardware hardware = {});

  const std::string& name() const { return name_; }
  int rank_count() const { return rank_count_; }
  int switch_count() const { return switch_count_; }
  int vertex_count() const { return rank_count_ + switch_count_; }
  int link_count() const { return static_cast<int>(links_.size()); }
  const std::vector<Link>& links() const { return links_; }
  const Link& link(int index) const { return links_[static_cast<std::size_t>(index)]; }
  bool is_rank(Vertex v) const { return v < rank_count_; }

  /// The host of a rank; equals the rank where no hosts were given.
  int node_of(Rank rank) const;
  int node_count() const { return node_count_; }
  const std::vector<int>& node_of_rank() const { return node_of_rank_; }

  /// The network cards whose names are known, host by host; none where nobody gave them names.
  const std::vector<Nic>& nics() const { return nics_; }

  /// Each vertex's name, such as GPU0 or 1/NVSwitch; empty where nobody gave names. See vertex_names.hpp.
  const std::vector<std::string>& vertex_names() const { return vertex_names_; }

  const Hardware& hardware() const { return hardware_; }
  /// What a vertex can do beside forwarding; nothing of a rank.
  SwitchAbility ability_of(Vertex v) const {
    return is_rank(v) || hardware_.switches.empty()
               ? SwitchAbility{}
               : hardware_.switches[static_cast<std::size_t>(v - rank_count_)];
  }

  /// Indices of the links that leave (enter) a vertex, in the order of `links()`.
  const int* out_begin(Vertex v) const {
    return out_links_.data() + out_offset_[static_cast<std::size_t>(v)];
  }
  const int* out_end(Vertex v) const {
    return out_links_.data() + out_offset_[static_cast<std::size_t>(v) + 1];
  }
  const int* in_begin(Vertex v) const { return in_links_.data() + in_offset_[static_cast<std::size_t>(v)]; }
  const int* in_end(Vertex v) const { return in_links_.data() + in_offset_[static_cast<std::size_t>(v) + 1]; }

  /// A number that equal topologies share, on every rank and platform.
  std::uint64_t fingerprint() const;

  friend bool operator==(const Topology& a, const Topology& b) {
    return a.name_ == b.name_ && a.rank_count_ == b.rank_count_ && a.switch_count_ == b.switch_count_ &&
           a.links_ == b.links_ && a.node_of_rank_ == b.node_of_rank_ && a.nics_ == b.nics_ &&
           a.vertex_names_ == b.vertex_names_ && a.hardware_ == b.hardware_;
  }

 private:
  std::string name_;
  int rank_count_;
  int switch_count_;
  int node_count_;
  std::vector<Link> links_;
  std::vector<int> node_of_rank_;
  std::vector<Nic> nics_;
  std::vector<std::string> vertex_names_;
  Hardware hardware_;
  std::vector<int> out_offset_, out_links_, in_offset_, in_links_;
};

}  // namespace hemiola
