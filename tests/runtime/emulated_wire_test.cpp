// The emulated network's arithmetic, and its clock over a wire between threads.
#include "hemiola/runtime/wire/emulated/emulated_wire.hpp"

#include <gtest/gtest.h>

#include <array>
#include <barrier>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "hemiola/topology/builders/switch.hpp"
#include "thread_wire.hpp"

namespace hemiola {
namespace {

using Path = std::span<const int>;

TEST(FairShares, FlowsOfOneLinkGetEqualParts) {
  const std::array<int, 1> link{0};
  const std::array<Path, 3> paths{link, link, link};
  std::array<double, 3> rates;
  share_fairly(paths, {6.0}, rates);
  EXPECT_EQ(rates, (std::array{2.0, 2.0, 2.0}));
}

// Given three flows, over links a and b, a only, b only; a carries 1, b carries 10.
// Derivation: a's two flows get 1/2 each; the third takes what b has left, 10 - 1/2.
TEST(FairShares, AFlowTakesWhatOthersCannotUse) {
  const std::array<int, 2> both{0, 1};
  const std::array<int, 1> a{0}, b{1};
  const std::array<Path, 3> paths{both, a, b};
  std::array<double, 3> rates;
  share_fairly(paths, {1.0, 10.0}, rates);
  EXPECT_DOUBLE_EQ(rates[0], 0.5);
  EXPECT_DOUBLE_EQ(rates[1], 0.5);
  EXPECT_DOUBLE_EQ(rates[2], 9.5);
}

/// Emulated wires of threads, around a wire between threads.
class Ranks {
 public:
  Ranks(int rank_count, testing::ThreadWireOptions options)
      : model_(topologies::switch_(rank_count, {.latency = kSecond / 100'000, .bandwidth_Bps = 1e8}), {},
               all_of(rank_count)),
        inner_(rank_count, options),
        lines_(SharedNetwork::region_bytes(rank_count) / sizeof(Line) + 1) {}

  /// Runs `body(wire)` for every rank in a thread of its own.
  void run(const std::function<void(EmulatedWire&, Rank)>& body) {
    std::vector<std::thread> threads;
    for (Rank rank : indices<Rank>(model_.rank_count()))
      threads.emplace_back([&, rank] {
        EmulatedWire wire(std::make_unique<testing::ThreadWire>(&inner_, rank), &model_,
                          std::as_writable_bytes(std::span(lines_)), rank);
        body(wire, rank);
      });
    for (std::thread& thread : threads) thread.join();
  }

 private:
  struct alignas(64) Line {
    std::byte bytes[64]{};
  };
  static std::vector<Rank> all_of(int rank_count) {
    std::vector<Rank> ranks;
    for (Rank rank : indices<Rank>(rank_count)) ranks.push_back(rank);
    return ranks;
  }

  NetworkModel model_;
  testing::ThreadNetwork inner_;
  std::vector<Line> lines_;
};

void finish(EmulatedWire& wire, const std::vector<Request>& requests) {
  for (Request request : requests)
    while (!wire.done(request))
      if (!wire.progress()) wire.wait(500);
  wire.progress();  // nothing more follows from what happened last, for which the emulated clock waits
}

std::byte byte_of(Rank src, Rank dst, int number) {
  return static_cast<std::byte>(31 * number + 7 * src + dst + 1);
}

/// More messages at a time than the network holds for a pair, of sizes down to 0, between all pairs.
TEST(EmulatedWire, CarriesEveryMessageOfEveryPairInOrder) {
  constexpr int kRanks = 3, kMessages = 70;
  for (const bool rendezvous : {false, true}) {
    Ranks ranks(kRanks, {.rendezvous = rendezvous, .slice_bytes = 256, .seed = 5, .laziness = 3});
    ranks.run([&](EmulatedWire& wire, Rank self) {
      std::vector<std::vector<std::byte>> sent, received;
      std::vector<Request> requests;
      for (int number = 0; number < kMessages; ++number)
        for (Rank peer : indices<Rank>(kRanks)) {
          if (peer == self) continue;
          const auto size = static_cast<std::size_t>(number % 5 * 40);
          sent.emplace_back(size, byte_of(self, peer, number));
          received.emplace_back(size);
          requests.push_back(wire.send(peer, sent.back().data(), size));
          requests.push_back(wire.receive(peer, {.dst = received.back().data()}, size));
        }
      finish(wire, requests);
      std::size_t at = 0;
      for (int number = 0; number < kMessages; ++number)
        for (Rank peer : indices<Rank>(kRanks)) {
          if (peer == self) continue;
          const std::vector<std::byte> expected(received[at].size(), byte_of(peer, self, number));
          EXPECT_EQ(received[at++], expected) << "message " << number << " from rank " << peer;
        }
    });
  }
}

/// Each rank starts something that the others never answer, resets, and is understood afterwards. A reset throws
/// away what is in flight, so nobody comes to one before all have what was sent before.
TEST(EmulatedWire, StartsAfreshAfterAReset) {
  constexpr int kRanks = 3;
  Ranks ranks(kRanks, {.rendezvous = true, .slice_bytes = 256, .seed = 6, .laziness = 3});
  std::barrier all_have_received(kRanks);
  ranks.run([&](EmulatedWire& wire, Rank self) {
    const Rank next{(self + 1) % kRanks}, before{(self + kRanks - 1) % kRanks};
    for (int round = 0; round < 10; ++round) {
      const std::byte lost[100]{};
      wire.send(round % 2 == 0 ? next : before, lost, sizeof lost);
      for (int i = 0; i < 5; ++i) wire.progress();
      wire.reset(static_cast<std::uint64_t>(round) + 1);
      const std::byte sent = byte_of(self, next, round);
      std::byte received{};
      const Request sending = wire.send(next, &sent, 1);
      finish(wire, {wire.receive(before, {.dst = &received}, 1), sending});
      EXPECT_EQ(received, byte_of(before, self, round));
      all_have_received.arrive_and_wait();
    }
  });
}

// Given a switch with 3 ranks of which two take part, numbered 0 and 1; the third is slow by the conditions.
// Expect a rank's links, and nobody else's, to follow its factor; and pairs' healthy speed to know no factors.
TEST(NetworkModel, PortsFollowTheFactorsOfTheirRanks) {
  std::vector<Link> links;
  for (int rank = 0; rank < 3; ++rank) {
    links.push_back({Vertex{rank}, Vertex{3}, 1000, 2e9});
    links.push_back({Vertex{3}, Vertex{rank}, 1000, 2e9});
  }
  const Topology topology("switch", 3, 1, links);
  Conditions conditions;
  conditions.slow[Rank{2}] = 4;
  const NetworkModel model(topology, conditions, {Rank{0}, Rank{1}});
  EXPECT_EQ(model.slowdown(), (std::vector<double>{1, 1}));
  EXPECT_DOUBLE_EQ(model.bandwidth_Bpns(Rank{0}, Rank{1}), 2);
  const std::vector<double> factors{1, 2};
  const std::vector<double> capacities = model.capacities(factors);
  for (std::size_t l = 0; l < capacities.size(); ++l) {
    const Link& link = topology.links()[l];
    const int rank = std::min<int>(link.src, link.dst);  // the other end is the switch
    EXPECT_DOUBLE_EQ(capacities[l], rank == 0 ? 2.0 : rank == 1 ? 1.0 : 0.5);
  }
}

}  // namespace
}  // namespace hemiola
