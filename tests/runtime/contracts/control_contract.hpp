// SPDX-License-Identifier: Apache-2.0
// What every control plane keeps under the ordering rule of control.hpp. An implementation instantiates ControlContract
// in its own test.
#pragma once

#include "hemiola/runtime/control/control.hpp"
#include "session_contract.hpp"

namespace hemiola::testing {

struct ControlCase {
  std::string name;
  SessionMaker sessions;
  std::shared_ptr<const ControlKind> kind;
};

/// One rank's part.
struct ControlPlace {
  Members members;
  Control control;
};

class ControlContract : public ::testing::TestWithParam<ControlCase> {
 protected:
  static std::vector<ControlPlace> connect(int rank_count);
};

inline std::string name_of_control(const ::testing::TestParamInfo<ControlCase>& info) {
  return info.param.name;
}

}  // namespace hemiola::testing
