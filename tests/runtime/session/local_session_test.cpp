// SPDX-License-Identifier: Apache-2.0
// How ranks meet, share memory and learn of deaths: threads of this process where that is enough, forked
// processes where somebody has to die.
#include "hemiola/runtime/session/local/local_session.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <thread>
#include <vector>

#include "contracts/eventually.hpp"
#include "hemiola/base/error.hpp"
#include "hemiola/runtime/session/local/meeting.hpp"
#include "hemiola/runtime/session/local/packet_socket.hpp"
#include "hemiola/runtime/session/local/session_memory.hpp"
#include "hemiola/runtime/session/lost_member.hpp"

namespace hemiola {
namespace {

/// A session name that no other test and no other run uses.
std::string fresh_name() {
  static std::atomic<int> count{0};
  return "test-" + std::to_string(::getpid()) + "-" + std::to_string(count++);
}

struct Caught {
  std::string type, text;
  std::optional<Rank> lost = {};
};

template <typename F>
Caught caught(F&& body) {
  try {
    body();
  } catch (const ArgumentError& e) {
    return {"argument", e.what()};
  } catch (const LostMemberError& e) {
    return {"lost", e.what(), e.rank};
  } catch (const LostRankError& e) {
    return {"lost", e.what()};
  } catch (const TimeoutError& e) {
    return {"timeout", e.what()};
  } catch (const MismatchError& e) {
    return {"mismatch", e.what()};
  }
  return {"", ""};
}

using Body = std::function<void(LocalSession&)>;

/// Joins with each of the options in a thread of its own, runs `body`, and returns what each one threw.
std::vector<Caught> join_all(
    const std::vector<SessionOptions>& options, const Body& body = [](LocalSession&) {}) {
  std::vector<Caught> results(options.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < options.size(); ++i)
    threads.emplace_back([&, i] { results[i] = caught([&] { body(*LocalSession::join(options[i])); }); });
  for (std::thread& thread : threads) thread.join();
  return results;
}

std::vector<SessionOptions> ranks_of(const std::string& name, int rank_count, double timeout_s = 30) {
  std::vector<SessionOptions> options;
  for (Rank rank : indices<Rank>(rank_count)) options.push_back({rank, rank_count, name, timeout_s});
  return options;
}

void expect_no_error(const std::vector<Caught>& results) {
  for (const Caught& result : results) EXPECT_EQ(result.text, "");
}

void expect_all(const std::vector<Caught>& results, const std::string& type,
                const std::vector<std::string>& words) {
  for (const Caught& result : results) {
    EXPECT_EQ(result.type, type) << result.text;
    for (const std::string& word : words)
      EXPECT_NE(result.text.find(word), std::string::npos) << word << " in " << result.text;
  }
}

std::vector<Rank> all_of(int rank_count) {
  std::vector<Rank> ranks;
  for (Rank rank : indices<Rank>(rank_count)) ranks.push_back(rank);
  return ranks;
}

std::atomic<std::uint64_t>& word_of(std::span<std::byte> region, std::size_t index) {
  return reinterpret_cast<std::atomic<std::uint64_t>*>(region.data())[index];
}

std::vector<Rank> lost_ranks(const Session& session) {
  std::vector<Rank> ranks;
  for (const LostRank& lost : session.lost()) ranks.push_back(lost.rank);
  return ranks;
}

class JoiningRanks : public testing::TestWithParam<int> {};

TEST_P(JoiningRanks, ShareZeroFilledMemoryThatAllOfThemSee) {
  const int rank_count = GetParam();
  expect_no_error(join_all(ranks_of(fresh_name(), rank_count), [&](LocalSession& session) {
    EXPECT_EQ(session.rank_count(), rank_count);
    const auto handle =
        session.shared(all_of(rank_count), 8 * static_cast<std::size_t>(rank_count), Deadline(30));
    const std::span<std::byte> region = handle->bytes();
    EXPECT_EQ(region.size(), 8u * static_cast<std::size_t>(rank_count));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(region.data()) % 4096, 0u);
    const auto own = static_cast<std::size_t>(session.rank());
    EXPECT_EQ(word_of(region, own).load(), 0u);
    word_of(region, own).store(100 + own);
    for (std::size_t r = 0; r < static_cast<std::size_t>(rank_count); ++r)
      eventually([&] { return word_of(region, r).load() == 100 + r; });
    EXPECT_TRUE(session.lost().empty());
  }));
}

INSTANTIATE_TEST_SUITE_P(FromOneToSixteen, JoiningRanks, testing::Values(1, 2, 3, 16));

TEST(LocalSession, JoinsAgainUnderTheSameNameAtOnce) {
  const std::string name = fresh_name();
  for (int round = 0; round < 20; ++round) expect_no_error(join_all(ranks_of(name, 3)));
}

TEST(LocalSession, RanksThatRejoinAtOnceDoNotDisturbTheMeetingThatEnds) {
  const std::string name = fresh_name();
  std::vector<std::thread> threads;
  for (Rank rank : indices<Rank>(4))
    threads.emplace_back([&, rank] {
      for (int round = 0; round < 20; ++round) {
        const SessionOptions options{rank, 4, name, 30};
        EXPECT_EQ(caught([&] { LocalSession::join(options); }).text, "")
            << "rank " << rank << " round " << round;
      }
    });
  for (std::thread& thread : threads) thread.join();
}

TEST(LocalSession, ANameMayBeLongerThanASocketAddress) {
  const std::string name = fresh_name() + std::string(300, 'x');
  expect_no_error(join_all(ranks_of(name, 2)));
}

TEST(LocalSession, DifferentCountsAreAnErrorOnAllRanks) {
  const std::string name = fresh_name();
  expect_all(join_all({{Rank{0}, 3, name, 30}, {Rank{1}, 3, name, 30}, {Rank{2}, 4, name, 30}}), "argument",
             {"has 3 ranks", "rank 2", "says 4"});
}

TEST(LocalSession, ARankTakenTwiceIsAnErrorOnAllRanks) {
  const std::string name = fresh_name();
  expect_all(join_all({{Rank{0}, 3, name, 30}, {Rank{1}, 3, name, 30}, {Rank{1}, 3, name, 30}}), "argument",
             {"rank 1", "taken twice"});
}

TEST(LocalSession, RankZeroTakenTwiceIsAnErrorOnBoth) {
  const std::string name = fresh_name();
  expect_all(join_all({{Rank{0}, 2, name, 30}, {Rank{0}, 2, name, 30}}), "argument",
             {"rank 0", "taken twice"});
}

TEST(LocalSession, ARankOutOfRangeIsAnErrorOnAllRanks) {
  const std::string name = fresh_name();
  expect_all(join_all({{Rank{0}, 2, name, 30}, {Rank{2}, 2, name, 30}}), "argument",
             {"rank 2", "out of range", "0 to 1"});
}

/// A host that welcomes its guest without descriptors. Expect that the guest blames rank 0.
TEST(LocalSession, AWelcomeThatNoRankSendsNamesRankZero) {
  const std::string name = fresh_name();
  const Descriptor listener = listen_at(name);
  std::thread host([&] {
    const Deadline deadline(60);
    Descriptor guest;
    while (!guest && !deadline.passed()) guest = accept_from(listener);
    Packet packet;
    send_packet(guest, packet, {}, deadline);
    std::vector<Descriptor> descriptors;
    while (receive_packet(guest, packet, descriptors, 1000) == Delivery::nothing && !deadline.passed()) {
    }
    packet.kind = Packet::Kind::welcome;
    packet.count = 0;
    send_packet(guest, packet, {}, deadline);
  });
  const Caught error = caught([&] { LocalSession::join({Rank{1}, 2, name, 60}); });
  host.join();
  EXPECT_EQ(error.type, "lost") << error.text;
  EXPECT_EQ(error.lost, Rank{0}) << error.text;
}

/// Rank 1 brings a parcel whose lengths go beyond its slot. Expect that rank 0 blames it.
TEST(LocalSession, AParcelThatNoRankBringsNamesWhoHasBroughtIt) {
  for (const std::array<std::uint64_t, 2>& lengths :
       {std::array<std::uint64_t, 2>{~0ull, 0}, std::array<std::uint64_t, 2>{4, ~0ull}}) {
    const std::string name = fresh_name();
    std::thread rogue([&] {
      Meeting meeting = meet({Rank{1}, 2, name, 60});
      const auto memory = std::make_shared<SessionMemory>(std::move(meeting.memory), Rank{1});
      const std::size_t slot = sizeof lengths + Session::kLongestKey + Session::kMostExchanged;
      const auto fill = [&](std::span<std::byte> region) {
        std::memcpy(region.data() + slot, lengths.data(), sizeof lengths);
        std::memcpy(region.data() + slot + sizeof lengths, "test", 4);
      };
      memory->share(
          {{Rank{0}, Rank{1}}, 2 * slot, Deadline(60), [] { return std::vector<LostRank>(); }, fill});
    });
    const auto session = LocalSession::join({Rank{0}, 2, name, 60});
    const Caught error = caught([&] { session->exchange({Rank{0}, Rank{1}}, "test", {}, Deadline(60)); });
    rogue.join();
    EXPECT_EQ(error.type, "lost") << error.text;
    EXPECT_EQ(error.lost, Rank{1}) << error.text;
  }
}

TEST(LocalSession, ACountBelowOneIsRefused) {
  EXPECT_THROW(LocalSession::join({Rank{0}, 0, fresh_name(), 1}), ArgumentError);
}

TEST(LocalSession, MissingRanksAreNamedToThoseWhoCame) {
  const std::string name = fresh_name();
  // Rank 1 is the first to lose patience; it learns from rank 0 who is missing, and so do all.
  const auto results = join_all({{Rank{0}, 5, name, 30}, {Rank{1}, 5, name, 0.3}, {Rank{3}, 5, name, 30}});
  expect_all(results, "timeout", {"rank 2 of 5 did not join", "within 300 ms", "neither did rank 4"});
  for (const Caught& result : results)
    for (const char* innocent : {"rank 0", "rank 1", "rank 3"})
      EXPECT_EQ(result.text.find(innocent), std::string::npos) << result.text;
}

TEST(LocalSession, RankZerosPatienceEndsForAll) {
  const std::string name = fresh_name();
  expect_all(join_all({{Rank{0}, 3, name, 0.3}, {Rank{1}, 3, name, 30}}), "timeout", {"rank 2 of 3"});
}

TEST(LocalSession, WithoutRankZeroTheOthersSaySo) {
  expect_all(join_all({{Rank{1}, 2, fresh_name(), 0.2}}), "timeout", {"rank 0 of 2 did not join"});
}

TEST(LocalSession, RegionsOfDifferentSetsAndOfOneSetInOrderAreDistinct) {
  expect_no_error(join_all(ranks_of(fresh_name(), 4), [](LocalSession& session) {
    const bool even = session.rank() % 2 == 0;
    const std::vector<Rank> half = even ? std::vector{Rank{0}, Rank{2}} : std::vector{Rank{1}, Rank{3}};
    std::vector<std::shared_ptr<SharedRegion>> regions;
    for (int i = 0; i < 3; ++i) regions.push_back(session.shared(half, 4096, Deadline(30)));
    regions.push_back(session.shared(all_of(4), 4096, Deadline(30)));
    for (std::size_t i = 0; i < regions.size(); ++i)
      word_of(regions[i]->bytes(), static_cast<std::size_t>(session.rank())).store(i + 1);
    for (Rank rank : all_of(4))
      for (std::size_t i = 0; i < regions.size(); ++i) {
        const bool shared = i == 3 || (rank % 2 == 0) == even;
        eventually([&] {
          return word_of(regions[i]->bytes(), static_cast<std::size_t>(rank)).load() == (shared ? i + 1 : 0);
        });
      }
  }));
}

TEST(LocalSession, SharingDifferentSizesIsAnErrorOnBoth) {
  expect_all(join_all(ranks_of(fresh_name(), 2),
                      [](LocalSession& session) {
                        session.shared(all_of(2), session.rank() == Rank{0} ? 64 : 128, Deadline(30));
                      }),
             "mismatch", {"64", "128"});
}

TEST(LocalSession, SharingMoreThanThereIsIsAnErrorOnAll) {
  expect_all(
      join_all(ranks_of(fresh_name(), 2),
               [](LocalSession& session) { session.shared(all_of(2), ~std::size_t{0} / 2, Deadline(30)); }),
      "lost", {"more than the session has left"});
}

TEST(LocalSession, MembersMustBeSortedInRangeAndIncludeTheCaller) {
  expect_no_error(join_all(ranks_of(fresh_name(), 3), [](LocalSession& session) {
    EXPECT_THROW(session.shared({Rank{1}, Rank{0}, Rank{2}}, 64, Deadline(1)), ArgumentError);
    EXPECT_THROW(session.shared({Rank{0}, Rank{1}, Rank{2}, Rank{3}}, 64, Deadline(1)), ArgumentError);
    EXPECT_THROW(session.shared({Rank{(session.rank() + 1) % 3}}, 64, Deadline(1)), ArgumentError);
    EXPECT_THROW(session.shared({}, 64, Deadline(1)), ArgumentError);
  }));
}

TEST(LocalSession, AMemberThatStaysAwayIsNamedAndMayStillComeLater) {
  std::atomic<bool> gave_up{false};
  expect_no_error(join_all(ranks_of(fresh_name(), 3), [&](LocalSession& session) {
    if (session.rank() == Rank{1}) eventually([&] { return gave_up.load(); });
    if (session.rank() == Rank{2}) {
      const Caught first = caught([&] { session.shared(all_of(3), 64, Deadline(0.1)); });
      EXPECT_EQ(first.type, "timeout");
      EXPECT_NE(first.text.find("rank 1"), std::string::npos) << first.text;
      gave_up = true;
    }
    EXPECT_EQ(session.shared(all_of(3), 64, Deadline(30))->bytes().size(), 64u);
  }));
}

TEST(LocalSession, AForkedChildHasNoPartInIt) {
  const auto session = LocalSession::join({Rank{0}, 1, fresh_name(), 5.0});
  const std::shared_ptr<SharedRegion> region = session->shared({Rank{0}}, 100, Deadline(5));
  const pid_t child = ::fork();
  if (child == 0) {
    try {
      session->shared({Rank{0}}, 100, Deadline(5));
    } catch (const ArgumentError&) {
      ::_exit(7);
    }
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

// Given more regions, one after the other, than the session's table has entries. Expect that what was let go of is used
// again, and reads as zeros.
TEST(LocalSession, MemoryThatAllHaveLetGoOfIsGivenBack) {
  expect_no_error(join_all(ranks_of(fresh_name(), 1), [](LocalSession& session) {
    for (int round = 0; round < 70'000; ++round) {
      const auto region = session.shared(all_of(1), 64, Deadline(30));
      ASSERT_EQ(word_of(region->bytes(), 3).load(), 0u);
      word_of(region->bytes(), 3).store(7);
    }
  }));
}

TEST(LocalSession, MemoryThatOneStillHoldsIsNotGivenBack) {
  expect_no_error(join_all(ranks_of(fresh_name(), 2), [](LocalSession& session) {
    auto kept = session.shared(all_of(2), 64, Deadline(30));
    word_of(kept->bytes(), 0).store(5);
    if (session.rank() == Rank{0}) kept.reset();
    for (int round = 0; round < 3; ++round) {
      const auto other = session.shared(all_of(2), 64, Deadline(30));
      word_of(other->bytes(), 0).store(9);
    }
    EXPECT_TRUE(!kept || word_of(kept->bytes(), 0).load() == 5);
  }));
}

TEST(LocalSession, ARequestThatIsTooLargeLeavesRoomForOthers) {
  expect_no_error(join_all(ranks_of(fresh_name(), 1), [](LocalSession& session) {
    for (int i = 0; i < 3; ++i)
      EXPECT_THROW(session.shared(all_of(1), std::size_t{1} << 42, Deadline(1)), LostRankError);
    EXPECT_EQ(session.shared(all_of(1), 64, Deadline(1))->bytes().size(), 64u);
  }));
}

// Given more agreements, one after the other, than the board has places. Expect that a place is used again.
TEST(LocalSession, AgreesOnWhoGoesOnAnyNumberOfTimes) {
  expect_no_error(join_all(ranks_of(fresh_name(), 2), [](LocalSession& session) {
    for (int round = 0; round < 3000; ++round)
      ASSERT_EQ(session.survivors(all_of(2), "round " + std::to_string(round), Deadline(30)), all_of(2));
  }));
}

// ---- deaths ----

/// A child process that joins, runs `body`, and then waits to be killed.
pid_t child_rank(const SessionOptions& options, const Body& body) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  const Caught error = caught([&] {
    const auto session = LocalSession::join(options);
    body(*session);
    for (;;) ::pause();
  });
  ::_exit(error.text.empty() ? 0 : 1);
}

void kill_and_reap(pid_t child) {
  ::kill(child, SIGKILL);
  int status;
  ::waitpid(child, &status, 0);
}

TEST(LocalSessionDeath, AKilledRankIsReportedEvenWhileItsChildLives) {
  const std::string name = fresh_name();
  int to_parent[2];
  ASSERT_EQ(::pipe(to_parent), 0);
  const pid_t child = child_rank({Rank{1}, 2, name, 30}, [&](LocalSession&) {
    // A grandchild that inherits everything, as a data loader's worker does, and outlives its parent.
    const pid_t grandchild = ::fork();
    if (grandchild == 0)
      for (;;) ::pause();
    EXPECT_EQ(::write(to_parent[1], &grandchild, sizeof(grandchild)),
              static_cast<ssize_t>(sizeof(grandchild)));
  });
  const auto session = LocalSession::join({Rank{0}, 2, name, 30});
  pid_t grandchild;
  ASSERT_EQ(::read(to_parent[0], &grandchild, sizeof(grandchild)), static_cast<ssize_t>(sizeof(grandchild)));
  EXPECT_TRUE(session->lost().empty());
  ::kill(child, SIGKILL);  // a zombie from here on: dead all the same
  eventually([&] { return lost_ranks(*session) == std::vector{Rank{1}}; });
  int status;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(lost_ranks(*session), std::vector{Rank{1}});
  ::kill(grandchild, SIGKILL);
}

// Given two ranks that are killed, one after the other, and two that look at different times. Expect that both put the deaths in
// the order in which any rank has seen them, by the same times.
TEST(LocalSessionDeath, WhoeverLooksLaterSaysTheSameTimes) {
  const std::string name = fresh_name();
  std::vector<pid_t> children;
  for (const int rank : {1, 2})
    children.push_back(child_rank({Rank{rank}, 4, name, 30}, [](LocalSession&) {
      for (;;) ::pause();
    }));
  std::vector<std::shared_ptr<LocalSession>> sessions(2);
  std::thread other([&] { sessions[1] = LocalSession::join({Rank{3}, 4, name, 30}); });
  sessions[0] = LocalSession::join({Rank{0}, 4, name, 30});
  other.join();
  std::vector<std::int64_t> seen_ns;
  for (const std::size_t i : {1, 0}) {  // rank 2, then rank 1
    ::kill(children[i], SIGKILL);
    eventually([&] { return sessions[0]->lost().size() == 2 - i; });
    for (const LostRank& lost : sessions[0]->lost())
      if (lost.rank == Rank{i + 1}) seen_ns.push_back(lost.at_ns);
    ::usleep(2000);
  }
  ASSERT_EQ(seen_ns.size(), 2u);
  EXPECT_LT(seen_ns[0], seen_ns[1]);
  const auto later = sessions[1]->lost();
  ASSERT_EQ(later.size(), 2u);
  EXPECT_EQ(later[0].at_ns, seen_ns[1]);
  EXPECT_EQ(later[1].at_ns, seen_ns[0]);
  for (const pid_t child : children) ::waitpid(child, nullptr, 0);
}

/// What the shared memory of the only session of this process holds.
std::int64_t bytes_held() {
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code error;
    const std::string file = std::filesystem::read_symlink(entry.path(), error).string();
    struct stat found{};
    if (file.find("memfd:hemiola") != std::string::npos && ::stat(entry.path().c_str(), &found) == 0)
      return std::int64_t{found.st_blocks} * 512;
  }
  return -1;
}

// Given 8 MiB that a rank shares with two others and has let go of, 8 MiB that only these two share, and a region for which one
// of them never came. Expect that all of it is given back once they are killed.
TEST(LocalSessionDeath, WhatTheDeadHeldIsGivenBack) {
  constexpr std::size_t kBytes = std::size_t{8} << 20;
  const std::string name = fresh_name();
  const auto hold = [&](LocalSession& session) {
    const auto of_all = session.shared(all_of(3), kBytes, Deadline(30));
    const auto of_two = session.shared({Rank{1}, Rank{2}}, kBytes, Deadline(30));
    if (session.rank() == Rank{1}) std::ranges::fill(of_two->bytes(), std::byte{1});
    if (session.rank() == Rank{1}) session.shared({Rank{0}, Rank{1}}, kBytes, Deadline(30));
    word_of(of_all->bytes(), static_cast<std::size_t>(session.rank())).store(1);
    for (;;) ::pause();
  };
  const pid_t one = child_rank({Rank{1}, 3, name, 30}, hold), two = child_rank({Rank{2}, 3, name, 30}, hold);
  const auto session = LocalSession::join({Rank{0}, 3, name, 30});
  auto of_all = session->shared(all_of(3), kBytes, Deadline(30));
  std::ranges::fill(of_all->bytes().subspan(64), std::byte{1});
  session->shared({Rank{0}, Rank{1}}, kBytes, Deadline(30));
  for (std::size_t other : {1u, 2u}) eventually([&] { return word_of(of_all->bytes(), other).load() == 1; });
  EXPECT_GE(bytes_held(), static_cast<std::int64_t>(2 * kBytes));
  kill_and_reap(one);
  kill_and_reap(two);
  EXPECT_EQ(caught([&] { session->shared({Rank{0}, Rank{2}}, kBytes, Deadline(30)); }).lost, Rank{1});
  of_all.reset();
  EXPECT_EQ(session->shared({Rank{0}}, 64, Deadline(30))->bytes().size(), 64u);
  EXPECT_LT(bytes_held(), static_cast<std::int64_t>(kBytes / 4));
}

TEST(LocalSessionDeath, SharingWithADeadRankNamesIt) {
  const std::string name = fresh_name();
  const pid_t child = child_rank({Rank{1}, 3, name, 30}, [](LocalSession&) {});
  const pid_t other = child_rank({Rank{2}, 3, name, 30}, [](LocalSession& session) {
    session.shared({Rank{0}, Rank{2}}, 64, Deadline(30));
  });
  const auto session = LocalSession::join({Rank{0}, 3, name, 30});
  kill_and_reap(child);
  const Caught error = caught([&] { session->shared(all_of(3), 64, Deadline(30)); });
  EXPECT_EQ(error.type, "lost");
  EXPECT_NE(error.text.find("rank 1"), std::string::npos) << error.text;
  EXPECT_EQ(error.lost, Rank{1});
  // The living can still share among themselves.
  EXPECT_EQ(session->shared({Rank{0}, Rank{2}}, 64, Deadline(30))->bytes().size(), 64u);
  kill_and_reap(other);
}

TEST(LocalSessionDeath, AnExchangeWithADeadRankNamesIt) {
  const std::string name = fresh_name();
  const pid_t child = child_rank({Rank{1}, 2, name, 30}, [](LocalSession&) {});
  const auto session = LocalSession::join({Rank{0}, 2, name, 30});
  kill_and_reap(child);
  const Caught error = caught([&] { session->exchange(all_of(2), "x", {}, Deadline(30)); });
  EXPECT_EQ(error.type, "lost");
  EXPECT_NE(error.text.find("rank 1"), std::string::npos) << error.text;
  EXPECT_EQ(error.lost, Rank{1});
}

TEST(LocalSessionDeath, ARankThatDiesWhileOthersAreMissingIsNamed) {
  const std::string name = fresh_name();
  const pid_t child = ::fork();
  if (child == 0) {
    caught([&] { LocalSession::join({Rank{1}, 3, name, 30}); });
    ::_exit(0);
  }
  std::thread killer([&] {
    ::usleep(300'000);
    kill_and_reap(child);
  });
  const Caught error = caught([&] { LocalSession::join({Rank{0}, 3, name, 30}); });
  killer.join();
  EXPECT_EQ(error.type, "lost");
  EXPECT_NE(error.text.find("rank 1"), std::string::npos) << error.text;
  EXPECT_EQ(error.lost, Rank{1});
}

TEST(LocalSessionDeath, ARankThatGaveUpWaitingAndEndedIsNotToBlame) {
  const std::string name = fresh_name();
  const pid_t absent = child_rank({Rank{2}, 3, name, 30}, [](LocalSession&) {});
  const pid_t impatient = ::fork();
  if (impatient == 0) {
    const auto session = LocalSession::join({Rank{1}, 3, name, 30});
    const auto share = [&] { session->shared(all_of(3), 64, Deadline(0.2)); };
    while (caught(share).text.find("rank 2 did not come") == std::string::npos) {  // until rank 0 has come
    }
    ::_exit(0);
  }
  const auto session = LocalSession::join({Rank{0}, 3, name, 30});
  const Caught error = caught([&] { session->shared(all_of(3), 64, Deadline(30)); });
  EXPECT_EQ(error.type, "timeout") << error.text;
  EXPECT_NE(error.text.find("rank 2 did not come"), std::string::npos) << error.text;
  kill_and_reap(absent);
  kill_and_reap(impatient);
}

TEST(LocalSessionDeath, RankZerosDeathWhileJoiningIsSaid) {
  const std::string name = fresh_name();
  const pid_t child = ::fork();
  if (child == 0) {
    caught([&] { LocalSession::join({Rank{0}, 3, name, 30}); });
    ::_exit(0);
  }
  std::thread killer([&] {
    ::usleep(300'000);
    kill_and_reap(child);
  });
  const Caught error = caught([&] { LocalSession::join({Rank{1}, 3, name, 30}); });
  killer.join();
  EXPECT_EQ(error.type, "lost");
  EXPECT_NE(error.text.find("rank 0"), std::string::npos) << error.text;
  EXPECT_EQ(error.lost, Rank{0});
}

TEST(LocalSessionDeath, ManyProcessesMeet) {
  const int rank_count = 64;
  const std::string name = fresh_name();
  std::vector<pid_t> children;
  for (int rank = 1; rank < rank_count; ++rank)
    children.push_back(child_rank({Rank{rank}, rank_count, name, 60}, [&](LocalSession& session) {
      word_of(session.shared(all_of(rank_count), 64, Deadline(60))->bytes(), 0).fetch_add(1);
    }));
  const auto session = LocalSession::join({Rank{0}, rank_count, name, 60});
  const auto region = session->shared(all_of(rank_count), 64, Deadline(60));
  eventually(
      [&] { return word_of(region->bytes(), 0).load() == static_cast<std::uint64_t>(rank_count - 1); });
  EXPECT_TRUE(session->lost().empty());
  for (pid_t child : children) kill_and_reap(child);
  EXPECT_EQ(session->lost().size(), static_cast<std::size_t>(rank_count - 1));
}

}  // namespace
}  // namespace hemiola
