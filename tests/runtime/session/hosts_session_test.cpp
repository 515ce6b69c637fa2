// SPDX-License-Identifier: Apache-2.0
// The session between hosts, in one process: each rank has a listening socket and a sideband of its own.
#include "hemiola/runtime/session/hosts/hosts_session.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <optional>
#include <random>
#include <set>
#include <thread>
#include <utility>

#include "contracts/control_contract.hpp"
#include "contracts/eventually.hpp"
#include "contracts/on_threads.hpp"
#include "contracts/session_contract.hpp"
#include "hemiola/base/error.hpp"
#include "hemiola/base/head.hpp"
#include "hemiola/runtime/control/hosts/hosts_control.hpp"
#include "hemiola/runtime/net/tcp_socket.hpp"
#include "hemiola/runtime/session/hosts/frames.hpp"
#include "hemiola/runtime/session/hosts/neighbours.hpp"
#include "hemiola/runtime/session/hosts/sideband.hpp"
#include "hemiola/runtime/wire/shm/shm_kind.hpp"
#include "net/cut_nic.hpp"
#include "net/full_table.hpp"

namespace hemiola::testing {
namespace {

const Endpoint kHere = Endpoint::parse("127.0.0.1");

struct Job {
  Token token = Token::random();
  Hash128 digest{1, 2};
  std::string name = "hosts-session-test-" + std::to_string(::getpid()) + "-" + std::to_string(counter++);
  static inline int counter = 0;
};

HostsOptions options_of(const Job& job, Rank rank, int rank_count) {
  HostsOptions options{.reception = std::make_shared<Reception>(
                           listen_at(kHere), Credentials{job.token, job.digest, 0, rank, "1"}),
                       .rank_count = rank_count};
  options.addresses = {kHere};
  options.name = job.name;
  return options;
}

std::vector<std::shared_ptr<Session>> make(int rank_count) {
  const Job job;
  std::vector<HostsOptions> options;
  for (Rank rank : indices<Rank>(rank_count)) options.push_back(options_of(job, rank, rank_count));
  const Endpoint rank_zero = options.front().reception->endpoint();
  std::vector<std::shared_ptr<Session>> sessions(static_cast<std::size_t>(rank_count));
  on_threads(rank_count, [&](Rank rank) {
    HostsOptions& own = options[static_cast<std::size_t>(rank)];
    own.rank_zero = {rank_zero};
    sessions[static_cast<std::size_t>(rank)] = HostsSession::join(own);
  });
  return sessions;
}

INSTANTIATE_TEST_SUITE_P(Hosts, SessionContract, ::testing::Values(SessionCase{"Hosts", make}), name_of_case);
INSTANTIATE_TEST_SUITE_P(OverTcp, ControlContract,
                         ::testing::Values(ControlCase{"OverTcp", make,
                                                       std::make_shared<const HostsControl>()}),
                         name_of_control);

TEST(HostsSession, WhoLeavesIsKnownToAllToHaveLeft) {
  auto sessions = make(5);
  sessions[3].reset();
  for (Rank rank : {Rank{0}, Rank{1}, Rank{2}, Rank{4}})
    eventually([&] {
      const auto lost = sessions[static_cast<std::size_t>(rank)]->lost();
      return lost.size() == 1 && lost[0].rank == 3 && lost[0].reason.find("left") != std::string::npos;
    });
  for (const std::size_t rank : {1, 2, 4})
    EXPECT_EQ(sessions[rank]->lost()[0].at_ns, sessions[0]->lost()[0].at_ns) << "whenever each looked";
}

/// Each rank sends numbers to the other while the first NIC is cut, at a random moment. Expect each number once and in order,
/// and nobody lost.
TEST(HostsSession, MessagesOfTheSidebandGoOnOverAnotherNic) {
  constexpr int kCount = 1500;
  constexpr Topic kTopic = 77;
  const Job job;
  std::vector<HostsOptions> options;
  for (Rank rank : all_ranks(2)) {
    options.push_back(options_of(job, rank, 2));
    HostsOptions& own = options.back();
    own.reception = std::make_shared<Reception>(listen_at(Endpoint::parse("0.0.0.0")),
                                                Credentials{job.token, job.digest, 0, rank, "1"});
    own.addresses = {kNics.begin(), kNics.end()};
    own.nics = {{.endpoints = {kNics[0]}}, {.endpoints = {kNics[1]}}};
  }
  const std::uint16_t port = options.front().reception->endpoint().port();
  std::vector<std::shared_ptr<Session>> sessions(2);
  std::array<std::vector<int>, 2> heard;
  std::array<std::atomic<int>, 2> count{};
  std::vector<std::unique_ptr<Courier::Subscription>> subscriptions(2);
  on_threads(2, [&](Rank rank) {
    const auto self = static_cast<std::size_t>(rank);
    options[self].rank_zero = {kNics[0].with_port(port), kNics[1].with_port(port)};
    sessions[self] = HostsSession::join(options[self]);
    subscriptions[self] =
        sessions[self]->courier()->subscribe(kTopic, [&, self](Rank, std::span<const std::byte> message) {
          heard[self].push_back(head_of<int>(message));
          ++count[self];
        });
    sessions[self]->exchange(all_ranks(2), "all have subscribed", {}, Deadline(60));
  });
  std::mt19937 random(5);
  const int cut_at = std::uniform_int_distribution(0, kCount / 2)(random);
  for (int i = 0; i < kCount; ++i) {
    if (i == cut_at) {
      EXPECT_GT(cut(0), 0);
    }
    for (const std::size_t self : {0, 1})
      sessions[self]->courier()->send(Rank{1 - self}, kTopic, with_head(i, {}));
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  for (const std::size_t self : {0, 1}) {
    eventually([&] { return count[self] == kCount; });
    for (int i = 0; i < kCount; ++i) ASSERT_EQ(heard[self].at(static_cast<std::size_t>(i)), i);
    EXPECT_TRUE(sessions[self]->lost().empty());
    ASSERT_FALSE(sessions[self]->complaints().empty());
    EXPECT_NE(sessions[self]->complaints().front().find("127.0.0.1 is cut"), std::string::npos);
  }
}

/// Given three ranks of one host, of which one looks for the others' memory where it is not. Expect that all can still talk,
/// that none counts as another's neighbour, and that a wire that needs memory refuses them.
TEST(HostsSession, RanksOfOneHostThatCannotOpenMemoryInCommonAreOnHostsOfTheirOwn) {
  const Job job;
  std::vector<HostsOptions> options;
  for (Rank rank : all_ranks(3)) {
    options.push_back(options_of(job, rank, 3));
    options.back().rank_zero = {options.front().reception->endpoint()};
    options.back().memory_timeout_s = 0.3;
  }
  options[1].name += "-elsewhere";
  std::vector<std::shared_ptr<Session>> sessions(3);
  on_threads(3, [&](Rank rank) {
    auto& session = sessions[static_cast<std::size_t>(rank)];
    session = HostsSession::join(options[static_cast<std::size_t>(rank)]);
    EXPECT_EQ(session->exchange(all_ranks(3), "x", Bytes{std::byte{7}}, Deadline(60)).size(), 3u);
    EXPECT_EQ(session->shared(all_ranks(3), 4096, Deadline(60)), nullptr);
  });
  for (const auto& session : sessions)
    for (Rank rank : all_ranks(3))
      EXPECT_EQ(ShmKind().reaches(*session, rank), rank == session->rank()) << session->rank();
}

/// What a rank never sends, each with a word of the reason that the others are told.
std::vector<std::pair<Bytes, std::string>> bad_frames() {
  const auto frame = [](std::uint32_t bytes, std::uint32_t kind, std::uint64_t topic, std::size_t filled) {
    const FrameHead head{bytes, static_cast<FrameKind>(kind), topic};
    return with_head(head, Bytes(filled, std::byte{0xfb}));
  };
  return {{frame(0xffffffff, 1, 1, 0), "4294967295 bytes"},
          {frame(4, 77, 0, 4), "kind 77"},
          {frame(0, 2, 1, 0), "0 bytes"},
          {frame(24, 2, 1, 24), "rank -"},
          {frame(40, 3, 0, 40), "rank -"},
          {frame(3, 3, 0, 3), "3 bytes"},
          {frame(1, 1, 1, 1), "1 bytes left"},
          {frame(64, 1, 5, 64), "bytes left"},
          {frame(2, 7, 0, 2), "2 bytes"},
          {frame(24, 7, 0, 24), "clock"},
          {Bytes(4096, std::byte{0x5a}), "kind"}};
}

/// A connection to rank 0 as another rank makes one.
ByteStream connection_to_rank_zero(const Credentials& own, const Endpoint& rank_zero) {
  auto handshake = Handshake::connect(rank_zero, &own, Door::purpose_of(1, 0), Rank{0});
  for (int i = 0; i < 30'000 && handshake.progress() == Handshake::State::under_way; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(handshake.progress(), Handshake::State::proved) << handshake.reason();
  return handshake.take();
}

TEST(HostsSession, WhoSendsWhatNoRankSendsIsLostToAllAndNobodyElseIs) {
  for (const auto& [frame, word] : bad_frames()) {
    SCOPED_TRACE(word);
    const Job job;
    std::vector<HostsOptions> options;
    for (Rank rank : all_ranks(3)) options.push_back(options_of(job, rank, 3));
    const Endpoint rank_zero = options[0].reception->endpoint();
    std::vector<std::shared_ptr<Session>> sessions(3);
    on_threads(3, [&](Rank rank) {
      options[static_cast<std::size_t>(rank)].rank_zero = {rank_zero};
      sessions[static_cast<std::size_t>(rank)] = HostsSession::join(options[static_cast<std::size_t>(rank)]);
    });
    const Credentials credentials{job.token, job.digest, 0, Rank{1}, "1"};
    const ByteStream socket = connection_to_rank_zero(credentials, rank_zero);
    ASSERT_EQ(::send(socket.get(), frame.data(), frame.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(frame.size()));
    for (const std::size_t rank : {0, 2}) {
      eventually([&] { return !sessions[rank]->lost().empty(); });
      const auto lost = sessions[rank]->lost();
      ASSERT_EQ(lost.front().rank, 1) << lost.front().reason;
      EXPECT_NE(lost.front().reason.find("no rank sends"), std::string::npos) << lost.front().reason;
      EXPECT_NE(lost.front().reason.find(word), std::string::npos) << lost.front().reason;
    }
    EXPECT_EQ(sessions[0]->lost()[0].at_ns, sessions[2]->lost()[0].at_ns) << "as the first to notice said";
  }
}

/// Given rank 5 of a larger job, which meets a job of two and asks for the time. Expect an answer, and that its clock is none of
/// this job's.
TEST(Sideband, ARankOfALargerJobIsAnsweredAndItsClockDoesNotCount) {
  const Job job;
  const auto reception = options_of(job, Rank{0}, 2).reception;
  Sideband sideband(reception, all_ranks(2));
  sideband.start();
  const Credentials credentials{job.token, job.digest, 0, Rank{5}, "1"};
  const ByteStream socket = connection_to_rank_zero(credentials, reception->endpoint());
  const Bytes ping = with_head(FrameHead{24, FrameKind::ping, 0}, Bytes(24));
  ASSERT_EQ(::send(socket.get(), ping.data(), ping.size(), MSG_NOSIGNAL), static_cast<ssize_t>(ping.size()));
  std::array<std::byte, sizeof(FrameHead) + 24> pong;
  eventually([&] { return ::recv(socket.get(), pong.data(), pong.size(), MSG_PEEK) == std::ssize(pong); });
  EXPECT_EQ(head_of<FrameHead>(pong).kind, FrameKind::pong);
  EXPECT_GE(sideband.clock().error_ns, CommonClock::kUnknown_ns);
}

TEST(Sideband, WhoHasNoRoomForAConnectionIsLostItselfAndBlamesNobody) {
  const Job job;
  std::vector<std::shared_ptr<Reception>> receptions;
  std::vector<std::unique_ptr<Sideband>> sidebands;
  for (Rank rank : all_ranks(2)) {
    receptions.push_back(options_of(job, rank, 2).reception);
    sidebands.push_back(std::make_unique<Sideband>(
        receptions.back(), all_ranks(2), SidebandLimits{.silence = std::chrono::milliseconds(300)}));
  }
  const FullTable full;
  for (Rank rank : all_ranks(2)) {
    Sideband& sideband = *sidebands[static_cast<std::size_t>(rank)];
    const Rank other{1 - rank};
    sideband.learn(other, {receptions[static_cast<std::size_t>(other)]->endpoint()});
    sideband.watch();
    sideband.start();
  }
  eventually([&] { return !sidebands[0]->lost().empty() && !sidebands[1]->lost().empty(); });
  for (const auto& sideband : sidebands)
    for (const LostRank& lost : sideband->lost()) EXPECT_EQ(lost.rank, 0) << lost.reason;
  EXPECT_NE(sidebands[0]->lost()[0].reason.find("ulimit -n"), std::string::npos);
  EXPECT_FALSE(sidebands[0]->complaints().empty());
}

/// Sidebands of a job that watch each other, one of which can be stopped for a while.
class Watching {
 public:
  explicit Watching(int rank_count, std::chrono::milliseconds silence) {
    const Job job;
    for (Rank rank : all_ranks(rank_count)) {
      receptions_.push_back(options_of(job, rank, rank_count).reception);
      all.push_back(std::make_unique<Sideband>(receptions_.back(), all_ranks(rank_count),
                                               SidebandLimits{.silence = silence}));
    }
    for (Rank rank : all_ranks(rank_count)) {
      Sideband& one = *all[at(rank)];
      for (Rank other : all_ranks(rank_count))
        if (other != rank) one.learn(other, {receptions_[at(other)]->endpoint()});
      one.watch();
      one.start();
    }
  }
  ~Watching() { go_on_.store(true); }

  void leave(Rank rank) {
    all[at(rank)].reset();
    receptions_[at(rank)].reset();
  }
  /// Its thread stands still until this ends.
  void stop(Rank rank) {
    stopped_ = all[at(rank)]->subscribe(Topic{7777}, [this](Rank, std::span<const std::byte>) {
      while (!go_on_.load()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    });
    all[at(rank)]->send(rank, Topic{7777}, {});
  }

  std::vector<std::unique_ptr<Sideband>> all;

 private:
  std::vector<std::shared_ptr<Reception>> receptions_;
  std::atomic<bool> go_on_{false};
  std::unique_ptr<Courier::Subscription> stopped_;
};

std::optional<Evidence> evidence_of(const Sideband& sideband, Rank rank) {
  for (const LostRank& lost : sideband.lost())
    if (lost.rank == rank) return lost.evidence;
  return std::nullopt;
}

class Losing : public ::testing::TestWithParam<unsigned> {};

/// Given five of eight ranks that leave one after the other in a random order, and one more that stands still. Expect that the
/// two that are left know all of them, the last by its silence.
TEST_P(Losing, WhoeverLivesIsWatchedAfterAnyLosses) {
  std::mt19937 random(GetParam());
  std::vector<Rank> order = all_ranks(8);
  std::ranges::shuffle(order, random);
  Watching ranks(8, std::chrono::milliseconds(2000));
  const std::vector<Rank> left(order.begin(), order.begin() + 5), living(order.begin() + 6, order.end());
  for (Rank rank : left) {
    ranks.leave(rank);
    for (Rank other : living)
      eventually([&] { return evidence_of(*ranks.all[at(other)], rank).has_value(); });
  }
  const Rank stopped = order[5];
  ranks.stop(stopped);
  for (Rank rank : living) {
    const Sideband& sideband = *ranks.all[at(rank)];
    eventually([&] { return evidence_of(sideband, stopped) == Evidence::suspicion; });
    for (Rank gone : left) eventually([&] { return evidence_of(sideband, gone) == Evidence::seen; });
    EXPECT_EQ(sideband.lost().size(), 6u);
  }
}

INSTANTIATE_TEST_SUITE_P(InManyOrders, Losing, ::testing::Range(0u, 3u));

TEST(Neighbours, AreMutualAndJoinAllThatLiveWhoeverIsLost) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 2000; ++trial) {
    std::vector<Rank> living = all_ranks(std::uniform_int_distribution(1, 40)(random));
    std::ranges::shuffle(living, random);
    living.resize(std::uniform_int_distribution(std::size_t{1}, living.size())(random));
    std::ranges::sort(living);
    std::set<Rank> reached{living.front()};
    for (std::size_t before = 0; std::exchange(before, reached.size()) < reached.size();)
      for (Rank rank : std::vector<Rank>(reached.begin(), reached.end()))
        for (Rank neighbour : neighbours_of(rank, living)) {
          reached.insert(neighbour);
          const std::vector<Rank> back = neighbours_of(neighbour, living);
          ASSERT_TRUE(std::ranges::binary_search(back, rank)) << "trial " << trial;
          ASSERT_NE(neighbour, rank);
        }
    ASSERT_EQ(std::vector<Rank>(reached.begin(), reached.end()), living) << "trial " << trial;
  }
}

TEST(HostsSession, WhoHasAnotherTokenIsRefusedAndItIsSaid) {
  const Job job, other;
  HostsOptions zero = options_of(job, Rank{0}, 2), one = options_of(other, Rank{1}, 2);
  one.rank_zero = {zero.reception->endpoint()};
  zero.timeout_s = one.timeout_s = 1;
  std::string said_to_zero;
  std::thread waits([&] {
    try {
      HostsSession::join(zero);
    } catch (const TimeoutError& e) {
      said_to_zero = e.what();
    }
  });
  EXPECT_THROW(HostsSession::join(one), TimeoutError);
  waits.join();
  EXPECT_NE(said_to_zero.find("rank 1"), std::string::npos) << said_to_zero;
  EXPECT_NE(said_to_zero.find("token"), std::string::npos) << said_to_zero;
}

/// What a rank of a meeting that fails is told.
struct Told {
  std::string text;
  Rank culprit = Cause::kNobody;
  bool is_mistake = false;
};

std::vector<Told> joined(std::vector<HostsOptions> options) {
  std::vector<Told> told(options.size());
  std::vector<std::thread> threads;
  const Endpoint rank_zero = options.front().reception->endpoint();
  for (std::size_t i = 0; i < options.size(); ++i)
    threads.emplace_back([&, i] {
      if (i > 0) options[i].rank_zero = {rank_zero};
      try {
        HostsSession::join(options[i]);
      } catch (const AbsentMemberError& e) {
        told[i] = {e.what(), e.cause.rank};
      } catch (const LostMemberError& e) {
        told[i] = {e.what(), e.cause.rank};
      } catch (const ArgumentError& e) {
        told[i] = {e.what(), Cause::kNobody, true};
      }
    });
  for (std::thread& thread : threads) thread.join();
  return told;
}

/// Given rank 1, which does not come, and a rank that gives up long before the others.
TEST(HostsSession, AllBlameTheRankThatDoesNotComeAndNotTheOneThatGivesUpFirst) {
  for (const std::size_t impatient : {0u, 1u, 2u}) {
    const Job job;
    std::vector<HostsOptions> options;
    for (Rank rank : {Rank{0}, Rank{2}, Rank{3}}) options.push_back(options_of(job, rank, 4));
    for (HostsOptions& one : options) one.timeout_s = 1.5;
    options[impatient].timeout_s = 1;
    for (const Told& told : joined(std::move(options))) {
      EXPECT_EQ(told.culprit, Rank{1}) << told.text;
      for (const char* innocent : {"rank 0", "rank 2", "rank 3"})
        EXPECT_EQ(told.text.find(innocent), std::string::npos) << told.text;
    }
  }
}

TEST(HostsSession, AllLearnWhoHasAnotherToken) {
  const Job job, other;
  std::vector<HostsOptions> options;
  for (Rank rank : all_ranks(3)) options.push_back(options_of(rank == 2 ? other : job, rank, 3));
  for (HostsOptions& one : options) one.timeout_s = 1;
  const std::vector<Told> told = joined(std::move(options));
  for (const std::size_t rank : {0u, 1u}) {
    EXPECT_EQ(told[rank].culprit, Rank{2}) << told[rank].text;
    EXPECT_NE(told[rank].text.find("do not have one token"), std::string::npos) << told[rank].text;
  }
}

/// Given rank 2 of a job that it takes for smaller, or for so large that the others do not know its rank.
TEST(HostsSession, DifferingNumbersOfRanksAreNamedToAll) {
  for (const auto& [rank, count] : {std::pair{Rank{2}, 4}, std::pair{Rank{1}, 2}, std::pair{Rank{7}, 8}}) {
    const Job job;
    std::vector<HostsOptions> options{options_of(job, Rank{0}, 3),
                                      options_of(job, rank == 1 ? Rank{2} : Rank{1}, 3),
                                      options_of(job, rank, count)};
    for (const Told& told : joined(std::move(options))) {
      EXPECT_TRUE(told.is_mistake) << told.text;
      EXPECT_NE(told.text.find("has 3 ranks, rank " + std::to_string(rank) + " (process "),
                std::string::npos);
      EXPECT_NE(told.text.find("says " + std::to_string(count)), std::string::npos) << told.text;
    }
  }
}

TEST(HostsSession, ARankThatComesTwiceIsNamedToAll) {
  const Job job;
  for (const Told& told :
       joined({options_of(job, Rank{0}, 3), options_of(job, Rank{1}, 3), options_of(job, Rank{1}, 3)})) {
    EXPECT_TRUE(told.is_mistake) << told.text;
    EXPECT_NE(told.text.find("rank 1 of job '" + job.name + "' was taken twice, by process "),
              std::string::npos)
        << told.text;
  }
}

/// Given rank 2, which gives up over rank 1 and leaves. Expect that whoever finds it gone is told over whom.
TEST(HostsSession, ARankThatIsGoneHasSaidOverWhomItGaveUp) {
  auto sessions = make(4);
  sessions[2]->tell_cause({Rank{1}, "did not come within 2 s", 5, true});
  sessions[2]->tell_cause({Rank{3}, "has died", 6});  // the first counts
  sessions[2].reset();
  for (const std::size_t rank : {0u, 1u, 3u})
    eventually([&] {
      const auto lost = sessions[rank]->lost();
      return lost.size() == 1 && lost[0].cause().text() == "rank 1 did not come within 2 s";
    });
  sessions[3]->tell_cause({Rank{1}, "did not come within 2 s", 5, true});
  sessions[3]->take_cause_back();
  sessions[3].reset();
  eventually([&] {
    const auto lost = sessions[0]->lost();
    return lost.size() == 2 && lost[1].cause().text() == "rank 3 has left the job";
  });
}

}  // namespace
}  // namespace hemiola::testing
