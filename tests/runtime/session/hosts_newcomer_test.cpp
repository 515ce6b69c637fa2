// SPDX-License-Identifier: Apache-2.0
// Processes that come to a running job on several hosts, and members that leave it: in one process, where each rank has a
// listening socket and a sideband of its own.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "contracts/eventually.hpp"
#include "hemiola/base/error.hpp"
#include "hemiola/runtime/net/tcp_socket.hpp"
#include "hemiola/runtime/session/hosts/hosts_session.hpp"
#include "hemiola/runtime/session/hosts/visitor.hpp"

namespace hemiola {
namespace {

constexpr double kLimit_s = 30;
const Endpoint kHere = Endpoint::parse("127.0.0.1");

using Member = std::shared_ptr<HostsSession>;
using Members = std::vector<Member>;

struct Job {
  Token token = Token::random();
  std::string name = "hosts-newcomer-test-" + std::to_string(::getpid()) + "-" + std::to_string(counter++);
  static inline std::atomic<int> counter = 0;

  Credentials credentials(Rank rank, std::string version = "1") const {
    return {token, Hash128{1, 2}, 0, rank, std::move(version)};
  }
  HostsOptions options(Descriptor listener, Rank rank, int rank_count) const {
    HostsOptions options{.reception = std::make_shared<Reception>(std::move(listener), credentials(rank)),
                         .rank_count = rank_count};
    options.addresses = {kHere};
    options.name = name;
    options.timeout_s = kLimit_s;
    return options;
  }
};

std::vector<Rank> numbers_of(const Members& members) {
  std::vector<Rank> numbers;
  for (const Member& member : members) numbers.push_back(member->rank());
  return numbers;
}

/// Does the same for all at once, a thread for each.
void each(std::size_t count, const std::function<void(std::size_t)>& act) {
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < count; ++i) threads.emplace_back([&act, i] { act(i); });
  for (std::thread& thread : threads) thread.join();
}

const LobbyTerms kTerms{"1", "be quick", ""};

void open_lobbies(const Members& members, const LobbyTerms& terms = kTerms) {
  for (const Member& member : members) member->open_lobby(numbers_of(members), terms);
}

Members founded(const Job& job, int rank_count, const LobbyTerms& terms = kTerms) {
  std::vector<HostsOptions> options;
  for (Rank rank : indices<Rank>(rank_count))
    options.push_back(job.options(listen_at(kHere), rank, rank_count));
  const Endpoint rank_zero = options.front().reception->endpoint();
  Members members(at(rank_count));
  each(members.size(), [&](std::size_t i) {
    options[i].rank_zero = {rank_zero};
    members[i] = HostsSession::join(options[i]);
  });
  open_lobbies(members, terms);
  return members;
}

Endpoint place_of(const Member& member) {
  return member->reception()->endpoint();
}

/// A process that comes to a job.
struct Newcomer {
  Newcomer(const Job& its_job, const std::vector<Endpoint>& members, const std::string& version = "1")
      : job(its_job),
        listener(listen_at(kHere)),
        visitor({.credentials = job.credentials(kNewcomer, version),
                 .job = job.name,
                 .own = {local_endpoint(listener)},
                 .members = members}) {}

  void come() {
    visitor.knock(Deadline(kLimit_s));
    visitor.prepare(Deadline(kLimit_s));
  }
  Member sit(const visit::Seat& seat) {
    return HostsSession::enter(job.options(std::move(listener), seat.number, seat.rank_count), seat,
                               visitor.neighbours());
  }

