// SPDX-License-Identifier: Apache-2.0
// Connections that are encrypted, over real sockets of this machine, with certificates that the command openssl makes.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "hemiola/base/error.hpp"
#include "hemiola/base/random.hpp"
#include "hemiola/runtime/net/acceptor.hpp"
#include "hemiola/runtime/net/byte_stream.hpp"
#include "hemiola/runtime/net/tcp_socket.hpp"
#include "hemiola/runtime/net/tls/tls_context.hpp"

namespace hemiola {
namespace {

using State = Handshake::State;
namespace fs = std::filesystem;

constexpr auto kLimit = std::chrono::seconds(60);

/// An authority and a certificate of it, for all tests of this process.
class Files {
 public:
  static const Files& get() {
    static const Files files;
    return files;
  }
  TlsFiles of_rank() const { return {path("tls.crt"), path("tls.key"), path("ca.crt")}; }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

 private:
  Files() : folder_(fs::temp_directory_path() / ("hemiola_tls_" + std::to_string(::getpid()))) {
    fs::create_directories(folder_);
    const std::string key = " -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes ";
    run("openssl req -x509" + key + "-keyout ca.key -out ca.crt -days 2 -subj /CN=authority");
    run("openssl req" + key + "-keyout tls.key -out request -subj /CN=rank");
    run("openssl x509 -req -in request -CA ca.crt -CAkey ca.key -CAcreateserial -days 1 -out tls.crt");
    run("openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:prime256v1 -out other.key");
    run("openssl ec -in tls.key -aes128 -passout pass:secret -out locked.key");
  }
  ~Files() { fs::remove_all(folder_); }
  void run(const std::string& command) const {
    const int status = std::system(("cd '" + folder_.string() + "' && " + command + " 2>/dev/null").c_str());
    HEMIOLA_CHECK(status == 0, "the command failed: " + command);
  }

