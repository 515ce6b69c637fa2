// SPDX-License-Identifier: Apache-2.0
// What every session keeps, whatever it is made of. An implementation instantiates SessionContract in its own test.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "hemiola/runtime/session/session.hpp"

namespace hemiola::testing {

/// The sessions of one new job, by rank; each is used by a thread of its own.
using SessionMaker = std::function<std::vector<std::shared_ptr<Session>>(int rank_count)>;

struct SessionCase {
  std::string name;
  SessionMaker make;
};

class SessionContract : public ::testing::TestWithParam<SessionCase> {
 protected:
  static void on_ranks(int rank_count, const std::function<void(Session&)>& body);
};

inline std::string name_of_case(const ::testing::TestParamInfo<SessionCase>& info) {
  return info.param.name;
}

}  // namespace hemiola::testing
