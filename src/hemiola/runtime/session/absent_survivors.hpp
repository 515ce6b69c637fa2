// The error of whoever waited for all members to come, or to be lost.
#pragma once

#include <string>
#include <vector>

#include "hemiola/base/deadline.hpp"
#include "hemiola/base/error.hpp"
#include "hemiola/base/units.hpp"
#include "hemiola/runtime/session/rank_list.hpp"

namespace hemiola {

[[noreturn]] inline void throw_absent_survivors(const std::vector<Rank>& absent, const Deadline& deadline) {
  throw TimeoutError("going on without lost ranks: rank" + std::string(absent.size() == 1 ? " " : "s ") +
                     rank_list(absent) + " did not come within " + format_seconds(deadline.seconds()) +
                     " and is not lost; every rank that lives must call shrink()");
}

}  // namespace hemiola
