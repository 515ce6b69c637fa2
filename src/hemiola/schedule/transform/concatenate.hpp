// SPDX-License-Identifier: Apache-2.0
// One schedule after another: a reduce-scatter, then an all-gather, is an all-reduce.
#pragma once

#include "hemiola/schedule/schedule.hpp"

namespace hemiola {

/// | first          | second     | together       | both have the same    |
/// |----------------|------------|----------------|-----------------------|
/// | reduce_scatter | all_gather | all_reduce     | owners                |
/// | reduce         | broadcast  | all_reduce     | root                  |
/// | reduce         | scatter    | reduce_scatter | root                  |
/// | reduce_scatter | gather     | reduce         | owners                |
/// | scatter        | all_gather | broadcast      | owners                |
/// | scatter        | gather     | (custom)       | owners                |
/// | gather         | broadcast  | all_gather     | root                  |
/// | gather         | scatter    | (custom)       | root                  |
///
/// In general the second only copies, and its required state must be the result of the first; where no kind
/// has that name, the result is a custom collective. The second's steps follow the first's; since steps are
/// no barriers, the two overlap where data allows. Throws ArgumentError that names the mismatch: ranks,
/// chunks, weights, a slot.
Schedule concatenate(const Schedule& first, const Schedule& second);

}  // namespace hemiola
