// SPDX-License-Identifier: Apache-2.0
// By which kinds of wire the ranks of a communicator exchange messages: each pair has the first that joins the two.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "hemiola/runtime/session/members.hpp"
#include "hemiola/runtime/wire/wire_kind.hpp"

namespace hemiola {

struct WireRequest {
  /// The requested kinds: "auto", or names with commas between, best first.
  std::string_view names = "auto";
  bool needs_signatures = false;  ///< messages must carry the ranks' signatures, since nothing else does
  std::vector<std::string> ucx_libraries = {};  ///< paths of libucp.so.0 in packages of PyPI
  std::vector<Rank> rdma = {};  ///< with "auto": whom UCX joins by RDMA, by their numbers in the session
};

/// Those that can be asked for.
std::vector<std::string> wire_names();

/// Whether all that these say to other hosts is to be encrypted, which TCP alone does.
bool encrypts(const Members& members);

/// Which of them messages between two ranks go over, where these were asked for: UCX and MPI cannot let go of a receive for
/// which nothing comes, of which such messages always have some.
std::string_view message_wires(std::string_view names);

/// Throws an ArgumentError for an unknown name, and for a requested kind that is not available here. `reaches` of the
/// result says whether it joins all.
std::shared_ptr<WireKind> choose_wire(const Members& members, const WireRequest& request);

}  // namespace hemiola
