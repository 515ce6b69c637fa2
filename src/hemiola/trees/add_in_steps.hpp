// SPDX-License-Identifier: Apache-2.0
// A list of sends in the order in which a builder takes them as they are.
#pragma once

#include "hemiola/schedule/schedule.hpp"
#include "hemiola/trees/network.hpp"
#include "hemiola/trees/sends.hpp"

namespace hemiola::trees {

/// Cost: O(sends + steps).
void add_in_steps(ScheduleBuilder* builder, const Network& network, const Sends& sends);

}  // namespace hemiola::trees
