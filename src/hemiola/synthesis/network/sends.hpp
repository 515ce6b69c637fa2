// SPDX-License-Identifier: Apache-2.0
// A matcher decides a list of sends. The rest of the folder turns such a list round, times it, and makes a Schedule
// of it.
#pragma once

#include "hemiola/trees/sends.hpp"

namespace hemiola::synthesis {

using trees::Send;
using trees::Sends;
using trees::step_count;

}  // namespace hemiola::synthesis
