// SPDX-License-Identifier: Apache-2.0
// What a newcomer must know of a job, and the job of it.
#pragma once

#include <string>

namespace hemiola {

struct LobbyTerms {
  std::string version;      ///< the same on both sides
  std::string invitation;   ///< for the newcomer: its options
  std::string refusal;      ///< why nobody may come; empty: they may
  std::string status = {};  ///< for those that ask how the job is
};

}  // namespace hemiola
