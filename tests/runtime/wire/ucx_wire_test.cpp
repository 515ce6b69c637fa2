// SPDX-License-Identifier: Apache-2.0
// What only the UCX wire does: operations' tags, peers that reset or leave, strangers, UCX that is not there; over UCX's TCP
// and its shared memory, between threads or in one of them.
#include "hemiola/runtime/wire/ucx/ucx_wire.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "contracts/on_threads.hpp"
#include "contracts/wire_kinds.hpp"
#include "hemiola/base/deadline.hpp"
#include "hemiola/base/error.hpp"
#include "hemiola/runtime/session/lost_member.hpp"
#include "hemiola/runtime/wire/ucx/rdma_ranks.hpp"
#include "hemiola/runtime/wire/ucx/transport_names.hpp"
#include "hemiola/runtime/wire/ucx/ucx_header.hpp"
#include "in_process/in_process_session.hpp"

namespace hemiola::testing {
namespace {

UcxPlace place_by(const std::string& transports) {
  return UcxPlace(UcxContext::open(UcxLibrary::open({}), transports));
}

/// The wires of ranks in this process.
struct UcxJob {
  UcxJob(int rank_count, const std::string& transports) {
    std::vector<UcxPlace> places;
    std::vector<UcxPeer> peers;
    for (int i = 0; i < rank_count; ++i) {
      places.push_back(place_by(transports));
      peers.push_back(places.back().as_peer(std::uint64_t(1000 + i)));
    }
    for (std::size_t i = 0; i < places.size(); ++i)
      wires.push_back(std::make_unique<UcxWire>(std::move(places[i]), Rank{i}, peers));
  }

  UcxWire& operator[](std::size_t rank) { return *wires[rank]; }

  std::vector<std::unique_ptr<UcxWire>> wires;
};

constexpr double kLong_s = 60;

/// Lets the wires go on until `is_over`; false when it takes too long.
bool go_on(const std::vector<UcxWire*>& wires, const std::function<bool()>& is_over) {
  for (const Deadline deadline(kLong_s); !deadline.passed();) {
    if (is_over()) return true;
    bool moved = false;
    for (UcxWire* wire : wires) moved |= wire->progress();
    if (!moved) wires.front()->wait(1000);
  }
  return false;
}

/// Some time in which everything could happen that must not.
void let_happen_what_may(const std::vector<UcxWire*>& wires) {
  for (int round = 0; round < 30; ++round)
    for (UcxWire* wire : wires)
      if (!wire->progress()) wire->wait(300);
}

Bytes pattern(std::size_t bytes, int seed) {
  Bytes data(bytes);
  for (std::size_t i = 0; i < bytes; ++i)
    data[i] = static_cast<std::byte>(i * 7 + i / 251 + std::size_t(seed));
  return data;
}

class UcxWireOver : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!why_no_ucx().empty()) GTEST_SKIP() << why_no_ucx();
  }

  /// A message of `bytes` from 0 to 1.
  static void greet(UcxJob* job, std::size_t bytes = 100) {
    const Bytes out = pattern(bytes, 1);
    Bytes in(bytes);
    const Request sent = (*job)[0].send(Rank{1}, out.data(), out.size(), Source::settled);
    const Request request = (*job)[1].receive(Rank{0}, {.dst = in.data()}, in.size());
    ASSERT_TRUE(
        go_on({&(*job)[0], &(*job)[1]}, [&] { return (*job)[1].done(request) && (*job)[0].done(sent); }));
    ASSERT_EQ(in, out);
  }
};

INSTANTIATE_TEST_SUITE_P(, UcxWireOver, ::testing::Values("tcp", "shm"),
                         [](const auto& transports) { return std::string(transports.param); });

struct TagsOfTwo {
  const char* name;
  OperationTag sent, own;
};

