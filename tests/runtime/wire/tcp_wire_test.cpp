// SPDX-License-Identifier: Apache-2.0
// What only the TCP wire does: operations' tags, connections that end, ranks that are late, strangers; between threads, and
// between processes of which some are killed.
#include "hemiola/runtime/wire/tcp/tcp_wire.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstring>
#include <functional>

#include "contracts/on_threads.hpp"
#include "hemiola/base/bytes.hpp"
#include "hemiola/base/deadline.hpp"
#include "hemiola/base/error.hpp"
#include "hemiola/base/random.hpp"
#include "hemiola/runtime/net/tcp_socket.hpp"
#include "hemiola/runtime/session/lost_member.hpp"
#include "hemiola/runtime/wire/tcp/message_receiver.hpp"

namespace hemiola::testing {
namespace {

const Endpoint kLoopback = Endpoint::parse("127.0.0.1");

std::shared_ptr<Reception> reception_of(Rank rank, const Token& token) {
  return std::make_shared<Reception>(listen_at(kLoopback), Credentials{.token = token, .rank = rank});
}

/// NICs that are all reached at one address.
std::vector<NicAddresses> nics_at(const Endpoint& endpoint, int count) {
  return std::vector<NicAddresses>(static_cast<std::size_t>(count), NicAddresses{.endpoints = {endpoint}});
}

/// The wires of a job whose ranks are in this process.
struct Job {
  explicit Job(int rank_count, int nic_count = 1) {
    for (Rank rank : indices<Rank>(rank_count)) receptions.push_back(reception_of(rank, token));
    wires = connect(nic_count);
  }

  std::vector<std::unique_ptr<TcpWire>> connect(int nic_count = 1) {
    std::vector<std::unique_ptr<Door>> doors;
    std::vector<TcpPeer> peers;
    for (std::size_t i = 0; i < receptions.size(); ++i) {
      doors.push_back(receptions[i]->open());
      peers.push_back({Rank{i}, doors.back()->number(), nics_at(receptions[i]->endpoint(), nic_count)});
    }
    std::vector<std::unique_ptr<TcpWire>> group;
    for (std::size_t i = 0; i < doors.size(); ++i)
      group.push_back(std::make_unique<TcpWire>(std::move(doors[i]), Rank{i}, peers));
    return group;
  }

  TcpWire& operator[](std::size_t rank) { return *wires[rank]; }

