// A number that stands for a schedule, by which ranks make sure that they run the same one.
#pragma once

#include <cstdint>

#include "hemiola/schedule/schedule.hpp"

namespace hemiola {

/// Equal for equal schedules; different ones collide with a probability of about 2^-64 (not against an adversary).
/// Never 0. Reads every transfer once.
std::uint64_t digest_of(const Schedule& schedule);

}  // namespace hemiola
