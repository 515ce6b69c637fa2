// SPDX-License-Identifier: Apache-2.0
// A collective as one or two spreadings: chunks get from the ranks that hold them to the ranks that want
// them. A reduction is a spreading on the reversed network, turned round. A scatter is a gather there: the
// chunk that has arrived last at the root, which has come the longest way or waited longest, then leaves
// first.
#pragma once

#include <vector>

#include "hemiola/base/index.hpp"
#include "hemiola/schedule/collective.hpp"

namespace hemiola::synthesis {

struct Phase {
  bool turned = false;    ///< searched for on the reversed network: chunks get from `wanted` to `holders`
  bool reducing = false;  ///< turned, and parts are added up on the way
  std::vector<std::vector<Rank>> holders;  ///< per chunk
  bool to_all = false;                     ///< every rank wants every chunk
  std::vector<std::vector<Rank>> wanted;   ///< per chunk, without its holders; empty where `to_all`
};

/// An all_reduce is two phases: to each chunk's owner, then from there. So is a custom reduction whose results are
/// wanted in several places.
std::vector<Phase> phases_of(const Collective& collective);

}  // namespace hemiola::synthesis
