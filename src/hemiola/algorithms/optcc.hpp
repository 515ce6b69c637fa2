// OptCC's four stages on a ring of the healthy ranks, for networks in which only neighbours are near.
#pragma once

#include "hemiola/schedule/schedule.hpp"

namespace hemiola::algorithms {

/// Each section of the buffer: (1) the slow rank sends its raw part to a healthy one; (2) the part travels round
/// the healthy ring, gathering; (3) the last rank returns the result to the slow one and (4) sends it round the
/// ring [OptCC, §4.1]. Instead of the paper's four patterns one pattern rotates: the rank that talks to the slow
/// one moves back by one for each section, which keeps all ports busy. For k segments and l >= 2 at most (k +
/// 1.5)/k of the bound for an even number of ranks n, (k + 1.75 - 1/(n-1))/k for an odd one, whose healthy ring has
/// two sections end at a time; below l = 2 up to 1.17 times that, as the slow rank owns nothing and its port has
/// time to spare. Throws ArgumentError for fewer than 3 ranks, a slow rank that does not exist, segments < 1.
Schedule all_reduce_optcc(int rank_count, Rank slow_rank, int segments);

}  // namespace hemiola::algorithms
