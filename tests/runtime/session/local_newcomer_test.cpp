// SPDX-License-Identifier: Apache-2.0
// Processes that come to a running session of one machine, and members that leave it.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "contracts/eventually.hpp"
#include "hemiola/base/error.hpp"
#include "hemiola/runtime/session/local/local_session.hpp"
#include "hemiola/runtime/session/local/packet_socket.hpp"

namespace hemiola {
namespace {

constexpr const char* kVersion = "1.0";
constexpr double kLimit_s = 30;

std::string fresh_name() {
  static std::atomic<int> count{0};
  return "newcomer-test-" + std::to_string(::getpid()) + "-" + std::to_string(count++);
}

using Sessions = std::vector<std::shared_ptr<LocalSession>>;

std::vector<Rank> numbers_of(const Sessions& sessions) {
  std::vector<Rank> numbers;
  for (const auto& session : sessions) numbers.push_back(session->rank());
  return numbers;
}

/// Founds a session whose members are all in this process; the first one has the lobby.
Sessions founded(const std::string& name, int rank_count,
                 const LobbyTerms& terms = {kVersion, "be quick", ""}) {
  Sessions sessions(static_cast<std::size_t>(rank_count));
  std::vector<std::thread> threads;
  for (Rank rank : indices<Rank>(rank_count))
    threads.emplace_back([&, rank] {
      sessions[static_cast<std::size_t>(rank)] = LocalSession::join({rank, rank_count, name, kLimit_s});
    });
  for (std::thread& thread : threads) thread.join();
  sessions.front()->open_lobby(numbers_of(sessions), terms);
  return sessions;
}

std::shared_ptr<LocalSession> entered(const std::string& name, double timeout_s = kLimit_s) {
  return LocalSession::enter({name, kVersion, timeout_s, {}});
}

/// What all members say when they agree at once.
std::vector<std::vector<Rank>> agreed(const Sessions& members, const std::string& name,
                                      const std::function<Session::Wishes(Rank)>& wishes) {
  const std::vector<Rank> numbers = numbers_of(members);
  std::vector<std::vector<Rank>> answers(members.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < members.size(); ++i)
    threads.emplace_back([&, i] {
      answers[i] = members[i]->next_members(numbers, name, wishes(members[i]->rank()), Deadline(kLimit_s));
    });
  for (std::thread& thread : threads) thread.join();
  return answers;
}

Session::Wishes admitting(Rank) {
  return {.admits = true};
}

class NewcomersOf : public testing::TestWithParam<int> {};

// Given newcomers that wait, expect that members and newcomers say the same, and can exchange afterwards.
TEST_P(NewcomersOf, AreSeatedBehindTheMembersByTheirNumbers) {
  const int newcomer_count = GetParam();
  const std::string name = fresh_name();
  Sessions all = founded(name, 3);
  const Sessions members = all;
  std::vector<std::thread> threads;
  std::vector<LocalSession::Seat> seats(static_cast<std::size_t>(newcomer_count));
  for (std::size_t i = 0; i < seats.size(); ++i) {
    all.push_back(entered(name));
    EXPECT_EQ(all.back()->invitation(), "be quick");
    threads.emplace_back([&, i, guest = all.back()] { seats[i] = guest->await_seat(Deadline(kLimit_s)); });
    eventually([&] { return members.front()->has_guests(); });
  }
  std::vector<Rank> wanted;
  for (Rank number : indices<Rank>(3 + newcomer_count)) wanted.push_back(number);
  // A newcomer may not have said yet that it is ready: agree until all are in.
  std::vector<Rank> known = numbers_of(members);
  Sessions present = members;
  const Deadline deadline(kLimit_s);
  for (int round = 0; known != wanted && !deadline.passed(); ++round) {
    const auto answers = agreed(present, "round " + std::to_string(round), admitting);
    for (const auto& answer : answers) ASSERT_EQ(answer, answers.front());
    known = answers.front();
    const std::vector<Rank> before = numbers_of(present);
    for (Rank number : known) {
      if (std::ranges::find(before, number) != before.end()) continue;
      const std::size_t i = at(number) - 3;
      threads[i].join();
      EXPECT_EQ(seats[i].agreement, "round " + std::to_string(round));
      EXPECT_EQ(seats[i].members, known);
    }
    present.clear();
    for (Rank number : known) present.push_back(all[at(number)]);
  }
  EXPECT_EQ(known, wanted);
  EXPECT_FALSE(members.front()->has_guests());
  std::vector<std::thread> exchanging;
  for (const auto& session : present)
    exchanging.emplace_back([&, session] {
      const auto own = std::byte{static_cast<std::uint8_t>(session->rank())};
      const auto told = session->exchange(wanted, "numbers", std::span(&own, 1), Deadline(kLimit_s));
      for (std::size_t i = 0; i < told.size(); ++i)
        EXPECT_EQ(told[i], Bytes{std::byte{static_cast<std::uint8_t>(i)}});
      EXPECT_TRUE(session->lost().empty());
    });
  for (std::thread& thread : exchanging) thread.join();
}

INSTANTIATE_TEST_SUITE_P(OneAndTwoAndFive, NewcomersOf, testing::Values(1, 2, 5));

TEST(Newcomer, OfAnotherVersionIsToldBoth) {
  const std::string name = fresh_name();
  const Sessions members = founded(name, 1);
  try {
    LocalSession::enter({name, "0.9", kLimit_s, {}});
    FAIL() << "it was let in";
  } catch (const MismatchError& e) {
    EXPECT_NE(std::string(e.what()).find("runs hemiola 1.0, this process hemiola 0.9"), std::string::npos)
        << e.what();
  }
}

TEST(Newcomer, IsToldWhyNobodyMayCome) {
  const std::string name = fresh_name();
  const Sessions members = founded(name, 1, {kVersion, "", "it has an emulated network"});
  try {
    entered(name);
    FAIL() << "it was let in";
  } catch (const ArgumentError& e) {
    EXPECT_NE(std::string(e.what()).find("it has an emulated network"), std::string::npos) << e.what();
  }
}

// Given a text that no packet holds, expect it whole; then the one that replaced it. Expect it of a job that lets nobody
// in, too, and of one whose name no address holds.
TEST(Lobby, TellsTheLatestStatus) {
  const std::string plain = fresh_name();
  for (const std::string& name : {plain, plain + std::string(200, 'x')}) {
    EXPECT_EQ(Lobby::status_of(name, kVersion, Deadline(kLimit_s)), std::nullopt);
    const std::string long_text(300'000, 'a');
    const Sessions members = founded(name, 2, {kVersion, "", "it has an emulated network", long_text});
    const auto asked = [&] {
      std::optional<std::string> told;
      eventually([&] { return (told = Lobby::status_of(name, kVersion, Deadline(kLimit_s))).has_value(); });
      return told;
    };
    EXPECT_EQ(asked(), long_text);
    members.front()->open_lobby({Rank{0}}, {kVersion, "", "", "b"});
    EXPECT_EQ(asked(), "b");
    EXPECT_THROW(Lobby::status_of(name, "0.9", Deadline(kLimit_s)), MismatchError);
    members.front()->close_lobby();
    EXPECT_EQ(Lobby::status_of(name, kVersion, Deadline(kLimit_s)), std::nullopt);
  }
}

// Given a listener that never answers, as that of a stopped process, expect that one who asks gives up in time.
TEST(Lobby, ThatDoesNotAnswerIsNotWaitedForLong) {
  const std::string name = fresh_name();
  const Descriptor listener = listen_at(name + " lobby");
  EXPECT_THROW(Lobby::status_of(name, kVersion, Deadline(0.2)), TimeoutError);
}

// Given members that leave, expect that all members know them, and the processes of all, by their numbers.
TEST(Member, KnowsWhoHasTakenLeave) {
  const std::string name = fresh_name();
  const Sessions members = founded(name, 4);
  const auto wishes = [](Rank rank) { return Session::Wishes{.leaves = rank == Rank{1} || rank == Rank{3}}; };
  for (const auto& answer : agreed(members, "two leave", wishes))
    EXPECT_EQ(answer, (std::vector{Rank{0}, Rank{2}}));
  for (const auto& member : members)
    for (Rank rank : indices<Rank>(4)) EXPECT_EQ(member->has_taken_leave(rank), wishes(rank).leaves) << rank;
  EXPECT_EQ(members.front()->process_of(Rank{2}), static_cast<std::uint64_t>(::getpid()));
  EXPECT_EQ(members.front()->process_of(Rank{9}), 0);
}

TEST(Newcomer, OfAJobThatThereIsNotGivesUpInTime) {
  EXPECT_THROW(entered(fresh_name(), 0.2), TimeoutError);
}

TEST(Newcomer, WhomNobodyLetsInGivesUpInTime) {
  const std::string name = fresh_name();
  const Sessions members = founded(name, 1);
  EXPECT_THROW(entered(name)->await_seat(Deadline(0.2)), TimeoutError);
}

// Given a process that dies at the door, expect that the next agreement neither names nor expects it.
TEST(Newcomer, ThatDiesAtTheDoorIsForgotten) {
  const std::string name = fresh_name();
  const pid_t child = ::fork();  // before this process has threads
  if (child == 0) {
    try {
      entered(name)->await_seat(Deadline(kLimit_s));
    } catch (const Error&) {
    }
    ::_exit(0);
  }
  const Sessions members = founded(name, 2);
  eventually([&] { return members.front()->has_guests(); });
  ::kill(child, SIGKILL);
  int status;
  ::waitpid(child, &status, 0);
  for (const auto& answer : agreed(members, "after its death", admitting))
    EXPECT_EQ(answer, numbers_of(members));
  EXPECT_FALSE(members.front()->has_guests());
}

// Given a job whose processes have all ended, expect that a newcomer which waits for its seat learns that.
TEST(Newcomer, OfAJobThatEndsIsTold) {
  const std::string name = fresh_name();
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto alone = LocalSession::join({Rank{0}, 1, name, kLimit_s});
    alone->open_lobby({alone->rank()}, {kVersion, "", ""});
    for (;;) ::pause();
  }
  const auto guest = entered(name);
  std::thread killer([&] {
    ::usleep(200'000);
    ::kill(child, SIGKILL);
    int status;
    ::waitpid(child, &status, 0);
  });
  EXPECT_THROW(guest->await_seat(Deadline(kLimit_s)), LostRankError);
  killer.join();
}

TEST(Newcomer, FindsTheLobbyOfTheNextMemberOnceTheFirstHasClosedIts) {
  const std::string name = fresh_name();
  const Sessions members = founded(name, 2);
  members[1]->open_lobby({Rank{1}}, {kVersion, "second", ""});  // waits until the name is free
  members[0]->close_lobby();
  EXPECT_EQ(entered(name)->invitation(), "second");
}

class Leaving : public testing::TestWithParam<int> {};

TEST_P(Leaving, MemberIsNotAmongTheNextOnes) {
  const Rank leaver{GetParam()};
  const Sessions members = founded(fresh_name(), 3);
  std::vector<Rank> rest = numbers_of(members);
  std::erase(rest, leaver);
  const auto wish = [&](Rank rank) { return Session::Wishes{.leaves = rank == leaver, .admits = true}; };
  for (const auto& answer : agreed(members, "without one", wish)) EXPECT_EQ(answer, rest);
  Sessions others = members;
  std::erase_if(others, [&](const auto& session) { return session->rank() == leaver; });
  for (const auto& answer : agreed(others, "once more", admitting)) EXPECT_EQ(answer, rest);
}

INSTANTIATE_TEST_SUITE_P(FirstMiddleLast, Leaving, testing::Values(0, 1, 2));

// Given more agreements than the board has places, with a newcomer and a leaving member in each, expect that places are
// used again.
TEST(ComingAndGoing, LeavesNothingBehind) {
#ifdef HEMIOLA_SANITIZED
  constexpr int kRounds = 150;  // for races and leaks; the plain build fills the board
#else
  constexpr int kRounds = 1200;
#endif
  const std::string name = fresh_name();
  Sessions members = founded(name, 2);
  for (int round = 0; round < kRounds; ++round) {
    const auto guest = entered(name);
    LocalSession::Seat seat;
    std::thread waiting([&] { seat = guest->await_seat(Deadline(kLimit_s)); });
    eventually([&] { return members.front()->has_guests(); });
    const Rank leaver = members.back()->rank();
    const auto wish = [&](Rank rank) { return Session::Wishes{.leaves = rank == leaver, .admits = true}; };
    const auto answers = agreed(members, "round " + std::to_string(round), wish);
    waiting.join();
    members.back() = guest;
    ASSERT_EQ(seat.members, numbers_of(members));
    for (const auto& answer : answers) ASSERT_EQ(answer, seat.members);
  }
}

}  // namespace
}  // namespace hemiola