  const Job& job;
  Descriptor listener;
  Visitor visitor;
};

std::vector<std::vector<Rank>> agreed(const Members& members, const std::string& name,
                                      const std::function<Session::Wishes(Rank)>& wishes) {
  const std::vector<Rank> numbers = numbers_of(members);
  std::vector<std::vector<Rank>> answers(members.size());
  each(members.size(), [&](std::size_t i) {
    answers[i] = members[i]->next_members(numbers, name, wishes(members[i]->rank()), Deadline(kLimit_s));
  });
  return answers;
}

Session::Wishes admitting(Rank) {
  return {.admits = true};
}

void expect_that_all_exchange(const Members& members) {
  const std::vector<Rank> numbers = numbers_of(members);
  each(members.size(), [&](std::size_t i) {
    const auto own = std::byte{static_cast<std::uint8_t>(numbers[i])};
    const auto told = members[i]->exchange(numbers, "numbers", std::span(&own, 1), Deadline(kLimit_s));
    for (std::size_t j = 0; j < numbers.size(); ++j)
      EXPECT_EQ(told[j], Bytes{std::byte{static_cast<std::uint8_t>(numbers[j])}});
  });
}

/// Lets so many in at once: the members and the newcomers say the same.
Members grown(const Job& job, const Members& members, int newcomer_count, const std::string& name) {
  Members all = members;
  std::vector<std::unique_ptr<Newcomer>> newcomers;
  for (int i = 0; i < newcomer_count; ++i)
    newcomers.push_back(
        std::make_unique<Newcomer>(job, std::vector{place_of(members.back()), place_of(members.front())}));
  std::vector<Member> seated(newcomers.size());
  std::vector<visit::Seat> seats(newcomers.size());
  std::vector<std::thread> coming;
  std::atomic<int> ready = 0;
  for (std::size_t i = 0; i < newcomers.size(); ++i)
    coming.emplace_back([&, i] {
      newcomers[i]->come();
      EXPECT_EQ(newcomers[i]->visitor.invitation(), "be quick");
      ++ready;
      seats[i] = newcomers[i]->visitor.await_seat(Deadline(kLimit_s));
      seated[i] = newcomers[i]->sit(seats[i]);
    });
  eventually([&] { return ready == newcomer_count && members.front()->has_guests(); });
  ::usleep(100'000);  // the last one may be about to say that it is ready
  const auto answers = agreed(members, name, admitting);
  for (std::thread& thread : coming) thread.join();
  std::ranges::sort(seated, {}, [](const Member& one) { return one->rank(); });
  all.insert(all.end(), seated.begin(), seated.end());
  for (const auto& answer : answers) EXPECT_EQ(answer, numbers_of(all));
  for (const visit::Seat& seat : seats) EXPECT_EQ(seat.agreement, name);
  return all;
}

class HostsNewcomersOf : public testing::TestWithParam<int> {};

// Given newcomers that wait, expect that members and newcomers say the same, share the host's memory, and can exchange.
TEST_P(HostsNewcomersOf, AreSeatedBehindTheMembersByTheirNumbers) {
  const Job job;
  const Members all = grown(job, founded(job, 3), GetParam(), "first");
  expect_that_all_exchange(all);
  for (const Member& member : all) {
    EXPECT_FALSE(member->has_guests());
    EXPECT_TRUE(member->lost().empty());
    for (const Member& other : all)
      EXPECT_EQ(member->host_of(other->rank()), all.front()->host_of(Rank{0})) << "they share memory";
  }
  each(all.size(), [&](std::size_t i) {
    const auto region = all[i]->shared(numbers_of(all), 64, Deadline(kLimit_s));
    ASSERT_TRUE(region);
    region->bytes()[i] = std::byte{1};
  });
}
INSTANTIATE_TEST_SUITE_P(Of, HostsNewcomersOf, testing::Values(1, 2, 3));

// Given a first member that leaves, expect that newcomers find the next one, and that numbers are not given twice.
TEST(HostsNewcomer, FindsTheNextFirstMember) {
  const Job job;
  Members members = grown(job, founded(job, 2), 1, "first");
  const auto answers = agreed(members, "second",
                              [](Rank rank) { return Session::Wishes{.leaves = rank == 0, .admits = true}; });
  for (const auto& answer : answers) EXPECT_EQ(answer, (std::vector{Rank{1}, Rank{2}}));
  for (const Member& member : members) EXPECT_TRUE(member->has_taken_leave(Rank{0}));
  members.front()->close_lobby();
  members.erase(members.begin());
  open_lobbies(members);
  members = grown(job, members, 1, "third");
  EXPECT_EQ(numbers_of(members), (std::vector{Rank{1}, Rank{2}, Rank{3}}));
  expect_that_all_exchange(members);
}

// Given a lobby's member that ends while a newcomer waits, expect that the newcomer knocks at the next one.
TEST(HostsNewcomer, KnocksAgainWhereTheLobbyHasEnded) {
  const Job job;
  Members members = founded(job, 3);
  Newcomer newcomer(job, {place_of(members.front())});
  newcomer.come();
  visit::Seat seat;
  Member seated;
  std::thread coming([&] {
    seat = newcomer.visitor.await_seat(Deadline(kLimit_s));
    seated = newcomer.sit(seat);
  });
  eventually([&] { return members.front()->has_guests(); });
  members.front().reset();
  members.erase(members.begin());
  const std::vector<Rank> everybody{Rank{0}, Rank{1}, Rank{2}};
  each(members.size(), [&](std::size_t i) {
    eventually([&] { return !members[i]->lost().empty(); });
    EXPECT_EQ(members[i]->next_members(everybody, "without", {.admits = true}, Deadline(kLimit_s)),
              (std::vector{Rank{1}, Rank{2}}));
  });
  open_lobbies(members);
  eventually([&] { return members.front()->has_guests(); });
  const auto answers = agreed(members, "with", admitting);
  coming.join();
  for (const auto& answer : answers) EXPECT_EQ(answer, (std::vector{Rank{1}, Rank{2}, Rank{3}}));
  members.push_back(seated);
  expect_that_all_exchange(members);
}

// Given a newcomer that ends at the door, expect that nobody is let in.
TEST(HostsNewcomer, EndsAtTheDoorWithoutATrace) {
  const Job job;
  const Members members = founded(job, 2);
  auto newcomer = std::make_unique<Newcomer>(job, std::vector{place_of(members.front())});
  newcomer->come();
  EXPECT_THROW(newcomer->visitor.await_seat(Deadline(0.1)), TimeoutError);
  eventually([&] { return members.front()->has_guests(); });
  newcomer.reset();
  eventually([&] { return !members.front()->has_guests(); });
  for (const auto& answer : agreed(members, "nobody", admitting)) EXPECT_EQ(answer, numbers_of(members));
}

// Given a newcomer that ends once it is in, expect that the others lose it and agree without it.
TEST(HostsNewcomer, EndsInItsSeatAndIsLeftOut) {
  const Job job;
  const Members members = founded(job, 2);
  auto newcomer = std::make_unique<Newcomer>(job, std::vector{place_of(members.front())});
  newcomer->come();
  std::thread coming([&] {
    newcomer->visitor.await_seat(Deadline(kLimit_s));
    newcomer.reset();
  });
  eventually([&] { return members.front()->has_guests(); });
  const auto answers = agreed(members, "with", admitting);
  coming.join();
  const std::vector<Rank> three{Rank{0}, Rank{1}, Rank{2}};
  for (const auto& answer : answers) EXPECT_EQ(answer, three);
  each(members.size(), [&](std::size_t i) {
    EXPECT_EQ(members[i]->next_members(three, "without", {.admits = true}, Deadline(kLimit_s)),
              numbers_of(members));
  });
  expect_that_all_exchange(members);
}

// Bad knocks get a typed sentence, and the job goes on.
TEST(HostsNewcomer, IsToldWhyItMayNotComeIn) {
  const Job job, other;
  const Members members = founded(job, 2, {"1", "", "it is full"});
  const std::vector places{place_of(members.front())};
  const auto knock = [&](const Job& its_job, const std::string& version) {
    Newcomer(its_job, places, version).visitor.knock(Deadline(5));
  };
  const auto sentence = [&](const auto& act) -> std::string {
    try {
      act();
    } catch (const MismatchError& e) {
      return std::string("MismatchError: ") + e.what();
    } catch (const ArgumentError& e) {
      return std::string("ArgumentError: ") + e.what();
    }
    return "";
  };
  EXPECT_NE(sentence([&] {
              knock(job, "1");
            }).find("ArgumentError: join: job '" + job.name + "' lets nobody in: it is full"),
            std::string::npos);
  EXPECT_NE(sentence([&] { knock(job, "2"); }).find("MismatchError: join: "), std::string::npos);
  EXPECT_NE(sentence([&] { knock(other, "1"); }).find("do not have one token"), std::string::npos);
  expect_that_all_exchange(members);
}

TEST(HostsNewcomer, WaitsNoLongerThanItMay) {
  const Job job;
  Newcomer alone(job, {kHere.with_port(1)});
  EXPECT_THROW(alone.visitor.knock(Deadline(0.1)), TimeoutError);
}

// Given members that all end, expect that a newcomer that waits learns it.
TEST(HostsNewcomer, LearnsThatTheJobIsOver) {
  const Job job;
  Members members = founded(job, 2);
  Newcomer newcomer(job, {place_of(members.front())});
  newcomer.come();
  std::thread coming([&] { EXPECT_THROW(newcomer.visitor.await_seat(Deadline(kLimit_s)), LostRankError); });
  eventually([&] { return members.front()->has_guests(); });
  members.clear();
  coming.join();
}

}  // namespace
}  // namespace hemiola
