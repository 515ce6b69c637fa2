// SPDX-License-Identifier: Apache-2.0
// Endpoints and port ranges as text and as bytes.
#include "hemiola/runtime/net/endpoint.hpp"

#include <gtest/gtest.h>

#include "hemiola/base/error.hpp"
#include "hemiola/runtime/net/tcp_socket.hpp"

namespace hemiola {
namespace {

TEST(Endpoint, ReadsAsItWrites) {
  for (const char* text : {"10.0.0.1:4000", "127.0.0.1:0", "255.255.255.255:65535", "[::1]:4000", "[::]:0",
                           "[fd00::2:1]:1", "[fe80::1]:80"}) {
    const Endpoint endpoint = Endpoint::parse(text);
    EXPECT_EQ(endpoint.text(), text);
    EXPECT_EQ(Endpoint::from_bytes(endpoint.bytes()), endpoint);
    EXPECT_EQ(Endpoint::of(endpoint.to_socket()), endpoint);
  }
  EXPECT_EQ(Endpoint::parse("::1").text(), "[::1]:0");
  EXPECT_EQ(Endpoint::parse("10.1.2.3").text(), "10.1.2.3:0");
}

TEST(Endpoint, RefusesWhatIsNone) {
  for (const char* text : {"", ":", "10.0.0:1", "10.0.0.1:65536", "10.0.0.1:-1", "10.0.0.1:x", "[::1:4000",
                           "node7:4000", "1.2.3.4.5:1", "[::g]:1"})
    EXPECT_THROW(Endpoint::parse(text), ArgumentError) << text;
  std::array<std::byte, Endpoint::kBytes> bytes{};
  EXPECT_THROW(Endpoint::from_bytes(bytes), FormatError);
}

TEST(Endpoint, KnowsTheAddressThatStandsForAll) {
  EXPECT_TRUE(Endpoint::any().is_any());
  EXPECT_TRUE(Endpoint::parse("0.0.0.0:7").is_any());
}

TEST(Endpoint, AnAddressOfVersion4ThatComesAsOneOfVersion6IsOneOfVersion4) {
  EXPECT_EQ(Endpoint::of(Endpoint::parse("[::ffff:10.0.0.7]:80").to_socket()).text(), "10.0.0.7:80");
}

TEST(Endpoint, NamesAreResolvedOnlyWhereThatIsAskedFor) {
  const auto found = resolve("localhost:4000");
  ASSERT_FALSE(found.empty());
  for (const Endpoint& each : found) {
    EXPECT_TRUE(each.text() == "127.0.0.1:4000" || each.text() == "[::1]:4000") << each.text();
    EXPECT_EQ(each.port(), 4000);
  }
  EXPECT_EQ(resolve("[::1]:7").at(0), Endpoint::parse("[::1]:7"));
  for (const char* text : {"localhost", ":4000", "localhost:", "localhost:x", "no such host:1"})
    EXPECT_THROW(resolve(text), ArgumentError) << text;
}

TEST(PortRange, ReadsAsItWrites) {
  EXPECT_EQ(PortRange::parse("20000-20100").text(), "20000-20100");
  EXPECT_EQ(PortRange::parse("20000").text(), "20000");
  EXPECT_EQ(PortRange::parse("0").text(), "0");
  for (const char* text : {"", "2-1", "0-7", "1-65536", "a", "1-", "-1", "1-2-3"})
    EXPECT_THROW(PortRange::parse(text), ArgumentError) << text;
}

/// Given a range of one port that is taken, a range of which one is taken, and a taken port. Expect the range in the
/// error; the free port; the port in the error.
TEST(ListenAt, TakesAFreePortOfTheRangeOrNamesIt) {
  const Endpoint loopback = Endpoint::parse("127.0.0.1");
  const Descriptor first = listen_at(loopback);
  const std::uint16_t taken = local_endpoint(first).port();
  ASSERT_NE(taken, 0);
  for (const Endpoint& at : {loopback, loopback.with_port(taken)}) try {
      listen_at(at, {taken, taken});
      ADD_FAILURE() << "two sockets listen at " << taken;
    } catch (const ArgumentError& e) {
      EXPECT_NE(std::string(e.what()).find(std::to_string(taken)), std::string::npos) << e.what();
    }
  const PortRange range{static_cast<std::uint16_t>(std::min<int>(taken, 65'000)), 65'535};
  const Endpoint second = local_endpoint(listen_at(loopback, range));
  EXPECT_GE(second.port(), range.first);
  EXPECT_NE(second.port(), taken);
}

TEST(ListenAt, RefusesAnAddressThatIsNotThisHosts) {
  EXPECT_THROW(listen_at(Endpoint::parse("192.0.2.1")), ArgumentError);
}

TEST(ListenAt, AnyAddressTakesGuestsOfBothVersions) {
  const Descriptor listener = listen_at(Endpoint::any());
  for (const char* address : {"127.0.0.1", "::1"}) {
    const Attempt attempt =
        start_connecting(Endpoint::parse(address).with_port(local_endpoint(listener).port()));
    if (attempt.error == EADDRNOTAVAIL || attempt.error == EAFNOSUPPORT) continue;  // no version 6 here
    Accepted guest;
    while (!guest.socket) {
      guest = accept_guest(listener);
      ASSERT_TRUE(guest.socket || guest.error == EAGAIN);
    }
    EXPECT_EQ(guest.from.address(), address);
  }
}

}  // namespace
}  // namespace hemiola