/// A digest, a version, and an operation that this rank has left; the numbers wrap. Short messages and long ones, which stay
/// with their sender. Expect the sender and its tag, whether or not anything is posted, and that nothing lands.
TEST_P(UcxWireOver, AMessageOfAnotherOperationIsNamedAndDoesNotLand) {
  for (const TagsOfTwo& d :
       {TagsOfTwo{"digest", {7, 1, 10}, {7, 1, 11}}, TagsOfTwo{"version", {7, 1, 10}, {7, 2, 10}},
        TagsOfTwo{"left", {6, 1, 10}, {7, 1, 10}},
        TagsOfTwo{"left before the number wrapped", {0xffff'ffff, 1, 10}, {0, 1, 10}}})
    for (const std::size_t bytes : {100u, 500'000u}) {
      const bool is_posted = d.own.version == 1;
      SCOPED_TRACE(d.name);
      UcxJob job(2, GetParam());
      for (std::size_t rank = 0; rank < 2; ++rank) job[rank].begin_operation(rank == 0 ? d.sent : d.own);
      const Bytes out = pattern(bytes, 1);
      Bytes in(out.size(), std::byte{0xee});
      job[0].send(Rank{1}, out.data(), out.size(), Source::settled);
      Request request{};
      if (is_posted) request = job[1].receive(Rank{0}, {.dst = in.data()}, in.size());
      ASSERT_TRUE(go_on({&job[0], &job[1]}, [&] { return job[1].mismatch().has_value(); }));
      EXPECT_EQ(job[1].mismatch()->peer, Rank{0});
      EXPECT_EQ(job[1].mismatch()->tag, d.sent);
      let_happen_what_may({&job[0], &job[1]});
      if (is_posted) {
        EXPECT_FALSE(job[1].done(request));
      }
      EXPECT_EQ(in, Bytes(in.size(), std::byte{0xee}));
      EXPECT_FALSE(job[0].mismatch()) << "who has received nothing knows of nothing";

      for (std::size_t rank = 0; rank < 2; ++rank) job[rank].reset(1);
      EXPECT_FALSE(job[1].mismatch());
      for (std::size_t rank = 0; rank < 2; ++rank) job[rank].begin_operation({8, 2, 12});
      greet(&job, bytes);
    }
}

/// Rank 0 is an operation ahead, and then another, around where the numbers wrap.
TEST_P(UcxWireOver, AMessageOfALaterOperationWaitsUntilThisRankComesThere) {
  UcxJob job(2, GetParam());
  const std::uint32_t first = 0xffff'fffe;
  std::vector<Bytes> out;
  for (std::uint32_t i = 0; i < 4; ++i) out.push_back(pattern(i % 2 == 0 ? 200 : 400'000, int(i)));
  for (std::uint32_t i = 0; i < 4; ++i) {
    job[0].begin_operation({first + i, 3, i});
    job[0].send(Rank{1}, out[i].data(), out[i].size(), Source::settled);
  }
  job[1].begin_operation({first - 1, 3, 9});
  for (std::uint32_t i = 0; i < 4; ++i) {
    Bytes in(out[i].size(), std::byte{0xee});
    const Request request = job[1].receive(Rank{0}, {.dst = in.data()}, in.size());
    let_happen_what_may({&job[0], &job[1]});
    EXPECT_FALSE(job[1].done(request));
    EXPECT_EQ(job[1].mismatch()->tag, (OperationTag{first + i, 3, i}))
        << "this rank waits for an earlier one";
    EXPECT_EQ(in, Bytes(in.size(), std::byte{0xee}));
    job[1].begin_operation({first + i, 3, i});
    ASSERT_TRUE(go_on({&job[0], &job[1]}, [&] { return job[1].done(request); }));
    EXPECT_EQ(in, out[i]);
  }
}

/// What was sent last has left with the wire.
TEST_P(UcxWireOver, WhatWasSentBeforeTheEndIsReceived) {
  for (const std::size_t bytes : {10u, 5000u, 300'000u}) {
    UcxJob job(2, GetParam());
    const Bytes out = pattern(bytes, 2);
    Bytes in(bytes);
    const Request sent = job[0].send(Rank{1}, out.data(), bytes, Source::settled);
    const Request received = job[1].receive(Rank{0}, {.dst = in.data()}, bytes);
    ASSERT_TRUE(go_on({&job[0], &job[1]}, [&] { return job[0].done(sent); }));
    job.wires[0].reset();
    ASSERT_TRUE(go_on({&job[1]}, [&] { return job[1].done(received); }));
    EXPECT_EQ(in, out);
    EXPECT_TRUE(job[1].lost().empty()) << "whoever is through with everything may go";
  }
}

/// One resets, and sends anew, while the other is still in the old epoch; both ways round, and with long messages under way.
TEST_P(UcxWireOver, WhoHasResetIsNotLost) {
  for (const std::size_t early : {0u, 1u}) {
    UcxJob job(2, GetParam());
    greet(&job);
    UcxWire &ahead = job[early], &behind = job[1 - early];
    const Rank other{1 - early};
    const Bytes lost = pattern(2'000'000, 9);
    ahead.send(other, lost.data(), lost.size(), Source::settled);
    behind.send(Rank{early}, lost.data(), lost.size(), Source::settled);
    let_happen_what_may({&ahead, &behind});
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

/// A reset takes back what is under way, whatever the other does: nothing lands in memory that is the caller's again.
TEST_P(UcxWireOver, AfterAResetNothingTouchesTheCallersMemory) {
  UcxJob job(2, GetParam());
  greet(&job);
  const Bytes out = pattern(8'000'000, 4);
  Bytes in(out.size(), std::byte{0xee});
  job[0].send(Rank{1}, out.data(), out.size(), Source::settled);
  job[1].receive(Rank{0}, {.dst = in.data()}, in.size());
  for (int i = 0; i < 6; ++i) {
    job[0].progress();
    job[1].progress();
  }
  job[1].reset(1);
  std::ranges::fill(in, std::byte{0x77});
  let_happen_what_may({&job[0], &job[1]});
  EXPECT_EQ(in, Bytes(in.size(), std::byte{0x77}));
  job[0].reset(1);
  greet(&job);
}

/// Rank 0 asks where its peer is, sends, and goes, at three points on the way of what it has asked.
TEST_P(UcxWireOver, AWireMayEndWhileItsQuestionIsUnderWay) {
  for (const int rounds : {0, 1, 30}) {
    UcxJob job(2, GetParam());
    for (std::size_t rank = 0; rank < 2; ++rank) job[rank].reset(1);
    const Bytes out = pattern(100, 1);
    job[0].send(Rank{1}, out.data(), out.size(), Source::settled);
    for (int i = 0; i < rounds; ++i) job[0].progress();
    job.wires[0].reset();
    let_happen_what_may({&job[1]});
  }
}

/// It looks at nothing while the other sends and waits.
TEST_P(UcxWireOver, ARankThatIsLateIsServedAndNotLost) {
  UcxJob job(2, GetParam());
  const Bytes out = pattern(3'000'000, 1);
  Bytes in(out.size());
  const Request sent = job[0].send(Rank{1}, out.data(), out.size(), Source::settled);
  let_happen_what_may({&job[0]});
  EXPECT_TRUE(job[0].lost().empty());
  const Request received = job[1].receive(Rank{0}, {.dst = in.data()}, in.size());
  ASSERT_TRUE(go_on({&job[0], &job[1]}, [&] { return job[0].done(sent) && job[1].done(received); }));
  EXPECT_EQ(in, out);
}

/// It knows where to send to, and the numbers, but not the key: it is not of this group.
TEST_P(UcxWireOver, AMessageWithoutTheKeyIsDropped) {
  std::vector<UcxPlace> places;
  for (int i = 0; i < 3; ++i) places.push_back(place_by(GetParam()));
  const std::vector<UcxPeer> honest{places[0].as_peer(1), places[1].as_peer(2)};
  const std::vector<UcxPeer> guessed{places[2].as_peer(1), places[1].as_peer(3)};
  UcxWire sender(std::move(places[0]), Rank{0}, honest), receiver(std::move(places[1]), Rank{1}, honest);
  UcxWire stranger(std::move(places[2]), Rank{0}, guessed);
  for (const std::size_t bytes : {100u, 500'000u}) {
    const Bytes bad = pattern(bytes, 5), good = pattern(bytes, 6);
    Bytes in(bytes, std::byte{0xee});
    const Request received = receiver.receive(Rank{0}, {.dst = in.data()}, bytes);
    stranger.send(Rank{1}, bad.data(), bytes, Source::settled);
    let_happen_what_may({&stranger, &receiver});
    EXPECT_FALSE(receiver.done(received));
    EXPECT_EQ(in, Bytes(bytes, std::byte{0xee}));
    sender.send(Rank{1}, good.data(), bytes, Source::settled);
    ASSERT_TRUE(go_on({&sender, &receiver, &stranger}, [&] { return receiver.done(received); }));
    EXPECT_EQ(in, good);
  }
}

/// Rank 0 knows the key, and sends a header that is too short, or too long, or has bits without a meaning. Expect that it is
/// named, at every call until a reset. What is too short to hold the key may be anybody's, and is dropped.
TEST_P(UcxWireOver, AHeaderThatNoRankWritesNamesItsSender) {
  struct Long {
    UcxHeader header;
    std::byte more[16];
  };
  for (const std::size_t bytes :
       {std::size_t{11}, kUcxProofBytes, sizeof(UcxHeader) - 1, sizeof(UcxHeader), sizeof(Long)}) {
    SCOPED_TRACE(bytes);
    std::vector<UcxPlace> places;
    for (int i = 0; i < 2; ++i) places.push_back(place_by(GetParam()));
    const std::vector<UcxPeer> peers{places[0].as_peer(1), places[1].as_peer(2)};
    UcxWire receiver(std::move(places[1]), Rank{1}, peers);
    UcxWorker& sender = *places[0].worker;
    UcxEndpoint way;
    way.open(&sender, peers[1].worker, [](void*, ucp::Endpoint*, ucp::Status) {}, nullptr);
    ASSERT_TRUE(way.is_open()) << way.why_not();
    const Long sent{.header = {.key = 2, .sender = 0, .number = 1, .flags = 4}, .more = {}};
    const ucp::RequestParams params;
    const ucp::StatusPointer request =
        sender.functions().am_send_nbx(way.get(), kUcxMessageId, &sent, bytes, &sent, 1, &params);
    const auto is_named = [&] {
      try {
        for (int i = 0; i < 100; ++i) sender.progress(), receiver.progress();
      } catch (const BadMessageError& e) {
        EXPECT_EQ(e.sender, Rank{0});
        return true;
      }
      return false;
    };
    const bool proves_itself = bytes >= kUcxProofBytes;
    for (const Deadline deadline(proves_itself ? kLong_s : 0.2); !deadline.passed() && !is_named();) {
    }
    EXPECT_EQ(is_named(), proves_itself);
    receiver.reset(1);
    EXPECT_FALSE(is_named());
    if (!ucp::is_over(request)) sender.functions().request_free(request);
  }
}

/// At which this process listens for TCP, of this version.
std::vector<Endpoint> listening_endpoints() {
  std::vector<Endpoint> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int descriptor = std::atoi(entry.path().filename().c_str());
    int listens = 0;
    socklen_t size = sizeof listens;
    if (::getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || listens == 0) continue;
    SocketAddress address;
    if (::getsockname(descriptor, address.get(), &address.length) != 0 || address.get()->sa_family != AF_INET)
      continue;
    const Endpoint at = Endpoint::of(address);
    found.push_back(at.is_any() ? Endpoint::parse("127.0.0.1").with_port(at.port()) : at);
  }
  return found;
}

TEST_P(UcxWireOver, StrangersAtItsPortsDisturbNobody) {
  if (std::string(GetParam()) != "tcp") return;  // shared memory has no ports
  UcxJob job(2, GetParam());
  std::vector<Attempt> strangers;
  for (const Endpoint& port : listening_endpoints())
    for (int i = 0; i < 8; ++i) {
      strangers.push_back(start_connecting(port));
      const Bytes words = pattern(i % 2 == 0 ? 16 : 70'000, i);
      ::send(strangers.back().socket.get(), words.data(), words.size(), MSG_NOSIGNAL);
      if (i == 4) greet(&job);
      if (i % 3 == 0) strangers.back() = {};
    }
  EXPECT_FALSE(strangers.empty());
  greet(&job);
  greet(&job, 500'000);
  EXPECT_TRUE(job[0].lost().empty());
}

TEST_P(UcxWireOver, APeerToWhichThereIsNoWayIsNamedWithTheReason) {
  UcxPlace own = place_by(GetParam());
  // Shared memory leads to no worker that has only TCP, and the other way round.
  const UcxPlace other = place_by(std::string(GetParam()) == "tcp" ? "shm" : "tcp");
  UcxWire wire(std::move(own), Rank{0}, {{.key = 1, .desk = {}, .worker = {}}, other.as_peer(2)});
  const std::byte data{};
  const Request request = wire.send(Rank{1}, &data, 1, Source::settled);
  for (int i = 0; i < 10; ++i) wire.progress();
  EXPECT_FALSE(wire.done(request));
  const std::vector<LostRank> lost = wire.lost();
  ASSERT_EQ(lost.size(), 1u);
  EXPECT_EQ(lost[0].rank, Rank{1});
  EXPECT_NE(lost[0].reason.find("UCX_TLS"), std::string::npos) << lost[0].reason;
}

TEST_P(UcxWireOver, TheTransportsOfAPairAreNamed) {
  UcxJob job(2, GetParam());
  greet(&job);
  const std::string carrier = job[0].carrier(Rank{1});
  EXPECT_EQ(carrier.rfind("ucx: ", 0), 0u) << carrier;
  EXPECT_NE(carrier.find(std::string(GetParam()) == "tcp" ? "tcp/" : "/memory"), std::string::npos)
      << carrier;
  EXPECT_EQ(job[1].carrier(Rank{0}).find(carrier.substr(0, 8)), 0u);
}

TEST(UcxKindOf, RanksWithDifferentVersionsAreTold) {
  if (!why_no_ucx().empty()) GTEST_SKIP() << why_no_ucx();
  const auto sessions = InProcessSession::make(2);
  std::vector<std::string> errors(2);
  on_threads(2, [&](Rank rank) {
    const Members members{sessions[static_cast<std::size_t>(rank)], all_ranks(2), rank};
    const auto kind = ucx_by("tcp");
    Bytes card = kind->card(members);
    if (rank == Rank{1}) std::memcpy(card.data() + sizeof(std::uint64_t), "1.9.0", 6);
    const std::vector<Bytes> cards = members.session->exchange(members.ranks, "cards", card, Deadline(60));
    try {
      kind->connect(members, cards, Deadline(60));
    } catch (const ArgumentError& error) {
      errors[static_cast<std::size_t>(rank)] = error.what();
    }
  });
  EXPECT_NE(errors[0].find("rank 1 has 1.9.0"), std::string::npos) << errors[0];
  EXPECT_EQ(errors[0], errors[1]);
}

/// Ranks 0 and 2 have cards.
TEST(RdmaRanks, AreTheSameOnAllRanksAndJoinedByUcxOnlyWithEachOther) {
  const auto sessions = InProcessSession::make(3);
  std::vector<std::vector<Rank>> found(3);
  on_threads(3, [&](Rank rank) {
    const Members members{sessions[static_cast<std::size_t>(rank)], all_ranks(3), rank};
    found[static_cast<std::size_t>(rank)] = rdma_ranks(members, rank != Rank{1}, Deadline(60));
  });
  for (const auto& ranks : found) EXPECT_EQ(ranks, (std::vector<Rank>{Rank{0}, Rank{2}}));
  if (!why_no_ucx().empty()) GTEST_SKIP() << why_no_ucx();
  const UcxKind kind({.packaged = {}, .among = found[0]});
  EXPECT_TRUE(kind.reaches(*sessions[0], Rank{2}));
  EXPECT_FALSE(kind.reaches(*sessions[0], Rank{1}));
  EXPECT_FALSE(kind.reaches(*sessions[1], Rank{2}));
}

TEST(RdmaRanks, AHostWithoutCardsNeedsNoUcx) {
  if (std::filesystem::exists("/sys/class/infiniband")) return;  // then it depends on the cards
  EXPECT_FALSE(has_rdma({"/nowhere/libucp.so.0"}));
}

TEST(TransportNames, AreFoundAmongTheSettings) {
  const auto print = [](const char* text) { return [text](std::FILE* stream) { std::fputs(text, stream); }; };
  EXPECT_EQ(transports_set(print("#\nUCX_NET_DEVICES=all\nUCX_TLS=tcp,self\n")), "tcp,self");
  EXPECT_EQ(transports_set(print("UCX_TLS_MORE=1\n")), "all");
}

TEST(TransportNames, GoWithoutCmaUnlessItIsAskedForByName) {
  EXPECT_EQ(without_cma("all"), "^cma");
  EXPECT_EQ(without_cma("^rc"), "^rc,cma");
  EXPECT_EQ(without_cma("tcp"), "tcp");
  EXPECT_EQ(without_cma("shm"), "posix,sysv");
  EXPECT_EQ(without_cma("sm,tcp"), "posix,sysv,tcp");
  EXPECT_EQ(without_cma("tcp,cma"), "tcp,cma");
}

TEST(TransportNames, AreReadFromWhatUcxPrints) {
  const auto names_in = [](const char* text) {
    return transport_names([&](std::FILE* stream) { std::fputs(text, stream); });
  };
  EXPECT_EQ(
      names_in(
          "#\n#            md 1  :  component 1  tcp \n#      resource 1  :  md 1  dev 1  flags -- tcp/lo\n"
          "#      resource 6  :  md 5  dev 4  flags a- rc_mlx5/mlx5_0:1\n"),
      (std::vector<std::string>{"tcp/lo", "rc_mlx5/mlx5_0:1"}));
  EXPECT_EQ(
      names_in("#               peer: node7\n"
               "#                 lane[0]:  5:rc_mlx5/mlx5_0:1.0 md[5]  -> md[5]/ib/sysdev[3] am am_bw#0\n"
               "#                 lane[1]:  5:rc_mlx5/mlx5_0:1.1 md[5]  -> md[5]/ib/sysdev[3] am_bw#1\n"
               "#                 am_send: 0..<egr/short>..8185..<rndv>..(inf)\n"
               "# |      0..8184 | short                         | tcp/lo |\n"),
      (std::vector<std::string>{"rc_mlx5/mlx5_0:1"}));
  EXPECT_TRUE(names_in("").empty());
  for (const char* rdma :
       {"rc_mlx5/mlx5_0:1", "dc_mlx5/mlx5_0:1", "ud_verbs/hfi1_0:1", "srd/rdmap0:1", "rc/x"})
    EXPECT_TRUE(is_rdma(rdma)) << rdma;
  for (const char* other : {"tcp/rc_0", "udp/x", "posix/memory", "cma/memory"})
    EXPECT_FALSE(is_rdma(other)) << other;
}

}  // namespace
}  // namespace hemiola::testing
