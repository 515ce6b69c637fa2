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
  /// What was asked for: "auto", or names with commas between, best first.
  std::string_view names = "auto";
  bool needs_signatures = false;                ///< messages must bear what ranks do: nothing else tells it
  std::vector<std::string> ucx_libraries = {};  ///< paths of libucp.so.0 in packages of PyPI
  std::vector<Rank> rdma = {};  ///< with "auto": whom UCX joins by RDMA, by their numbers in the session
};

/// Those that can be asked for.
std::vector<std::string> wire_names();

/// Which of them messages between two ranks go over, where these were asked for: UCX and MPI cannot let go of a receive for
/// which nothing comes, of which such messages always have some.
std::string_view message_wires(std::string_view names);

/// Throws ArgumentError for a name that is none, and where a kind that was asked for cannot be had here. `reaches` of what is
/// returned says whether it joins all.
std::shared_ptr<WireKind> choose_wire(const Members& members, const WireRequest& request);

}  // namespace hemiola