  fs::path folder_;
};

std::shared_ptr<const TlsContext> context() {
  static const auto made = std::make_shared<const TlsContext>(Files::get().of_rank());
  return made;
}

Credentials rank(int number, bool encrypts = true) {
  static const Token token = Token::random();
  return {.token = token,
          .job = {1, 2},
          .incarnation = 0,
          .rank = Rank{number},
          .version = "0.1.0",
          .tls = encrypts ? context() : nullptr};
}

/// Lets both go on until `connector` is through and nobody is unproved any more; what has arrived by then.
std::vector<ProvedConnection> meet(Acceptor* acceptor, Handshake* connector) {
  std::vector<ProvedConnection> arrivals;
  const auto until = std::chrono::steady_clock::now() + kLimit;
  while (connector->progress() == State::under_way && std::chrono::steady_clock::now() < until) {
    pollfd either[2] = {{acceptor->descriptor(), POLLIN, 0},
                        {connector->descriptor(), short(connector->wants_to_write() ? POLLOUT : POLLIN), 0}};
    ::poll(either, 2, 20);
    for (ProvedConnection& arrival : acceptor->poll()) arrivals.push_back(std::move(arrival));
  }
  for (ProvedConnection& arrival : acceptor->poll()) arrivals.push_back(std::move(arrival));
  return arrivals;
}

/// Two ends of a connection of two ranks.
std::pair<ByteStream, ByteStream> pair_of_streams() {
  const Credentials own = rank(1);
  Acceptor acceptor(listen_at(Endpoint::parse("127.0.0.1")), rank(0));
  Handshake connector = Handshake::connect(acceptor.endpoint(), &own, 7, Rank{0});
  std::vector<ProvedConnection> arrivals = meet(&acceptor, &connector);
  EXPECT_EQ(connector.progress(), State::proved) << connector.reason();
  EXPECT_EQ(arrivals.size(), 1u);
  return {connector.take(), std::move(arrivals.at(0).socket)};
}

std::vector<std::byte> drawn(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<std::byte> bytes(count);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.below(256));
  return bytes;
}

/// Sends in pieces as the socket takes them, receives meanwhile, and returns what came.
std::vector<std::byte> carried(ByteStream* from, ByteStream* to, const std::vector<std::byte>& bytes) {
  std::vector<std::byte> came(bytes.size());
  std::size_t sent = 0, received = 0;
  const auto until = std::chrono::steady_clock::now() + kLimit;
  while (received < bytes.size() && std::chrono::steady_clock::now() < until) {
    if (sent < bytes.size())
      if (const ssize_t count = from->send(bytes.data() + sent, bytes.size() - sent); count > 0)
        sent += static_cast<std::size_t>(count);
    if (const ssize_t count = to->receive(came.data() + received, came.size() - received); count > 0)
      received += static_cast<std::size_t>(count);
  }
  EXPECT_EQ(sent, bytes.size());
  EXPECT_EQ(received, bytes.size());
  return came;
}

TEST(Tls, RanksProveThemselvesAndTheirBytesArriveAsTheyWere) {
  auto [one, other] = pair_of_streams();
  ASSERT_NE(one.tls(), nullptr);
  ASSERT_NE(other.tls(), nullptr);
  for (const std::size_t count :
       {std::size_t{1}, std::size_t{16384}, std::size_t{16385}, std::size_t{3} << 20}) {
    const auto bytes = drawn(count, count);
    EXPECT_EQ(carried(&one, &other, bytes), bytes) << count;
    EXPECT_EQ(carried(&other, &one, bytes), bytes) << count;
  }
}

/// A full socket takes some records. What is reported as sent is what the other end can read, not more than was encrypted.
TEST(Tls, AFullSocketTakesWholeRecordsAndTheRestGoesLater) {
  auto [one, other] = pair_of_streams();
  const auto bytes = drawn(std::size_t{32} << 20, 1);
  std::size_t sent = 0;
  for (ssize_t count = 0; (count = one.send(bytes.data() + sent, bytes.size() - sent)) > 0;)
    sent += static_cast<std::size_t>(count);
  EXPECT_EQ(errno, EAGAIN);
  ASSERT_GT(sent, 0u);
  ASSERT_LT(sent, bytes.size());
  std::vector<std::byte> came(bytes.size());
  std::size_t received = 0;
  while (received < sent)
    if (const ssize_t count = other.receive(came.data() + received, came.size() - received); count > 0)
      received += static_cast<std::size_t>(count);
  const std::vector rest(bytes.begin() + static_cast<std::ptrdiff_t>(sent), bytes.end());
  std::size_t ahead = received - sent;  // a record that has come, and of which the sender was not sure
  EXPECT_EQ(ahead, 0u);
  EXPECT_TRUE(std::equal(came.begin(), came.begin() + static_cast<std::ptrdiff_t>(received), bytes.begin()));
  EXPECT_EQ(carried(&one, &other, rest), rest);
}

TEST(Tls, KeysAreChangedOnTheWayAndNothingIsLost) {
  const Descriptor listener = listen_at(Endpoint::parse("127.0.0.1"));
  Attempt attempt = start_connecting(local_endpoint(listener));
  Accepted guest;
  while (!guest.socket) guest = accept_guest(listener);
  TlsStream connector(context(), attempt.socket.get(), TlsStream::Role::connector, 2);
  TlsStream acceptor(context(), guest.socket.get(), TlsStream::Role::acceptor, 2);
  using Shaking = TlsStream::Shaking;
  for (auto one = Shaking::under_way, other = one; one != Shaking::done || other != Shaking::done;) {
    one = connector.shake_hands();
    other = acceptor.shake_hands();
    ASSERT_NE(one, Shaking::failed) << connector.complaint();
    ASSERT_NE(other, Shaking::failed) << acceptor.complaint();
  }
  connector.read_ahead();
  acceptor.read_ahead();
  for (int turn = 0; turn < 20; ++turn) {
    auto bytes = drawn(1000, static_cast<std::uint64_t>(turn)), came = bytes;
    std::fill(came.begin(), came.end(), std::byte{0});
    const iovec out{bytes.data(), bytes.size()}, in{came.data(), came.size()};
    ASSERT_EQ(connector.send({&out, 1}), 1000) << turn;
    ssize_t count = -1;
    while (count < 0) {
      count = acceptor.receive({&in, 1});
      ASSERT_TRUE(count >= 0 || errno == EAGAIN) << turn;
    }
    ASSERT_EQ(count, 1000);
    EXPECT_EQ(came, bytes);
    ASSERT_EQ(acceptor.send({&in, 1}), 1000) << turn;
    while ((count = connector.receive({&out, 1})) < 0) ASSERT_EQ(errno, EAGAIN);
    ASSERT_EQ(count, 1000);
  }
}

/// A byte that was changed on the way ends the connection; nothing of its record is handed on.
TEST(Tls, BytesThatWereChangedOnTheWayAreNotHandedOn) {
  auto [one, other] = pair_of_streams();
  const std::vector<std::byte> forged = drawn(64, 5);
  ASSERT_EQ(::send(one.get(), "\x17\x03\x03\x00\x40", 5, MSG_NOSIGNAL), 5);
  ASSERT_EQ(::send(one.get(), forged.data(), forged.size(), MSG_NOSIGNAL), 64);
  std::byte into[128];
  ssize_t count = -1;
  while ((count = other.receive(into, sizeof into)) < 0 && errno == EAGAIN) {
  }
  EXPECT_EQ(count, -1);
  EXPECT_EQ(errno, EPROTO);
  EXPECT_EQ(other.receive(into, sizeof into), -1) << "it stays so";
}

TEST(Tls, TheEndOfAConnectionIsSeenBehindItsBytes) {
  auto [one, other] = pair_of_streams();
  ASSERT_EQ(one.send("hello", 5), 5);
  one.shut();
  std::byte into[16];
  ssize_t count = -1;
  while ((count = other.receive(into, sizeof into)) < 0) ASSERT_EQ(errno, EAGAIN);
  EXPECT_EQ(count, 5);
  while ((count = other.receive(into, sizeof into)) < 0) ASSERT_EQ(errno, EAGAIN);
  EXPECT_EQ(count, 0);
}

class OneEncrypts : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Either, OneEncrypts, ::testing::Bool());

