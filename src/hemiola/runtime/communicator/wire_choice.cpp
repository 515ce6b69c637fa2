// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/communicator/wire_choice.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "hemiola/base/error.hpp"
#include "hemiola/runtime/session/hosts/hosts_session.hpp"
#include "hemiola/runtime/wire/mpi/mpi_kind.hpp"
#include "hemiola/runtime/wire/routed/routed_kind.hpp"
#include "hemiola/runtime/wire/shm/shm_kind.hpp"
#include "hemiola/runtime/wire/tcp/tcp_kind.hpp"
#include "hemiola/runtime/wire/ucx/ucx_kind.hpp"

namespace hemiola {
namespace {

std::shared_ptr<WireKind> make_shm(const Members&, const WireRequest& request) {
  return std::make_shared<ShmKind>(request.needs_signatures);
}

/// Where a session joins several hosts, it has an address for the wire, too.
std::shared_ptr<WireKind> make_tcp(const Members& members, const WireRequest&) {
  const auto* hosts = dynamic_cast<const HostsSession*>(members.session.get());
  if (hosts == nullptr)
    throw ArgumentError(
        "the wire 'tcp' joins ranks that have met at an address, and these have met in memory; name one with "
        "HEMIOLA_RENDEZVOUS");
  return std::make_shared<TcpKind>(TcpOptions{.reception = hosts->reception(), .nics = hosts->nics()});
}

/// Where all that leaves a host is to be encrypted.
void refuse_plain(const Members& members, const std::string& wire) {
  if (encrypts(members))
    throw ArgumentError("expected a wire that encrypts, since HEMIOLA_TLS is set, found '" + wire +
                        "'; have HEMIOLA_WIRE name 'tcp', or unset HEMIOLA_TLS on all ranks");
}

/// Where an MPI has started the ranks.
std::shared_ptr<WireKind> make_mpi(const Members& members, const WireRequest&) {
  refuse_plain(members, "mpi");
  return std::make_shared<MpiKind>(MpiWorld::of_process());
}

std::shared_ptr<WireKind> make_ucx(const Members& members, const WireRequest& request) {
  refuse_plain(members, "ucx");
  return std::make_shared<UcxKind>(
      UcxOptions{.packaged = request.ucx_libraries,
                 .among = request.names == "auto" ? request.rdma : std::vector<Rank>{}});
}

struct Row {
  std::string_view name;
  std::shared_ptr<WireKind> (*make)(const Members&, const WireRequest&);
};
constexpr std::array kTable{Row{"shm", make_shm}, Row{"tcp", make_tcp}, Row{"ucx", make_ucx},
                            Row{"mpi", make_mpi}};

/// Where nobody has asked for anything: shared memory inside a host, between hosts UCX if both ranks have RDMA, else TCP.
std::vector<std::string_view> best_first(const Members& members, const WireRequest& request) {
  const auto is_near = [&](Rank rank) {
    return members.session->host_of(rank) == members.session->host_of(members.session->rank());
  };
  if (std::ranges::all_of(members.ranks, is_near)) return {"shm"};
  if (request.rdma.size() > 1) return {"shm", "ucx", "tcp"};
  return {"shm", "tcp"};
}

std::vector<std::string_view> split(std::string_view names) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t comma = names.find(',');
    parts.push_back(names.substr(0, comma));
    if (comma == std::string_view::npos) return parts;
    names.remove_prefix(comma + 1);
  }
}

}  // namespace

std::vector<std::string> wire_names() {
  std::vector<std::string> names;
  for (const Row& row : kTable) names.emplace_back(row.name);
  return names;
}

bool encrypts(const Members& members) {
  const auto* hosts = dynamic_cast<const HostsSession*>(members.session.get());
  return hosts != nullptr && hosts->reception()->credentials().tls != nullptr;
}

std::string_view message_wires(std::string_view names) {
  const auto holds = [](std::string_view name) { return name == "ucx" || name == "mpi"; };
  return std::ranges::any_of(split(names), holds) ? "auto" : names;
}

std::shared_ptr<WireKind> choose_wire(const Members& members, const WireRequest& request) {
  std::vector<std::shared_ptr<WireKind>> kinds;
  for (const std::string_view name :
       request.names == "auto" ? best_first(members, request) : split(request.names)) {
    const auto row = std::ranges::find(kTable, name, &Row::name);
    if (row == kTable.end())
      throw ArgumentError("no wire is called '" + std::string(name) + "'; see HEMIOLA_WIRE");
    kinds.push_back(row->make(members, request));
  }
  if (kinds.size() == 1) return kinds.front();
  return std::make_shared<RoutedKind>(std::move(kinds));
}

}  // namespace hemiola
