// Ranks that agree on who is late by messages: over real sockets, between threads and between network namespaces,
// while the arbiter's rank is busy, gone, or pestered by strangers. The protocol itself: late_entry_test.cpp.
#include "hemiola/runtime/control/arbiter/late_arbiter.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <thread>

#include "hemiola/base/error.hpp"
#include "hemiola/runtime/late/late_entry.hpp"

namespace hemiola {
namespace {

using Phase = LateEntry::Phase;

const LateRegister::Check kNoCheck = [] {};

struct Outcome {
  int late = -1;
  int reduced = -1;
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

/// One rank's way through one operation; reducing takes no time here.
Outcome take_part(LateClient* client, std::uint64_t operation, Rank self, int rank_count, int segments) {
  LateEntry entry(operation, self, rank_count, segments);
  while (entry.phase() != Phase::settled) {
    if (entry.phase() == Phase::waiting) client->await_arrivals(operation, rank_count - 1, kNoCheck);
    if (entry.phase() == Phase::reducing)
      entry.reduced_segment();
    else
      entry.step(client, kNoCheck);
  }
  return {entry.late(), entry.reduced()};
}

constexpr int kOperations = 200;

/// The outcomes of all operations, as one rank sees them. `is_over(operation)` blocks until all have settled it.
template <typename Barrier>
std::vector<Outcome> outcomes(LateClient* client, Rank self, int rank_count, Barrier is_over) {
  std::mt19937 random(static_cast<unsigned>(self) + 7);
  std::vector<Outcome> seen;
  for (int operation = 0; operation < kOperations; ++operation) {
    if (random() % 4 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 300));
    seen.push_back(take_part(client, static_cast<std::uint64_t>(operation), self, rank_count, 3));
    is_over(operation);
  }
  return seen;
}

TEST(LateArbiter, RanksAgreeInEveryOperation) {
  for (const int ranks : {3, 5, 8}) {
    LateArbiter arbiter("127.0.0.1", ranks);
    std::atomic<int> settled = 0;
    std::vector<std::vector<Outcome>> seen(static_cast<std::size_t>(ranks));
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks; ++rank)
      threads.emplace_back([&, rank] {
        LateClient client("127.0.0.1", arbiter.address(), Deadline(60));
        seen[static_cast<std::size_t>(rank)] = outcomes(&client, Rank{rank}, ranks, [&](int operation) {
          ++settled;
          while (settled.load() < ranks * (operation + 1)) std::this_thread::yield();
        });
      });
    for (std::thread& thread : threads) thread.join();
    for (const auto& other : seen) EXPECT_EQ(other, seen.front());
    for (const Outcome& outcome : seen.front()) {
      EXPECT_GE(outcome.late, 0);
      EXPECT_LT(outcome.late, ranks);
    }
  }
}

TEST(LateArbiter, AFarewellTellsWhatTheWordsWere) {
  auto arbiter = std::make_unique<LateArbiter>("127.0.0.1", 1);
  LateClient client("127.0.0.1", arbiter->address(), Deadline(60));
  std::uint64_t expected = 0;
  client.compare_exchange(2, expected, 77, kNoCheck);
  arbiter.reset();
  EXPECT_EQ(client.load(2, kNoCheck), 77u);
  expected = 77;
  EXPECT_FALSE(client.compare_exchange(2, expected, 99, kNoCheck));
  EXPECT_EQ(client.load(2, kNoCheck), 77u);
}

TEST(LateArbiter, StrangersAreNotAnsweredAndKeepNobodyOut) {
  LateArbiter arbiter("127.0.0.1", 1);
  LateAddress wrong = arbiter.address();
  ++wrong.token;
  EXPECT_THROW(LateClient("127.0.0.1", wrong, Deadline(60)), LostRankError);
  std::vector<Descriptor> idle;  // more than there is room for
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(arbiter.address().port);
  inet_pton(AF_INET, "127.0.0.1", &at.sin_addr);
  for (int i = 0; i < 40; ++i) {
    idle.emplace_back(::socket(AF_INET, SOCK_STREAM, 0));
    ASSERT_EQ(::connect(idle.back().get(), reinterpret_cast<sockaddr*>(&at), sizeof at), 0);
    const std::string noise(static_cast<std::size_t>(i), 'x');
    ::send(idle.back().get(), noise.data(), noise.size(), MSG_NOSIGNAL);
  }
  LateClient client("127.0.0.1", arbiter.address(), Deadline(60));
  EXPECT_EQ(client.load(0, kNoCheck), 0u);
}

TEST(LateArbiter, AnAddressThatIsNoneIsRefused) {
  EXPECT_THROW(LateArbiter("nowhere", 3), ArgumentError);
  EXPECT_THROW(LateArbiter("203.0.113.1", 3), LostRankError);
  EXPECT_THROW(LateClient("127.0.0.1", {1, 1}, Deadline(0.01)), TimeoutError);
}

bool run(const std::string& command) {
  return std::system((command + " >/dev/null 2>&1").c_str()) == 0;
}

/// A namespace of its own for a second host, joined to ours by a cable. Name and addresses are the process's own, so that
/// what a killed test has left behind is in nobody's way; the next one clears it up.
class OtherHost {
 public:
  OtherHost() {
    clear_up();
    is_there_ = run("ip netns add " + name_) &&
                run("ip link add " + name_ + "a type veth peer name " + name_ + "b netns " + name_) &&
                run("ip addr add " + our_address() + "/30 dev " + name_ + "a") &&
                run("ip link set " + name_ + "a up") &&
                run("ip -n " + name_ + " addr add " + address(2) + "/30 dev " + name_ + "b") &&
                run("ip -n " + name_ + " link set " + name_ + "b up");
  }
  ~OtherHost() { remove(name_); }
  OtherHost(const OtherHost&) = delete;
  OtherHost& operator=(const OtherHost&) = delete;

