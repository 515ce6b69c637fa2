// SPDX-License-Identifier: Apache-2.0
// The readable form of a schedule, which round-trips exactly; docs/reference/formats/schedule.md defines it. For
// schedules that people read, write and compare; large ones have a binary form.
#pragma once

#include <string>
#include <string_view>

#include "hemiola/schedule/schedule.hpp"

namespace hemiola {

/// Equal schedules give equal texts. Throws ArgumentError for the rare schedule whose text read_text would
/// refuse as too short for its sizes: more than 4,194,304 chunks of a custom collective, or 1,048,576 steps,
/// that are nearly all unused.
std::string write_text(const Schedule& schedule);

/// Throws FormatError that names `source` and the line. Memory stays within a small multiple of the text's
/// size.
Schedule read_text(std::string_view text, const std::string& source = "schedule text");

/// Whether the first line of the text form is among a file's first bytes.
bool is_text(std::string_view start);

}  // namespace hemiola
