// SPDX-License-Identifier: Apache-2.0
// An all-reduce where a port carries one message at a time, at the pace of the slower of its two ends, bound by prices of
// ports.
#pragma once

#include <vector>

namespace hemiola::bounds {

/// The least seconds among participants with ports of those rates, bytes per second each way, of a buffer of
/// one byte. Found within 1e-9 for up to 12 different rates, and for more as if some of these were faster.
///
/// Of every byte a cut into p parts sees 2(p - 1) sends from part to part [OptCC, Lemma 10]. Give each participant a price,
/// and a send the sum of its two ends', times as long as it takes. Let the parts be those that cheaper and
/// cheaper sends join: then a byte costs at least twice the cheapest tree over all. A port that is busy all
/// the time earns its price, in each direction half. For the best prices trees attain that
/// (all_reduce_relayed_exchange), by duality: no schedule does better than trees.
double least_seconds_by_prices(const std::vector<double>& rate_Bps);

}  // namespace hemiola::bounds