  Token token = Token::random();
  std::vector<std::shared_ptr<Reception>> receptions;
  std::vector<std::unique_ptr<TcpWire>> wires;
};

constexpr double kLong_s = 60;

/// Lets the wires go on until `is_over`; false when it takes too long.
template <typename IsOver>
bool go_on(const std::vector<TcpWire*>& wires, IsOver is_over) {
  for (const Deadline deadline(kLong_s); !deadline.passed();) {
    if (is_over()) return true;
    bool moved = false;
    for (TcpWire* wire : wires) moved |= wire->progress();
    if (!moved) wires.front()->wait(1000);
  }
  return false;
}

/// Some time in which everything could happen that must not.
void let_happen_what_may(const std::vector<TcpWire*>& wires) {
  for (int round = 0; round < 30; ++round)
    for (TcpWire* wire : wires)
      if (!wire->progress()) wire->wait(300);
}

Bytes pattern(std::size_t bytes, int seed) {
  Bytes data(bytes);
  for (std::size_t i = 0; i < bytes; ++i)
    data[i] = static_cast<std::byte>(i * 7 + i / 251 + std::size_t(seed));
  return data;
}

/// One message from 0 to 1, so that there is a connection.
void greet(Job* job) {
  const Bytes out = pattern(100, 1);
  Bytes in(100);
  (*job)[0].send(Rank{1}, out.data(), out.size(), Source::settled);
  const Request request = (*job)[1].receive(Rank{0}, {.dst = in.data()}, in.size());
  ASSERT_TRUE(go_on({&(*job)[0], &(*job)[1]}, [&] { return (*job)[1].done(request); }));
  ASSERT_EQ(in, out);
}

TEST(TcpWire, WhatCameBeforeTheEndIsReceivedAndThenThePeerIsLost) {
  for (const std::size_t bytes : {10u, 300'000u}) {
    Job job(2);
    greet(&job);
    const Bytes out = pattern(bytes, 2);
    Bytes in(bytes), never(8);
    const Request sent = job[0].send(Rank{1}, out.data(), bytes, Source::settled);
    const Request received = job[1].receive(Rank{0}, {.dst = in.data()}, bytes);
    const Request waits = job[1].receive(Rank{0}, {.dst = never.data()}, never.size());
    ASSERT_TRUE(go_on({&job[0], &job[1]}, [&] { return job[0].done(sent); }));
    job.wires[0].reset();
    ASSERT_TRUE(go_on({&job[1]}, [&] { return !job[1].lost().empty(); }));
    EXPECT_TRUE(job[1].done(received));
    EXPECT_EQ(in, out);
    EXPECT_FALSE(job[1].done(waits));
    EXPECT_EQ(job[1].lost().at(0).rank, Rank{0});
    EXPECT_NE(job[1].lost().at(0).reason, "");
  }
}

/// Rank 0 sends more than its message may have. Expect that rank 1 refuses it at every call, that rank 0's connection is
/// closed although rank 1 stays.
/// An end of a connection of this process.
int connected_descriptor() {
  for (int descriptor = 0; descriptor < 1024; ++descriptor) {
    sockaddr_in peer{};
    socklen_t size = sizeof peer;
    const int answer = ::getpeername(descriptor, reinterpret_cast<sockaddr*>(&peer), &size);
    if (answer == 0 && peer.sin_family == AF_INET) return descriptor;
  }
  return -1;
}

TEST(TcpWire, AHeaderThatNoRankWritesCostsItsSenderTheConnection) {
  Job job(2);
  greet(&job);
  Bytes never(8);
  for (const std::size_t rank : {0u, 1u})
    job[rank].receive(Rank{1 - rank}, {.dst = never.data()}, never.size());
  const Bytes garbage(sizeof(MessageHeader), std::byte{0xff});
  ASSERT_EQ(::write(connected_descriptor(), garbage.data(), garbage.size()),
            static_cast<ssize_t>(garbage.size()));
  int refused = -1;
  const auto refuses = [&](int rank) {
    try {
      job[static_cast<std::size_t>(rank)].progress();
    } catch (const BadMessageError& e) {
      EXPECT_EQ(e.sender, Rank{1 - rank});
      refused = rank;
    }
    return refused == rank;
  };
  ASSERT_TRUE(go_on({}, [&] { return refuses(0) || refuses(1); }));
  TcpWire& sender = job[static_cast<std::size_t>(1 - refused)];
  ASSERT_TRUE(go_on({&sender}, [&] { return !sender.lost().empty(); }));
  EXPECT_EQ(sender.lost().at(0).rank, Rank{refused});
  EXPECT_TRUE(refuses(refused));
}

/// Of 32 bytes each bit of the flags that has no meaning, and of what is not used, is set once.
TEST(TcpWire, AHeaderThatNoRankWritesIsRefusedWhoeverWaits) {
  MessageHeader sound({.operation = 1}, 8, true);
  EXPECT_TRUE(sound.is_sound());
  for (int bit = 0; bit < 16; ++bit) {
    MessageHeader header = sound;
    header.flags = static_cast<std::uint16_t>(header.flags | 1 << bit);
    EXPECT_EQ(header.is_sound(), bit < 2 || bit == 8) << bit;
  }
  MessageHeader odd = sound;
  odd.unused = 1;
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
  const Descriptor there(ends[0]);
  StreamSocket here{Descriptor(ends[1])};
  ASSERT_EQ(::write(there.get(), &odd, sizeof odd), static_cast<ssize_t>(sizeof odd));
  MessageReceiver receiver(Rank{3});
  OperationTag own{.operation = 1};
  BounceBuffer bounce;
  try {
    receiver.progress(&here, &own, &bounce);
    ADD_FAILURE() << "a header that no rank writes is believed";
  } catch (const BadMessageError& e) {
    EXPECT_EQ(e.sender, Rank{3});
  }
}

/// One resets, and connects anew, while the other is still in the old epoch; both ways round.
TEST(TcpWire, WhoHasResetIsNotLost) {
  for (const std::size_t early : {0u, 1u}) {
    Job job(2);
    greet(&job);
    TcpWire &ahead = job[early], &behind = job[1 - early];
    const Rank other{1 - early};
    ahead.reset(5);
    const Bytes out = pattern(1000, 3);
    Bytes in(1000);
    ahead.send(other, out.data(), out.size(), Source::settled);
    let_happen_what_may({&ahead, &behind});
    EXPECT_TRUE(behind.lost().empty());
    EXPECT_TRUE(ahead.lost().empty());
    behind.reset(5);
    const Request request = behind.receive(Rank{early}, {.dst = in.data()}, in.size());
    ASSERT_TRUE(go_on({&ahead, &behind}, [&] { return behind.done(request); }));
    EXPECT_EQ(in, out);
    let_happen_what_may({&ahead, &behind});
    EXPECT_TRUE(behind.lost().empty());
    EXPECT_TRUE(ahead.lost().empty());
  }
}

/// Of the connections that this process has: {least, most}.
std::pair<int, int> send_buffers() {
  std::pair<int, int> range{INT_MAX, 0};
  for (int descriptor = 0; descriptor < 1024; ++descriptor) {
    sockaddr_storage peer{};
    socklen_t length = sizeof peer;
    if (::getpeername(descriptor, reinterpret_cast<sockaddr*>(&peer), &length) != 0) continue;
    if (peer.ss_family != AF_INET) continue;
    int bytes = 0;
    length = sizeof bytes;
    if (::getsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &bytes, &length) != 0) continue;
    range = {std::min(range.first, bytes), std::max(range.second, bytes)};
  }
  return range;
}

TEST(TcpWire, TheKernelHoldsWhatKeepsThePortBusyAlsoAfterAReset) {
  constexpr double kPort = 0.03;  // bytes per ns: 21 kB in 0.7 ms
  Job job(2);
  greet(&job);
  ASSERT_GT(send_buffers().first, 128 << 10);
  for (std::size_t rank : {0u, 1u}) job[rank].watch_port(nullptr, kPort);
  for (const std::uint64_t epoch : {0u, 5u}) {
    if (epoch > 0)
      for (std::size_t rank : {0u, 1u}) job[rank].reset(epoch);
    const Bytes out = pattern(1 << 20, 4);
    Bytes in(out.size());
    job[0].send(Rank{1}, out.data(), out.size(), Source::settled);
    const Request received = job[1].receive(Rank{0}, {.dst = in.data()}, in.size());
    ASSERT_TRUE(go_on({&job[0], &job[1]}, [&] { return job[1].done(received); }));
    EXPECT_EQ(in, out);
    EXPECT_GE(send_buffers().first, 2 * 21'000);
    EXPECT_LE(send_buffers().second, 2 * 2 * 21'000);  // round trips here take some 0.1 ms
  }
}

TEST(TcpWire, AFastPortKeepsTheKernelsOwnBuffers) {
  Job job(2);
  greet(&job);
  const auto before = send_buffers();
  for (std::size_t rank : {0u, 1u}) job[rank].watch_port(nullptr, 1.25);
  EXPECT_EQ(send_buffers(), before);
}

/// Both send at once, so both connect; again after every reset.
TEST(TcpWire, TwoThatConnectAtOnceAgreeOnAConnection) {
  for (int round = 0; round < 20; ++round) {
    Job job(2, 1 + round % 3);
    on_threads(2, [&](Rank rank) {
      TcpWire& wire = job[static_cast<std::size_t>(rank)];
      const Rank other{1 - rank};
      for (std::uint64_t epoch = 1; epoch < 5; ++epoch) {
        std::vector<Bytes> out, in(5, Bytes(3000));
        Request last{};
        for (int i = 0; i < 5; ++i) out.push_back(pattern(3000, 10 * rank + i));
        for (std::size_t i = 0; i < 5; ++i) {
          wire.send(other, out[i].data(), out[i].size(), Source::settled);
          last = wire.receive(other, {.dst = in[i].data()}, in[i].size());
        }
        ASSERT_TRUE(go_on({&wire}, [&] { return wire.done(last); }));
        for (int i = 0; i < 5; ++i) EXPECT_EQ(in[static_cast<std::size_t>(i)], pattern(3000, 10 * other + i));
        EXPECT_TRUE(wire.lost().empty());
        wire.reset(epoch);
      }
    });
  }
}

/// It looks at nothing while the other sends and waits.
TEST(TcpWire, ARankThatIsLateIsServedAndNotLost) {
  Job job(2);
  const Bytes out = pattern(3'000'000, 1);
  Bytes in(out.size());
  const Request sent = job[0].send(Rank{1}, out.data(), out.size(), Source::settled);
  let_happen_what_may({&job[0]});
  EXPECT_TRUE(job[0].lost().empty());
  const Request received = job[1].receive(Rank{0}, {.dst = in.data()}, in.size());
  ASSERT_TRUE(go_on({&job[0], &job[1]}, [&] { return job[0].done(sent) && job[1].done(received); }));
  EXPECT_EQ(in, out);
}

TEST(TcpWire, APeerThatDoesNotListenOrIsOfAnotherJobIsLostWithTheReason) {
  Job job(2), other_job(2);
  for (const bool listens : {false, true}) {
    const auto own = reception_of(Rank{0}, job.token);
    const Endpoint nowhere = local_endpoint(listen_at(kLoopback));
    const Endpoint there = listens ? other_job.receptions[1]->endpoint() : nowhere;
    TcpWire wire(own->open(), Rank{0},
                 {{Rank{0}, 1, nics_at(own->endpoint(), 1)}, {Rank{1}, 1, nics_at(there, 1)}});
    std::byte out{};
    wire.send(Rank{1}, &out, 1, Source::settled);
    ASSERT_TRUE(go_on({&wire, &other_job[1]}, [&] { return !wire.lost().empty(); }));
    EXPECT_NE(wire.lost()[0].reason.find(there.text()), std::string::npos) << wire.lost()[0].reason;
    EXPECT_NE(wire.lost()[0].reason.find(listens ? "token" : "cannot be reached"), std::string::npos)
        << wire.lost()[0].reason;
  }
}

/// The first of the addresses on the card leads nowhere.
TEST(TcpWire, TheNextAddressIsTried) {
  Job job(2);
  const Endpoint nowhere = local_endpoint(listen_at(kLoopback));
  auto door = job.receptions[0]->open();
  auto to_door = job.receptions[1]->open();
  const std::vector<TcpPeer> peers{
      {Rank{0}, door->number(), nics_at(job.receptions[0]->endpoint(), 1)},
      {Rank{1}, to_door->number(), {{.endpoints = {nowhere, job.receptions[1]->endpoint()}}}}};
  TcpWire from(std::move(door), Rank{0}, peers), to(std::move(to_door), Rank{1}, peers);
  const Bytes out = pattern(100, 1);
  Bytes in(100);
  from.send(Rank{1}, out.data(), out.size(), Source::settled);
  const Request request = to.receive(Rank{0}, {.dst = in.data()}, in.size());
  ASSERT_TRUE(go_on({&from, &to}, [&] { return to.done(request); }));
  EXPECT_EQ(in, out);
}

/// Two groups of the same ranks, a thread each, behind one port a rank.
TEST(TcpWire, GroupsShareAPort) {
  Job job(2);
  const auto second = job.connect();
  on_threads(4, [&](Rank thread) {
    const Rank rank{thread % 2};
    const bool is_first = thread < 2;
    TcpWire& wire = is_first ? job[static_cast<std::size_t>(rank)] : *second[static_cast<std::size_t>(rank)];
    for (int i = 0; i < 20; ++i) {
      const Bytes out = pattern(5000, 100 * thread + i);
      Bytes in(5000);
      wire.send(Rank{1 - rank}, out.data(), out.size(), Source::settled);
      const Request request = wire.receive(Rank{1 - rank}, {.dst = in.data()}, in.size());
      ASSERT_TRUE(go_on({&wire}, [&] { return wire.done(request); }));
      EXPECT_EQ(in, pattern(5000, 100 * (is_first ? 1 - rank : 5 - thread) + i));
    }
  });
}

TEST(TcpWire, StrangersAtThePortDisturbNobody) {
  Job job(2);
  std::vector<Attempt> strangers;
  for (int i = 0; i < 20; ++i) {
    strangers.push_back(start_connecting(job.receptions[std::size_t(i % 2)]->endpoint()));
    ::send(strangers.back().socket.get(), "GET / HTTP/1.0\r\n", 16, MSG_NOSIGNAL);
    if (i == 10) greet(&job);
    if (i % 3 == 0) strangers.back() = {};
  }
  greet(&job);
  EXPECT_TRUE(job[0].lost().empty());
}

constexpr int kRingRanks = 4;
constexpr Rank kVictim{2};

/// What processes that talk in a ring until one is killed have in common.
struct Progress {
  std::atomic<int> ports[kRingRanks];  ///< where each listens; 0: not yet
  std::atomic<int> rounds[kRingRanks];
  std::atomic<int> lost[kRingRanks];  ///< by survivor: 1 + the rank that its wire has lost
  std::atomic<pid_t> helper;          ///< a child of the victim's
};

/// As a data loader's worker, which does not notice that its parent has gone.
void fork_helper(Progress* progress) {
  const pid_t child = ::fork();
  while (child == 0) ::pause();
  progress->helper = child;
}

/// Each waits for both of its neighbours in every round, so both are sure to miss one that is gone.
void ring_until_somebody_is_lost(TcpWire* wire, Rank self, Progress* progress) {
  const Rank beside[]{Rank{(self + 1) % kRingRanks}, Rank{(self + kRingRanks - 1) % kRingRanks}};
  for (int round = 0;; ++round) {
    if (self == kVictim && round == 10) fork_helper(progress);
    const std::size_t bytes = round % 5 == 0 ? 400'000 : 100;
    const Bytes out = pattern(bytes, self + round);
    std::vector<Bytes> in(2, Bytes(bytes));
    std::vector<Request> requests;
    for (std::size_t side = 0; side < 2; ++side) {
      requests.push_back(wire->send(beside[side], out.data(), bytes, Source::settled));
      requests.push_back(wire->receive(beside[side], {.dst = in[side].data()}, bytes));
    }
    while (!std::ranges::all_of(requests, [&](Request request) { return wire->done(request); })) {
      if (!wire->progress()) wire->wait(100'000);
      for (const LostRank& lost : wire->lost()) {
        progress->lost[static_cast<std::size_t>(self)] = 1 + lost.rank;
        for (;;) ::pause();  // who ended now would be lost to the others, too
      }
    }
    for (std::size_t side = 0; side < 2; ++side)
      if (in[side] != pattern(bytes, beside[side] + round)) ::_exit(1);
    progress->rounds[static_cast<std::size_t>(self)] = round;
  }
}

void be_rank(Rank self, const Token& token, Progress* progress) {
  const auto reception = reception_of(self, token);
  auto door = reception->open();
  progress->ports[static_cast<std::size_t>(self)] = reception->endpoint().port();
  std::vector<TcpPeer> peers;
  for (std::size_t rank = 0; rank < kRingRanks; ++rank) {
    while (progress->ports[rank] == 0) ::usleep(1000);
    const auto port = static_cast<std::uint16_t>(progress->ports[rank]);
    peers.push_back({Rank{rank}, door->number(), nics_at(kLoopback.with_port(port), 1)});
  }
  TcpWire wire(std::move(door), self, peers);
  ring_until_somebody_is_lost(&wire, self, progress);
}

/// Four processes; one is killed in the middle, and leaves a child that lives on. Expect its neighbours to know, without any
/// timeout of the wire.
TEST(TcpWire, AProcessThatIsKilledIsNamedByThoseItTalkedToThoughAChildOfItLives) {
  auto* const progress = static_cast<Progress*>(
      ::mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(progress, MAP_FAILED);
  const Token token = Token::random();
  std::vector<pid_t> processes;
  for (Rank rank : indices<Rank>(kRingRanks)) {
    processes.push_back(::fork());
    ASSERT_GE(processes.back(), 0);
    if (processes.back() == 0) be_rank(rank, token, progress);
  }
  const auto eventually = [](const std::function<bool()>& is_so) {
    for (const Deadline deadline(kLong_s); !deadline.passed(); ::usleep(1000))
      if (is_so()) return true;
    return false;
  };
  EXPECT_TRUE(eventually([&] { return progress->rounds[kVictim] > 20; }));
  ::kill(processes[kVictim], SIGKILL);
  for (const std::size_t neighbour : {1u, 3u}) {
    EXPECT_TRUE(eventually([&] { return progress->lost[neighbour] != 0; })) << neighbour;
    EXPECT_EQ(progress->lost[neighbour], 1 + kVictim);
  }
  if (progress->helper > 0) ::kill(progress->helper, SIGKILL);
  for (const pid_t process : processes) {
    ::kill(process, SIGKILL);
    int status = 0;
    ::waitpid(process, &status, 0);
    EXPECT_FALSE(WIFEXITED(status) && WEXITSTATUS(status) != 0) << "wrong bytes";
  }
  ::munmap(progress, sizeof(Progress));
}

}  // namespace
}  // namespace hemiola::testing
