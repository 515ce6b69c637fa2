// SPDX-License-Identifier: Apache-2.0
#include "hemiola/base/started_thread.hpp"

#include <system_error>
#include <utility>

#include "hemiola/base/error.hpp"
#include "hemiola/base/refusal.hpp"

namespace hemiola {

std::thread started_thread(const std::string& purpose, std::function<void()> work) {
  try {
    return std::thread(std::move(work));
  } catch (const std::system_error& error) {
    throw LostRankError(refusal("cannot start a thread for " + purpose, error.code().value()));
  }
}

bool add_helper(std::vector<std::thread>& helpers, std::function<void()> work) {
  try {
    helpers.emplace_back(std::move(work));
    return true;
  } catch (const std::system_error&) {
    return false;
  }
}

}  // namespace hemiola
