#include "hemiola/algorithms/conditional_algorithms.hpp"

namespace hemiola::algorithms {
namespace {

constexpr Paper kTraff{"traff2024broadcast", "Träff 2024"};
constexpr Paper kStragglar{"StragglAR", "Devraj, Ding, Vijaya Kumar, Kleinberg, Singh 2025"};
constexpr Paper kOptcc{"OptCC", "Chen, Jiang, Yu, Wang, Xiong, Wang, Liu 2026"};

std::vector<Algorithm> for_late_ranks() {
  return {
      {.name = "all_reduce_late",
       .kind = CollectiveKind::all_reduce,
       .paper = kTraff,
       .idea =
           "The early ranks reduce-scatter while they wait; then the late rank's raw chunks and the finished "
           "chunks follow each other on the circulant graph.",
       .sizes = "any n ≥ 3",
       .chunks_formula = "K, by default n-1",
       .steps_formula = "⌈log2 n⌉-1+K after arrival",
       .bytes_formula = "",
       .formula = "(⌈log2 n⌉-1+K)·(α + N/K·β) after arrival",
       .needs = Needs::late},
      {.name = "all_reduce_late_segmented",
       .kind = CollectiveKind::all_reduce,
       .paper = kTraff,
       .idea = "The finish of all_reduce_late for the segments that the early ranks have reduced by then, a "
               "ring for the others.",
       .sizes = "any n ≥ 3",
       .chunks_formula = "",
       .steps_formula = "",
       .bytes_formula = "",
       .formula = "",
       .needs = Needs::late},
      {.name = "all_reduce_late_several",
       .kind = CollectiveKind::all_reduce,
       .paper = kTraff,
       .idea = "The ranks in time reduce-scatter; each late rank adds its part as it comes and takes over "
               "the chunks it "
               "owns; the last one starts the finish of all_reduce_late.",
       .sizes = "any n ≥ 3, two in time",
       .chunks_formula = "K, by default n-1",
       .steps_formula = "⌈log2 n⌉-1+K after the last arrival",
       .bytes_formula = "",
       .formula = "(⌈log2 n⌉-1+K)·(α + N/K·β) after the last arrival",
       .needs = Needs::late},
      {.name = "all_reduce_late_together",
       .kind = CollectiveKind::all_reduce,
       .paper = kStragglar,
       .idea =
           "The ranks in time reduce-scatter; then late ranks, who come together, hand them their parts of "
           "the next chunks while they hand out what is complete.",
       .sizes = "any n ≥ 3, two in time",
       .chunks_formula = "K, by default 8(n-k)",
       .steps_formula = "n-k + ⌈K/(n-k)⌉(n-1) after the last arrival",
       .bytes_formula = "",
       .formula = "(n-k + K(n-1)/(n-k))·(α + N/K·β) after the last of k arrivals",
       .needs = Needs::late},
      {.name = "all_reduce_late_broadcast",
       .kind = CollectiveKind::all_reduce,
       .paper = kStragglar,
       .idea =
           "The early ranks all-reduce while they wait; the late rank exchanges the whole buffer with one of "
           "them, and a binomial tree spreads it.",
       .sizes = "any n ≥ 3",
       .chunks_formula = "n-1",
       .steps_formula = "⌈log2 n⌉ after arrival",
       .bytes_formula = "",
       .formula = "⌈log2 n⌉·(α + N·β) after arrival",
       .needs = Needs::late},
      {.name = "all_reduce_stragglar",
       .kind = CollectiveKind::all_reduce,
       .paper = kStragglar,
       .idea =
           "The early ranks reduce-scatter while they wait; then they spread what the late rank completes.",
       .sizes = "powers of two from 4",
       .chunks_formula = "n-1",
       .steps_formula = "n-2+log2 n after arrival",
       .bytes_formula = "",
       .formula = "(n-2+log2 n)·(α + N/(n-1)·β) after arrival",
       .needs = Needs::late},
      {.name = "all_reduce_stragglar_matching",
       .kind = CollectiveKind::all_reduce,
       .paper = kStragglar,
       .idea = "The same for other even counts, each round a maximum-weight matching.",
       .sizes = "even n ≥ 4",
       .chunks_formula = "n-1",
       .steps_formula = "n-2+⌈log2 n⌉ after arrival, or a few more",
       .bytes_formula = "",
       .formula = "",
       .needs = Needs::late},
  };
}

std::vector<Algorithm> for_slow_ranks() {
  return {
      {.name = "all_reduce_weighted_exchange",
       .kind = CollectiveKind::all_reduce,
       .paper = kOptcc,
       .idea =
           "Direct exchange in K segments in which a slow rank owns less; the reduce-scatter of a segment "
           "shares its messages with the all-gather of the one before.",
       .sizes = "any n ≥ 2",
       .chunks_formula = "",
       .steps_formula = "(n-1)(K+1)",
       .bytes_formula = "",
       .formula = "l(K+1)/K·N·β for one slow rank of factor l ≥ 2, bandwidth only",
       .needs = Needs::slow},
      {.name = "reduce_scatter_weighted_exchange",
       .kind = CollectiveKind::reduce_scatter,
       .paper = kOptcc,
       .idea = "The weighted exchange's first half: every rank ends with the section that it owns there.",
       .sizes = "any n ≥ 2",
       .chunks_formula = "",
       .steps_formula = "n-1",
       .bytes_formula = "",
       .formula = "l(1-f)·N·β for one slow rank of factor l that owns a share f, bandwidth only",
       .needs = Needs::slow},
      {.name = "all_gather_weighted_exchange",
       .kind = CollectiveKind::all_gather,
       .paper = kOptcc,
       .idea = "The weighted exchange's second half: every rank brings the section that it owns there.",
       .sizes = "any n ≥ 2",
       .chunks_formula = "",
       .steps_formula = "n-1",
       .bytes_formula = "",
       .formula = "l(1-f)·N·β for one slow rank of factor l that owns a share f, bandwidth only",
       .needs = Needs::slow},
      {.name = "broadcast_weighted_exchange",
       .kind = CollectiveKind::broadcast,
       .paper = kOptcc,
       .idea =
           "The root sends each rank a section in K segments, all hand theirs on; a slow rank's is smaller.",
       .sizes = "any n ≥ 2",
       .chunks_formula = "",
       .steps_formula = "(n-1)(K+1)",
       .bytes_formula = "",
       .formula = "l(K+1)/K·N·β for one slow rank of factor l, bandwidth only",
       .needs = Needs::slow},
      {.name = "all_reduce_open_shop_exchange",
       .kind = CollectiveKind::all_reduce,
       .paper = kOptcc,
       .idea = "The weighted exchange for several slow ranks, its messages cut into slots in each of which "
               "every rank has one partner, so that no port waits for another.",
       .sizes = "any n ≥ 2",
       .chunks_formula = "",
       .steps_formula = "",
       .bytes_formula = "",
       .formula = "T(K+1)/K·N·β for the busiest port's load T, bandwidth only",
       .needs = Needs::slow},
      {.name = "all_reduce_paced_exchange",
       .kind = CollectiveKind::all_reduce,
       .paper = kOptcc,
       .idea =
           "The weighted exchange with all messages of a segment in flight at once, in units of one size, "
           "for ports that share their bandwidth fairly.",
       .sizes = "any n ≥ 2",
       .chunks_formula = "",
       .steps_formula = "K+1",
       .bytes_formula = "",
       .formula = "max(2(n-1)/Σ 1/l, max l)(K+1)/K·N·β, bandwidth only",
       .needs = Needs::slow},
      {.name = "all_reduce_rail_exchange",
       .kind = CollectiveKind::all_reduce,
       .paper = kOptcc,
       .idea = "The weighted exchange over hosts on every rail, phases inside the hosts one segment ahead "
               "and one "
               "behind.",
       .sizes = "q ≥ 2 hosts of g ranks",
       .chunks_formula = "",
       .steps_formula = "(max(q, g)-1)(K+3)",
       .bytes_formula = "",
       .formula = "(l(K+1)+2)/(gK)·N·β for one slow host of factor l ≥ 2, bandwidth only",
       .needs = Needs::slow},
      {.name = "all_reduce_rail_open_shop_exchange",
       .kind = CollectiveKind::all_reduce,
       .paper = kOptcc,
       .idea = "The open-shop exchange over hosts on every rail, for several slow hosts, phases inside the "
               "hosts one segment ahead and one behind.",
       .sizes = "q ≥ 2 hosts of g ranks",
       .chunks_formula = "",
       .steps_formula = "",
       .bytes_formula = "",
       .formula = "(T(K+1)+2)/(gK)·N·β for the busiest NIC's load T, bandwidth only",
       .needs = Needs::slow},
      {.name = "all_reduce_optcc",
       .kind = CollectiveKind::all_reduce,
       .paper = kOptcc,
       .idea = "A section's parts travel round the ring of the healthy ranks to its owner, the slow rank's "
               "straight "
               "there; the result goes back both ways.",
       .sizes = "any n ≥ 3",
       .chunks_formula = "K(n-1), Kn for a factor below 2",
       .steps_formula = "",
       .bytes_formula = "",
       .formula = "l(K+1.5-1/(n-1))/K·N·β at most for one slow rank of factor l ≥ 2, bandwidth only",
       .needs = Needs::slow},
  };
}

/// What a topology decides stays empty.
Algorithm for_topology(std::string_view name, CollectiveKind kind, Paper paper, std::string_view idea,
                       std::string_view topologies, std::string_view chunks) {
  return {.name = name,
          .kind = kind,
          .paper = paper,
          .idea = idea,
          .sizes = topologies,
          .chunks_formula = chunks,
          .steps_formula = "",
          .bytes_formula = "",
          .formula = "",
          .needs = Needs::topology};
}

std::vector<Algorithm> for_topologies() {
  constexpr Paper kMultiTree{"huang2021", "Huang, Majumder, Kim, Muzahid, Yum, Kim 2021"};
  constexpr std::string_view kDirect = "without switches, links alike";
  constexpr std::string_view kGrid = "grids of any dimensions";
  return {
      for_topology("all_gather_multitree", CollectiveKind::all_gather, kMultiTree,
                   "One tree per rank, all grown at once, no link used twice in a step.", kDirect, "n"),
      for_topology("reduce_scatter_multitree", CollectiveKind::reduce_scatter, kMultiTree,
                   "The all-gather over the reversed links, backwards.", kDirect, "n"),
      for_topology("all_reduce_multitree", CollectiveKind::all_reduce, kMultiTree,
                   "The reduce-scatter, then the all-gather, of the same trees.", kDirect, "n"),
      for_topology("all_reduce_blueconnect", CollectiveKind::all_reduce,
                   {"cho2019", "Cho, Finkler, Serrano, Kung, Hunter 2019"},
                   "Reduce-scatter along each dimension in turn, then all-gather along them in reverse.",
                   kGrid, "K parts of n, or 2n where there are rings"),
      for_topology("all_reduce_themis", CollectiveKind::all_reduce,
                   {"rashidi2022", "Rashidi, Won, Srinivasan, Sridharan, Krishna 2022"},
                   "BlueConnect with an order of its own for each part: least busy dimension first.", kGrid,
                   "K parts of n, or 2n where there are rings"),
      for_topology("all_reduce_c_cube", CollectiveKind::all_reduce, {"cho2023", "Cho, Son, Kim 2023"},
                   "Two binary trees that share no link, reduce and broadcast overlapped.", "DGX-1: 8 ranks",
                   "K, even"),
  };
}

}  // namespace

std::vector<Algorithm> conditional_algorithms() {
  std::vector<Algorithm> all;
  for (const auto& family : {for_late_ranks(), for_slow_ranks(), for_topologies()})
    all.insert(all.end(), family.begin(), family.end());
  return all;
}

}  // namespace hemiola::algorithms
