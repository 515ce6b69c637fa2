// SPDX-License-Identifier: Apache-2.0
#include "hemiola/base/error.hpp"

namespace hemiola {

void fail_check(const char* condition, const char* file, int line, const std::string& message) {
  throw InternalError("bug in hemiola: " + message + " (" + condition + " does not hold at " + file + ":" +
                      std::to_string(line) + "); please report it");
}

}  // namespace hemiola