TEST_P(OneEncrypts, BothAreToldThatOneDoesNotEncrypt) {
  const bool connector_encrypts = GetParam();
  Acceptor acceptor(listen_at(Endpoint::parse("127.0.0.1")), rank(0, !connector_encrypts));
  const Credentials own = rank(1, connector_encrypts);
  Handshake connector = Handshake::connect(acceptor.endpoint(), &own, 1, Rank{0});
  EXPECT_TRUE(meet(&acceptor, &connector).empty());
  EXPECT_EQ(connector.refusal(), Refusal::encryption);
  const auto until = std::chrono::steady_clock::now() + kLimit;
  std::vector<std::string> complaints;
  while ((complaints = acceptor.take_complaints()).empty() && std::chrono::steady_clock::now() < until)
    acceptor.poll();
  ASSERT_EQ(complaints.size(), 1u);
  const std::string& plain = connector_encrypts ? complaints[0] : connector.reason();
  const std::string& encrypted = connector_encrypts ? connector.reason() : complaints[0];
  EXPECT_NE(plain.find("encrypts, and this rank does not"), std::string::npos) << plain;
  EXPECT_NE(encrypted.find("does not encrypt, and this rank does"), std::string::npos) << encrypted;
}

/// Expect it to be shown out after the patience, and the rank to go on meanwhile.
TEST(Tls, ASilentPeerCostsNobodyTheirTime) {
  Acceptor acceptor(listen_at(Endpoint::parse("127.0.0.1")), rank(0),
                    {.most_unproved = 128, .patience = std::chrono::milliseconds(300)});
  Attempt silent = start_connecting(acceptor.endpoint());
  const Credentials own = rank(1);
  Handshake connector = Handshake::connect(acceptor.endpoint(), &own, 1, Rank{0});
  EXPECT_EQ(meet(&acceptor, &connector).size(), 1u);
  const auto until = std::chrono::steady_clock::now() + kLimit;
  std::vector<std::string> complaints;
  while ((complaints = acceptor.take_complaints()).empty() && std::chrono::steady_clock::now() < until)
    acceptor.poll();
  ASSERT_EQ(complaints.size(), 1u);
  EXPECT_NE(complaints[0].find("has not said who it is in time"), std::string::npos) << complaints[0];
}

TEST(Tls, AProgramThatIsNoRankIsAStranger) {
  Acceptor acceptor(listen_at(Endpoint::parse("127.0.0.1")), rank(0));
  Attempt stranger = start_connecting(acceptor.endpoint());
  while (::send(stranger.socket.get(), "GET / HTTP/1.0\r\n", 16, MSG_NOSIGNAL) < 0) {
  }
  const auto until = std::chrono::steady_clock::now() + kLimit;
  std::vector<std::string> complaints;
  while ((complaints = acceptor.take_complaints()).empty() && std::chrono::steady_clock::now() < until)
    acceptor.poll();
  ASSERT_EQ(complaints.size(), 1u);
  EXPECT_NE(complaints[0].find("does not speak as a rank does"), std::string::npos) << complaints[0];
}

struct BadFile {
  std::string name;
  TlsFiles files;
  std::string found;
};

TEST(Tls, AFileThatCannotBeUsedIsNamed) {
  const TlsFiles good = Files::get().of_rank();
  const auto path = [](const std::string& name) { return Files::get().path(name); };
  const std::vector<BadFile> cases{
      {"no certificate", {path("none"), good.key, good.authority}, "No such file"},
      {"no key", {good.certificate, path("none"), good.authority}, "No such file"},
      {"no authority", {good.certificate, good.key, path("none")}, "No such file"},
      {"a key as certificate", {good.key, good.key, good.authority}, "something else"},
      {"a request as key", {good.certificate, path("request"), good.authority}, "something else"},
      {"another certificate's key",
       {good.certificate, path("other.key"), good.authority},
       "key values mismatch"},
      {"a key with a password", {good.certificate, path("locked.key"), good.authority}, "something else"},
      {"a key as authority", {good.certificate, good.key, good.key}, "something else"},
  };
  for (const BadFile& bad : cases) {
    SCOPED_TRACE(bad.name);
    try {
      const TlsContext made(bad.files);
      ADD_FAILURE() << "it was accepted";
    } catch (const ArgumentError& e) {
      EXPECT_NE(std::string(e.what()).find(bad.found), std::string::npos) << e.what();
      EXPECT_NE(std::string(e.what()).find("HEMIOLA_TLS: expected "), std::string::npos) << e.what();
    }
  }
}

}  // namespace
}  // namespace hemiola
