// SPDX-License-Identifier: Apache-2.0
// The schedule that runs backwards: every copy of an all-gather, from the last to the first, becomes a reduce
// of a reduce-scatter the other way, and so on.
#pragma once

#include "hemiola/schedule/schedule.hpp"

namespace hemiola {

/// | of             | is                                                                                  |
/// |----------------|-------------------------------------------------------------------------------------|
/// | all_gather     | reduce_scatter with the same owners                                                 |
/// | reduce_scatter | all_gather with the same owners                                                     |
/// | broadcast      | reduce to the same root                                                             |
/// | reduce         | broadcast from the same root                                                        |
/// | gather         | scatter, and the other way round                                                    |
/// | all_to_all     | all_to_all; chunk (a, b) walks the way of chunk (b, a) back                         |
/// | custom         | custom with `before` and `after` exchanged, reducing where it was not and vice versa |
///
/// Transfers of values that are there already, and those that no wanted slot depends on, have no reverse and
/// are left out; the reverse of a right schedule is right. The k-th step from the end becomes the k-th from
/// the start. Throws ArgumentError for an all_reduce, and for a schedule with scratch slots. For a custom
/// collective in which some chunk is defined on several ranks (not reducing) or wanted on several (reducing).
/// Where a transfer reads a slot that holds nothing, and where a rank that contributes nothing to a sum would
/// receive two parts of it in one step. Costs O(transfers log transfers).
Schedule reverse(const Schedule& schedule);

}  // namespace hemiola
