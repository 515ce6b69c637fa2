// SPDX-License-Identifier: Apache-2.0
// Wires over a real MPI, where HEMIOLA_TEST_MPI names its library. Started by its mpirun, every process is a rank. Otherwise
// ranks are threads of one process, a job of one that sends to itself; they are told apart by tags.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "../in_process/in_process_session.hpp"
#include "hemiola/runtime/session/local/local_session.hpp"
#include "hemiola/runtime/wire/mpi/mpi_kind.hpp"
#include "hemiola/runtime/wire/mpi/mpi_wire.hpp"
#include "wire_contract.hpp"

namespace hemiola::testing {

/// A card is a tag for each member, by which that one comes here.
class MpiToItself final : public WireKind {
 public:
  explicit MpiToItself(std::string library) {
    MpiWorld::announce({.rank = Rank{0}, .rank_count = 1, .libraries = {std::move(library)}});
    world_ = MpiWorld::of_process();
  }

  std::string name() const override { return "mpi to itself"; }
  bool reaches(const Session&, Rank) const override { return true; }
  Bytes card(const Members& members) override {
    for (int i = 0; i < members.count(); ++i) tags_.push_back(world_->new_tag());
    const auto bytes = std::as_bytes(std::span(tags_));
    return {bytes.begin(), bytes.end()};
  }
  std::unique_ptr<Wire> connect(const Members& members, std::span<const Bytes> cards,
                                const Deadline& deadline) override {
    world_->enter(deadline);
    std::vector<MpiPeer> peers;
    for (std::size_t i = 0; i < cards.size(); ++i) {
      int tag = 0;
      std::memcpy(&tag, cards[i].data() + static_cast<std::size_t>(members.self) * sizeof tag, sizeof tag);
      peers.push_back({.mpi_rank = 0, .send_tag = tag, .receive_tag = tags_[i]});
    }
    return std::make_unique<MpiWire>(world_, members.self, peers);
  }

 private:
  std::shared_ptr<MpiWorld> world_;
  std::vector<int> tags_;
};

/// The processes that mpirun has started; they meet in memory, and talk by MPI.
class MpiProcesses {
 public:
  MpiProcesses(int rank, int rank_count, std::string library)
      : session_(LocalSession::join(
            {Rank{rank}, rank_count, "mpi-contract-" + std::to_string(::getppid()), 60.0})) {
    MpiWorld::announce({Rank{rank}, rank_count, {std::move(library)}});
    world_ = MpiWorld::of_process();
    world_->enter(Deadline(60));
  }

  /// On the last so many, so that they have other numbers in the group than in the job.
  void run(int rank_count, const std::function<void(Wire&, Rank)>& body) {
    const int first = session_->rank_count() - rank_count;
    if (first < 0) GTEST_SKIP() << "needs " << rank_count << " processes";
    if (session_->rank() >= first) {
      std::vector<Rank> ranks;
      for (int i = first; i < session_->rank_count(); ++i) ranks.push_back(Rank{i});
      const auto choose = [this] { return std::make_shared<MpiKind>(world_); };
      const Rank self{session_->rank() - first};
      const auto wire = connect_wire(choose, {session_, ranks, self}, Deadline(60));
      body(*wire, self);
    }
    session_->exchange(all_ranks(session_->rank_count()), "the test is over", {}, Deadline(60));
  }

 private:
  std::shared_ptr<Session> session_;
  std::shared_ptr<MpiWorld> world_;
};

inline std::string from_environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// None where there is no library to be tried.
inline std::vector<WireCase> mpi_wires() {
  const std::string library = from_environment("HEMIOLA_TEST_MPI");
  if (library.empty()) return {};
  for (const auto& [rank, count] :
       {std::pair{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"}, {"PMI_RANK", "PMI_SIZE"}}) {
    if (from_environment(count).empty()) continue;
    const auto processes = [=] {
      static MpiProcesses all(std::stoi(from_environment(rank)), std::stoi(from_environment(count)), library);
      return &all;
    };
    WireCase each{.name = "mpi_processes", .sessions = {}, .kind = {}};
    each.on_processes = [=](int n, const auto& body) { processes()->run(n, body); };
    return {each};
  }
  return {{"mpi_to_itself", InProcessSession::make, [=] { return std::make_shared<MpiToItself>(library); }}};
}

/// MPI wants to be finalized before the process ends.
class LeavesMpi final : public ::testing::Environment {
 public:
  void TearDown() override { MpiWorld::leave(!::testing::Test::HasFailure(), Deadline(60)); }
};

}  // namespace hemiola::testing
