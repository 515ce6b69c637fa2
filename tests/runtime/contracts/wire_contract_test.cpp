// SPDX-License-Identifier: Apache-2.0
// The wires that there are, and one between threads that nothing in the core knows, against the contract of them all.
#include "wire_contract.hpp"

#include "../in_process/in_process_session.hpp"
#include "../in_process/in_process_wire.hpp"
#include "hemiola/runtime/wire/emulated/emulated_kind.hpp"
#include "hemiola/runtime/wire/routed/routed_kind.hpp"
#include "hemiola/runtime/wire/shm/shm_kind.hpp"
#include "hemiola/topology/builders/switch.hpp"
#include "local_sessions.hpp"
#include "mpi_wires.hpp"
#include "wire_kinds.hpp"

namespace hemiola::testing {
namespace {

std::shared_ptr<WireKind> eager() {
  return std::make_shared<InProcessKind>(InProcessOptions{.laziness = 3});
}

std::shared_ptr<WireKind> rendezvous() {
  return std::make_shared<InProcessKind>(InProcessOptions{.rendezvous = true, .seed = 7, .laziness = 3});
}

std::shared_ptr<WireKind> shm() {
  return std::make_shared<ShmKind>();
}

std::shared_ptr<WireKind> shm_with_signatures() {
  return std::make_shared<ShmKind>(true);
}

/// Fast, so that the tests are.
std::shared_ptr<WireKind> emulated(std::shared_ptr<WireKind> inner) {
  return std::make_shared<EmulatedKind>(
      std::move(inner),
      topologies::switch_(WireCase::kMostRanks, {.latency = kSecond / 1'000'000, .bandwidth_Bps = 1e10}),
      Conditions{});
}

std::shared_ptr<WireKind> tcp() {
  return std::make_shared<TcpOverLoopback>("127.0.0.1", 1);
}

/// `inside` joins some ranks, TCP all others.
std::shared_ptr<WireKind> routed(std::vector<Rank> ranks, std::shared_ptr<WireKind> inside) {
  return std::make_shared<RoutedKind>(std::vector<std::shared_ptr<WireKind>>{
      std::make_shared<Among>(std::move(ranks), std::move(inside)), tcp()});
}

INSTANTIATE_TEST_SUITE_P(
    , WireContract,
    ::testing::Values(
        WireCase{"shm", local_sessions, shm},
        WireCase{"shm_with_signatures", local_sessions, shm_with_signatures},
        WireCase{"in_process_eager", InProcessSession::make, eager, true},
        WireCase{"in_process_rendezvous", InProcessSession::make, rendezvous, true},
        WireCase{"tcp", InProcessSession::make, tcp},
        WireCase{"tcp_by_three_nics", InProcessSession::make,
                 [] { return std::make_shared<TcpOverLoopback>("127.0.0.1", 3); }},
        WireCase{"tcp_ipv6", InProcessSession::make,
                 [] { return std::make_shared<TcpOverLoopback>("::1", 1); }},
        WireCase{"routed_first_two_by_shm", local_sessions, [] { return routed({Rank{0}, Rank{1}}, shm()); }},
        WireCase{"routed_last_two_by_shm", local_sessions, [] { return routed({Rank{1}, Rank{2}}, shm()); }},
        WireCase{"routed_first_two_by_shm_with_signatures", local_sessions,
                 [] { return routed({Rank{0}, Rank{1}}, shm_with_signatures()); }},
        WireCase{"routed_last_two_in_process", InProcessSession::make,
                 [] { return routed({Rank{1}, Rank{2}}, eager()); }},
        WireCase{"ucx_tcp", InProcessSession::make, [] { return ucx_by("tcp"); }, false, why_no_ucx},
        WireCase{"ucx_shm", InProcessSession::make, [] { return ucx_by("shm"); }, false, why_no_ucx},
        WireCase{"routed_last_two_by_ucx", InProcessSession::make,
                 [] { return routed({Rank{1}, Rank{2}}, ucx_by("tcp")); }, false, why_no_ucx},
        WireCase{"emulated_over_shm", local_sessions, [] { return emulated(shm()); }},
        WireCase{"emulated_over_in_process", local_sessions, [] { return emulated(rendezvous()); }, true}),
    name_of_wire);

INSTANTIATE_TEST_SUITE_P(Mpi, WireContract, ::testing::ValuesIn(mpi_wires()), name_of_wire);
const auto* const leaves_mpi = ::testing::AddGlobalTestEnvironment(new LeavesMpi);

}  // namespace
}  // namespace hemiola::testing
