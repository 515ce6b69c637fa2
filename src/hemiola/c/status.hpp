// SPDX-License-Identifier: Apache-2.0
// The text that a job's first rank leaves at its door for `hemiola status`.
#pragma once

#include <string>
#include <vector>

#include "hemiola/runtime/session/session.hpp"

namespace hemiola::c {

/// The present ranks and their processes, as JSON that Python's job_status reads; earlier epochs are not kept.
std::string status_text(const Session& session, const std::vector<Rank>& ranks);

}  // namespace hemiola::c
