// SPDX-License-Identifier: Apache-2.0
/// Threads that the system may refuse to start.
#pragma once

#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace hemiola {

/// A thread that does the work. `purpose` is what it is for, as in "the job's lobby". Throws LostRankError where the
/// system starts none, naming the limit.
std::thread started_thread(const std::string& purpose, std::function<void()> work);

/// Adds a thread that takes a part of the work; false where the system starts none, and others are to do that part.
bool add_helper(std::vector<std::thread>& helpers, std::function<void()> work);

}  // namespace hemiola