  bool is_there() const { return is_there_; }
  std::string prefix() const { return "ip netns exec " + name_ + " "; }
  std::string our_address() const { return address(1); }

 private:
  static constexpr std::string_view kPrefix = "hmtest";

  /// Of a network of four addresses per process.
  static std::string address(int number) {
    const int network = ::getpid() % (1 << 14);
    return "10.213." + std::to_string(network / 64) + "." + std::to_string(network % 64 * 4 + number);
  }
  static void remove(const std::string& name) {
    run("ip link del " + name + "a");
    run("ip netns del " + name);
  }
  static void clear_up() {
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator("/run/netns", none)) {
      const std::string name = entry.path().filename();
      if (!name.starts_with(kPrefix)) continue;
      const int pid = std::atoi(name.c_str() + kPrefix.size());
      if (pid > 0 && ::kill(pid, 0) != 0 && errno == ESRCH) remove(name);
    }
  }

  std::string name_ = std::string(kPrefix) + std::to_string(::getpid());
  bool is_there_ = false;
};

/// The outcomes of some operations in which one of two ranks is late by far.
std::vector<Outcome> outcomes_between_hosts(const std::string& host, const LateAddress& address, int rank) {
  LateClient client(host, address, Deadline(60));
  std::vector<Outcome> seen;
  for (int operation = 0; operation < 20; ++operation) {
    if (rank == 1 + operation % 2) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    seen.push_back(take_part(&client, static_cast<std::uint64_t>(operation), Rank{rank}, 3, 2));
    client.await_arrivals(static_cast<std::uint64_t>(operation), 3, kNoCheck);
  }
  return seen;
}

/// What a rank on the other host does, in a process of its own.
TEST(LateArbiterGuest, DISABLED_TakesPartFromAnotherHost) {
  std::istringstream given(std::getenv("HEMIOLA_TEST_GUEST"));
  LateAddress address;
  int rank = 0;
  std::string host, path;
  given >> rank >> host >> address.port >> address.token >> path;
  std::ofstream file(path);
  for (const Outcome& outcome : outcomes_between_hosts(host, address, rank))
    file << outcome.late << ' ' << outcome.reduced << '\n';
}

std::vector<Outcome> read_outcomes(const std::string& path) {
  std::ifstream file(path);
  std::vector<Outcome> seen;
  for (Outcome outcome; file >> outcome.late >> outcome.reduced;) seen.push_back(outcome);
  return seen;
}

TEST(LateArbiter, RanksOnAnotherHostAgreeWithThoseHere) {
  const OtherHost other;
  if (!other.is_there()) GTEST_SKIP() << "no right to make network namespaces and veth devices here";
  LateArbiter arbiter(other.our_address(), 3);
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  const auto path = [](int rank) {
    return ::testing::TempDir() + "hemiola-guest-" + std::to_string(::getpid()) + "-" + std::to_string(rank);
  };
  std::vector<std::thread> guests;
  for (int rank : {1, 2})
    guests.emplace_back([&, rank] {
      std::ostringstream given;
      given << rank << ' ' << other.our_address() << ' ' << arbiter.address().port << ' '
            << arbiter.address().token << ' ' << path(rank);
      run("HEMIOLA_TEST_GUEST='" + given.str() + "' " + other.prefix() + self +
          " --gtest_also_run_disabled_tests --gtest_filter=LateArbiterGuest.*");
    });
  const std::vector<Outcome> here = outcomes_between_hosts(other.our_address(), arbiter.address(), 0);
  for (std::thread& guest : guests) guest.join();
  for (int rank : {1, 2}) {
    EXPECT_EQ(read_outcomes(path(rank)), here);
    std::filesystem::remove(path(rank));
  }
}

}  // namespace
}  // namespace hemiola
