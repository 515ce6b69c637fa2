// SPDX-License-Identifier: Apache-2.0
// Which ranks UCX joins by network cards that move data past the processor.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "hemiola/base/deadline.hpp"
#include "hemiola/runtime/session/members.hpp"

namespace hemiola {

/// Whether this host has such a card and the UCX that a job would use here can use it. Opens UCX only where there is a card,
/// and looks once.
bool has_rdma(const std::vector<std::string>& packaged);

/// The members of which that is so, by their numbers in the session. Collective over the members; throws as
/// Session::exchange does.
std::vector<Rank> rdma_ranks(const Members& members, bool own, const Deadline& deadline);

}  // namespace hemiola
