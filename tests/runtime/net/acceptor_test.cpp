// SPDX-License-Identifier: Apache-2.0
// Connections that prove themselves, and strangers that cannot, over real sockets of this machine.
#include "hemiola/runtime/net/acceptor.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "full_table.hpp"
#include "hemiola/base/error.hpp"
#include "hemiola/base/random.hpp"
#include "hemiola/runtime/net/tcp_socket.hpp"

namespace hemiola {
namespace {

using State = Handshake::State;

const Token kToken = Token::from_hex("00112233445566778899aabbccddeeff00112233445566778899AABBCCDDEEFF");

Credentials rank(int number) {
  return {.token = kToken, .job = {1, 2}, .incarnation = 3, .rank = Rank{number}, .version = "0.1.0"};
}

class OverEachVersion : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    try {
      listen_at(loopback());
    } catch (const std::exception& e) {
      GTEST_SKIP() << "this machine has no " << GetParam() << ": " << e.what();
    }
  }
  static Endpoint loopback() { return Endpoint::parse(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Loopback, OverEachVersion, ::testing::Values("127.0.0.1", "::1"),
                         [](const auto& info) { return std::string(info.index == 0 ? "IPv4" : "IPv6"); });

/// Waits until one of two has something to do.
void wait_for(const Acceptor& acceptor, const Handshake& handshake) {
  pollfd either[2] = {{acceptor.descriptor(), POLLIN, 0},
                      {handshake.descriptor(), short(handshake.wants_to_write() ? POLLOUT : POLLIN), 0}};
  ::poll(either, 2, 20);
}

/// Lets both go on until `connector` is through; what has arrived by then.
std::vector<ProvedConnection> meet(Acceptor* acceptor, Handshake* connector) {
  std::vector<ProvedConnection> arrivals;
  const auto collect = [&] {
    for (ProvedConnection& arrival : acceptor->poll()) arrivals.push_back(std::move(arrival));
  };
  while (connector->progress() == State::under_way) {
    wait_for(*acceptor, *connector);
    collect();
  }
  collect();
  return arrivals;
}

/// Everybody else has been shown out, or is about to be.
std::string complaints_of(Acceptor* acceptor) {
  std::string all;
  for (const std::string& complaint : acceptor->take_complaints()) all += complaint + "\n";
  return all;
}

TEST_P(OverEachVersion, RanksOfOneJobLearnWhoTheOtherIsAndWhatFor) {
  Acceptor acceptor(listen_at(loopback()), rank(5));
  const Credentials own = rank(7);
  Handshake connector = Handshake::connect(acceptor.endpoint(), &own, 0xfeed'0000'0001, Rank{5});
  const std::vector<ProvedConnection> arrivals = meet(&acceptor, &connector);
  ASSERT_EQ(connector.progress(), State::proved) << connector.reason();
  EXPECT_EQ(connector.rank(), Rank{5});
  ASSERT_EQ(arrivals.size(), 1u);
  EXPECT_EQ(arrivals[0].rank, Rank{7});
  EXPECT_EQ(arrivals[0].purpose, 0xfeed'0000'0001u);
  EXPECT_EQ(complaints_of(&acceptor), "");

  // What is said on the connection is not eaten by the handshake, on either side.
  const ByteStream socket = connector.take();
  ASSERT_EQ(::send(socket.get(), "hello", 5, MSG_NOSIGNAL), 5);
  ASSERT_EQ(::send(arrivals[0].socket.get(), "salut", 5, MSG_NOSIGNAL), 5);
  for (const auto& [fd, expected] : {std::pair{arrivals[0].socket.get(), "hello"}, {socket.get(), "salut"}}) {
    pollfd waiting{fd, POLLIN, 0};
    ASSERT_EQ(::poll(&waiting, 1, 60'000), 1);
    char text[8] = {};
    EXPECT_EQ(::recv(fd, text, sizeof text, 0), 5);
    EXPECT_STREQ(text, expected);
  }
}

struct Misfit {
  std::string name;
  std::function<void(Credentials*)> change;
  Refusal refusal;
  std::string said;  ///< by both
};

/// Each differs in one thing. Expect the reason on both sides, and no connection.
TEST(Handshake, WhoeverDoesNotBelongIsToldWhy) {
  const std::vector<Misfit> misfits{
      {"token", [](Credentials* c) { c->token = Token::random(); }, Refusal::token, "one token"},
      {"job", [](Credentials* c) { c->job.low = 9; }, Refusal::job, "another job"},
      {"older", [](Credentials* c) { c->incarnation = 2; }, Refusal::incarnation, "2 restarts"},
      {"newer", [](Credentials* c) { c->incarnation = 4; }, Refusal::incarnation, "4 restarts"},
      {"much_older", [](Credentials* c) { c->incarnation = 1; }, Refusal::incarnation, "1 restart, "},
      {"version", [](Credentials* c) { c->version = "0.2.0"; }, Refusal::version, "0.2.0"},
      {"longer version", [](Credentials* c) { c->version = "0.1.0.dev1"; }, Refusal::version, "0.1.0.dev1"},
      {"negative rank", [](Credentials* c) { c->rank = Rank{-1}; }, Refusal::other_rank, "rank"},
  };
  for (const Misfit& misfit : misfits) {
    SCOPED_TRACE(misfit.name);
    Acceptor acceptor(listen_at(Endpoint::parse("127.0.0.1")), rank(0));
    Credentials own = rank(1);
    misfit.change(&own);
    Handshake connector = Handshake::connect(acceptor.endpoint(), &own, 1);
    EXPECT_TRUE(meet(&acceptor, &connector).empty());
    EXPECT_EQ(connector.progress(), State::refused);
    EXPECT_EQ(connector.refusal(), misfit.refusal);
    const std::string complaint = complaints_of(&acceptor);
    EXPECT_NE(complaint.find(misfit.said), std::string::npos) << complaint;
    EXPECT_NE(connector.reason().find(acceptor.endpoint().text()), std::string::npos) << connector.reason();
    if (misfit.refusal == Refusal::version) {
      for (const std::string& text : {complaint, connector.reason()}) {
        EXPECT_NE(text.find(own.version + " "), std::string::npos) << text;
        EXPECT_NE(text.find("0.1.0 "), std::string::npos) << text;
      }
    }
    for (const std::string& text : {complaint, connector.reason()})
      EXPECT_EQ(text.find("00112233"), std::string::npos) << "the token was printed";
  }
}

TEST(Handshake, ARankThatIsNotTheOneExpectedThereIsRefused) {
  Acceptor acceptor(listen_at(Endpoint::parse("127.0.0.1")), rank(4));
  const Credentials own = rank(1);
  Handshake connector = Handshake::connect(acceptor.endpoint(), &own, 1, Rank{2});
  meet(&acceptor, &connector);
  EXPECT_EQ(connector.refusal(), Refusal::other_rank);
  EXPECT_NE(connector.reason().find("is rank 4, and rank 2 was expected"), std::string::npos)
      << connector.reason();
}

TEST(Handshake, WhereNobodyListensNobodyIsReached) {
  const Endpoint nowhere = local_endpoint(listen_at(Endpoint::parse("127.0.0.1")));
  const Credentials own = rank(1);
  Handshake connector = Handshake::connect(nowhere, &own, 1);
  while (connector.progress() == State::under_way) {
  }
  EXPECT_EQ(connector.refusal(), Refusal::unreachable);
  EXPECT_NE(connector.reason().find(nowhere.text()), std::string::npos) << connector.reason();
}

TEST(Handshake, WhoHasNoRoomForAConnectionDoesNotBlameTheOther) {
  Acceptor acceptor(listen_at(Endpoint::parse("127.0.0.1")), rank(0));
  const Credentials own = rank(1);
  const testing::FullTable full;
  Handshake connector = Handshake::connect(acceptor.endpoint(), &own, 1);
  EXPECT_EQ(connector.progress(), State::refused);
  EXPECT_EQ(connector.refusal(), Refusal::no_room);
  for (const char* word : {"no room", "ulimit -n"})
    EXPECT_NE(connector.reason().find(word), std::string::npos) << connector.reason();
}

/// A process without the token that answers as an acceptor would: it sends the connector's own words back.
TEST(Handshake, AnAcceptorThatOnlyEchoesIsNoRank) {
  const Descriptor listener = listen_at(Endpoint::parse("127.0.0.1"));
  const Credentials own = rank(1);
  Handshake connector = Handshake::connect(local_endpoint(listener), &own, 1);
  Accepted guest;
  while (connector.progress() == State::under_way) {
    if (!guest.socket) guest = accept_guest(listener);
    char said[256];
    const ssize_t count = guest.socket ? ::recv(guest.socket.get(), said, sizeof said, 0) : 0;
    if (count > 0) ::send(guest.socket.get(), said, static_cast<std::size_t>(count), MSG_NOSIGNAL);
  }
  EXPECT_EQ(connector.refusal(), Refusal::token);
}

/// What a rank has said once is recorded and said again: the random numbers are others by then.
TEST(Handshake, WhatWasOverheardIsWorthNothingASecondTime) {
  Acceptor acceptor(listen_at(Endpoint::parse("127.0.0.1")), rank(0));
  const Descriptor between = listen_at(Endpoint::parse("127.0.0.1"));
  const Credentials own = rank(1);
  Handshake connector = Handshake::connect(local_endpoint(between), &own, 1);
  std::string overheard;
  const auto relay = [&](const Descriptor& from, const Descriptor& to, std::string* copy) {
    char said[256];
    const ssize_t count = ::recv(from.get(), said, sizeof said, 0);
    if (count <= 0) return;
    ::send(to.get(), said, static_cast<std::size_t>(count), MSG_NOSIGNAL);
    if (copy != nullptr) copy->append(said, static_cast<std::size_t>(count));
  };
  const Attempt to_acceptor = start_connecting(acceptor.endpoint());
  Accepted guest;
  std::vector<ProvedConnection> arrivals;
  while (connector.progress() == State::under_way) {
    if (!guest.socket) guest = accept_guest(between);
    if (guest.socket) relay(guest.socket, to_acceptor.socket, &overheard);
    if (guest.socket) relay(to_acceptor.socket, guest.socket, nullptr);
    for (ProvedConnection& arrival : acceptor.poll()) arrivals.push_back(std::move(arrival));
  }
  ASSERT_EQ(connector.progress(), State::proved) << connector.reason();

  const Attempt again = start_connecting(acceptor.endpoint());
  std::string complaints;
  for (std::size_t sent = 0; complaints.empty();) {
    const ssize_t count =
        ::send(again.socket.get(), overheard.data() + sent, overheard.size() - sent, MSG_NOSIGNAL);
    if (count > 0) sent += static_cast<std::size_t>(count);
    EXPECT_TRUE(acceptor.poll().empty());
    complaints = complaints_of(&acceptor);
  }
  EXPECT_NE(complaints.find("one token"), std::string::npos) << complaints;
}

TEST(Token, IsReadFromHexadecimalDigitsAndNotRepeatedInErrors) {
  for (std::size_t i = 0; i < Token::kBytes; ++i)
    EXPECT_EQ(std::to_integer<std::size_t>(kToken.secret()[i]), i % 16 * 0x11);
  EXPECT_NE(Token::random().secret(), Token::random().secret());
  for (const std::string& bad :
       {std::string(), std::string(63, 'a'), std::string(64, 'g'), std::string(66, 'a')})
    try {
      Token::from_hex(bad);
      ADD_FAILURE() << bad.size();
    } catch (const ArgumentError& e) {
      EXPECT_TRUE(bad.empty() || std::string(e.what()).find(bad) == std::string::npos);
    }
}

/// Port scanners and worse, among whom a rank comes.
TEST(Acceptor, StrangersAreShownOutAndRanksComeThrough) {
  const std::uint64_t seed = 11;
  Random random(seed);
  SCOPED_TRACE("seed " + std::to_string(seed));
  Acceptor acceptor(listen_at(Endpoint::parse("127.0.0.1")), rank(0));
  const Credentials own = rank(1);
  std::vector<Descriptor> strangers;
  for (int i = 0; i < 60; ++i) {
    Attempt attempt = start_connecting(acceptor.endpoint());
    ASSERT_EQ(attempt.error, 0);
    int error = 0;
    while (has_connected(attempt.socket, &error) == Reached::not_yet) {
    }
    const std::uint32_t manner = random.below(4);
    std::string said(1 + random.below(400), static_cast<char>(random.below(256)));
    if (manner == 1)
      said = "GET / HTTP/1.1\r\nHost: x\r\nUser-Agent: a scanner that has much to say of itself\r\n\r\n";
    if (manner == 2) said = "hemiola\n" + said;  // knows the first word, and no more
    if (manner != 0) ::send(attempt.socket.get(), said.data(), said.size(), MSG_NOSIGNAL);
    if (manner != 3) strangers.push_back(std::move(attempt.socket));  // the others hang up
    Handshake connector = Handshake::connect(acceptor.endpoint(), &own, static_cast<std::uint64_t>(i));
    const std::vector<ProvedConnection> arrivals = meet(&acceptor, &connector);
    ASSERT_EQ(connector.progress(), State::proved) << connector.reason();
    ASSERT_EQ(arrivals.size(), 1u);
    EXPECT_EQ(arrivals[0].purpose, static_cast<std::uint64_t>(i));
  }
  EXPECT_LE(acceptor.take_complaints().size(), 17u) << "a flood of strangers is no flood of log lines";
}

/// Half a greeting, cut at every place: the rank waits for the rest, and goes on when the other hangs up.
TEST(Acceptor, HalfAHandshakeIsNone) {
  Acceptor acceptor(listen_at(Endpoint::parse("127.0.0.1")), rank(0));
  for (std::size_t said = 1; said < 80; ++said) {
    {
      const Attempt attempt = start_connecting(acceptor.endpoint());
      std::string text = "hemiola\n";
      text.resize(said, 0);
      while (::send(attempt.socket.get(), text.data(), text.size(), MSG_NOSIGNAL) < 0) {
      }
      EXPECT_TRUE(acceptor.poll().empty());
    }
    std::string complaints;
    while (complaints.empty()) {
      EXPECT_TRUE(acceptor.poll().empty());
      complaints = complaints_of(&acceptor);
    }
    EXPECT_NE(complaints.find("ended the connection"), std::string::npos) << complaints;
  }
}

TEST(Acceptor, TheSilentAreShownOutInTheEnd) {
  Acceptor acceptor(listen_at(Endpoint::parse("127.0.0.1")), rank(0),
                    {.patience = std::chrono::milliseconds(1)});
  const Attempt attempt = start_connecting(acceptor.endpoint());
  std::string complaints;
  while (complaints.empty()) {
    EXPECT_TRUE(acceptor.poll().empty());
    complaints = complaints_of(&acceptor);
  }
  EXPECT_NE(complaints.find("in time"), std::string::npos) << complaints;
  pollfd waiting{attempt.socket.get(), POLLIN, 0};
  EXPECT_EQ(::poll(&waiting, 1, 60'000), 1) << "it was not hung up on";
}

/// More strangers at a time than there are places, all silent, and then a rank.
TEST(Acceptor, TheOldestStrangerMakesRoom) {
  Acceptor acceptor(listen_at(Endpoint::parse("127.0.0.1")), rank(0), {.most_unproved = 3});
  std::vector<Attempt> strangers;
  for (int i = 0; i < 7; ++i) strangers.push_back(start_connecting(acceptor.endpoint()));
  const Credentials own = rank(1);
  Handshake connector = Handshake::connect(acceptor.endpoint(), &own, 1);
  meet(&acceptor, &connector);
  EXPECT_EQ(connector.progress(), State::proved) << connector.reason();
  EXPECT_NE(complaints_of(&acceptor).find("others wait"), std::string::npos);
}

/// All at once, and fewer places than ranks.
TEST(Acceptor, ManyRanksComeAtOnce) {
  constexpr int kRanks = 200;
  Acceptor acceptor(listen_at(Endpoint::parse("127.0.0.1")), rank(0), {.most_unproved = 16});
  std::vector<Credentials> all;
  for (int i = 0; i < kRanks; ++i) all.push_back(rank(1 + i));
  std::vector<Handshake> connectors;
  for (const Credentials& own : all)
    connectors.push_back(Handshake::connect(acceptor.endpoint(), &own, 0, Rank{0}));
  std::vector<ProvedConnection> arrivals;
  std::vector<bool> has_come(1 + kRanks);
  while (arrivals.size() < kRanks) {
    for (std::size_t i = 0; i < connectors.size(); ++i) {
      if (connectors[i].progress() != State::refused) continue;
      ASSERT_EQ(connectors[i].refusal(), Refusal::hung_up) << connectors[i].reason();
      connectors[i] = Handshake::connect(acceptor.endpoint(), &all[i], 0, Rank{0});
    }
    for (ProvedConnection& arrival : acceptor.poll()) {
      EXPECT_FALSE(has_come[static_cast<std::size_t>(arrival.rank)]);
      has_come[static_cast<std::size_t>(arrival.rank)] = true;
      arrivals.push_back(std::move(arrival));
    }
  }
}

TEST(Acceptor, AFullTableOfDescriptorsIsReportedAndSurvived) {
  Acceptor acceptor(listen_at(Endpoint::parse("127.0.0.1")), rank(0));
  const Credentials own = rank(1);
  Handshake connector = Handshake::connect(acceptor.endpoint(), &own, 1);
  auto full = std::make_optional<testing::FullTable>();
  std::string complaints;
  while (complaints.empty()) {
    connector.progress();
    EXPECT_TRUE(acceptor.poll().empty());
    complaints = complaints_of(&acceptor);
  }
  EXPECT_NE(complaints.find("ulimit -n"), std::string::npos) << complaints;
  full.reset();
  EXPECT_EQ(meet(&acceptor, &connector).size(), 1u);
  EXPECT_EQ(connector.progress(), State::proved) << connector.reason();
}

}  // namespace
}  // namespace hemiola
