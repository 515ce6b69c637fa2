// SPDX-License-Identifier: Apache-2.0
// Bruck et al.: all-gather and all-to-all in ⌈log2 n⌉ rounds for any rank count. The all-gather's mirror
// image is Träff's reduce-scatter and all-reduce on the circulant graph. They take as few rounds and as few
// bytes as recursive halving and doubling, but also for rank counts that are no power of two.
#pragma once

#include <vector>

#include "hemiola/algorithms/algorithm.hpp"

namespace hemiola::algorithms {

/// The paper rotates the buffer at the end; here every chunk has its slot from the start, so nothing is
/// rotated. Data travel up the ranks, the paper's travel down.
Schedule all_gather_bruck(int rank_count);
Schedule reduce_scatter_bruck(int rank_count);
Schedule all_reduce_bruck(int rank_count);
/// A chunk that must travel j ranks up makes the hops that are the binary digits of j, smallest first. Ranks
/// in between keep it in its slot.
Schedule all_to_all_bruck(int rank_count);

std::vector<Algorithm> bruck_algorithms();

}  // namespace hemiola::algorithms
