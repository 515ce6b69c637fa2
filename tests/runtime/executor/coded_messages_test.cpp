// SPDX-License-Identifier: Apache-2.0
// What coded programs send: as few bytes as the data allow, plain bytes where there is nothing to leave out, and nothing
// that a receiver would believe unseen.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <numeric>

#include "engine_ranks.hpp"
#include "hemiola/algorithms/published/direct.hpp"
#include "hemiola/algorithms/published/ring.hpp"
#include "hemiola/codec/format.hpp"
#include "hemiola/runtime/executor/program/compile.hpp"

namespace hemiola {
namespace {

using testing::Buffer;
using testing::EverybodyIsWelcome;
using testing::InProcessWire;
using testing::Mailboxes;
using testing::on_ranks;

constexpr std::int64_t kElements = 1 << 15;  // of a rank's block
constexpr std::int64_t kBytes = kElements * static_cast<std::int64_t>(sizeof(std::int64_t));

/// Notes what a rank sends, and may spoil it on the way.
class WatchedWire final : public Wire, private EmulatedClock {
 public:
  using Spoil = std::function<void(std::vector<std::byte>*)>;
  WatchedWire(Wire* inner, Spoil spoil, bool charges_work = false) : inner_(inner), spoil_(std::move(spoil)) {
    if (charges_work) clock_ = this;
  }

  Request send(Rank dst, const std::byte* data, std::size_t bytes, Source source) override {
    sizes.push_back(bytes);
    if (!spoil_) return inner_->send(dst, data, bytes, source);
    std::vector<std::byte>& spoiled = spoiled_.emplace_back(data, data + bytes);
    spoil_(&spoiled);
    return inner_->send(dst, spoiled.data(), spoiled.size(), source);
  }
  Request receive(Rank src, const Landing& landing, std::size_t capacity) override {
    return inner_->receive(src, landing, capacity);
  }
  bool progress() override { return inner_->progress(); }
  bool done(Request request) const override { return inner_->done(request); }
  void wait(int timeout_us) override { inner_->wait(timeout_us); }
  void reset(std::uint64_t epoch) override { inner_->reset(epoch); }
  std::string carrier(Rank peer) const override { return inner_->carrier(peer); }
  Payload payload(Rank peer) const override { return inner_->payload(peer); }
  const WireTraits& traits() const override { return inner_->traits(); }

  std::vector<std::size_t> sizes;
  std::vector<std::int64_t> charges;
  std::size_t sent() const { return std::accumulate(sizes.begin(), sizes.end(), std::size_t{0}); }

 private:
  std::int64_t now_ns() const override { return 0; }
  void charge(std::int64_t core_ns) override { charges.push_back(core_ns); }
  void slow_down(const NetworkSlowdown&) override {}

  Wire* inner_;
  Spoil spoil_;
  std::deque<std::vector<std::byte>> spoiled_;
};

/// One element in `every` has a value.
Buffer brought(Rank rank, std::size_t count, int every) {
  Buffer buffer(count);
  for (std::size_t i = static_cast<std::size_t>(rank); i < count; i += static_cast<std::size_t>(every))
    buffer[i] = testing::value_of(rank, static_cast<std::int64_t>(i));
  return buffer;
}

struct Run {
  std::int64_t slice_bytes = 1 << 16;
  int every = 100;
  Coding coding = Coding::fastest;
};

CompileOptions options_of(const Run& run) {
  CompileOptions options;
  options.block_elements = kElements;
  options.element_bytes = sizeof(std::int64_t);
  options.rules = {run.slice_bytes, run.slice_bytes, 0};
  options.coding = run.coding;
  return options;
}

void execute(const Schedule& schedule, const Run& run, Rank rank, Wire* wire) {
  const Program program = compile(schedule, rank, options_of(run));
  const auto count = [&](Region region) {
    return static_cast<std::size_t>(program.bytes[static_cast<int>(region)]) / sizeof(std::int64_t);
  };
  const Buffer input = brought(rank, count(Region::input), run.every);
  Buffer output(count(Region::output));
  EverybodyIsWelcome supervisor;
  Engine engine(wire, {.waiting = {50, 50, 50}});
  engine.execute(
      program,
      {reinterpret_cast<const std::byte*>(input.data()), reinterpret_cast<std::byte*>(output.data())},
      {DType::int64, Op::sum, 1}, &supervisor);
}

/// By rank, what each of its messages took.
std::vector<std::vector<std::size_t>> sizes_sent(const Schedule& schedule, const Run& run) {
  std::vector<std::vector<std::size_t>> sizes(static_cast<std::size_t>(schedule.rank_count()));
  on_ranks(schedule.rank_count(), {}, [&](Rank rank, Wire* inner) {
    WatchedWire wire(inner, {});
    execute(schedule, run, rank, &wire);
    sizes[static_cast<std::size_t>(rank)] = std::move(wire.sizes);
  });
  return sizes;
}

std::size_t sum_of(const std::vector<std::size_t>& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), std::size_t{0});
}

TEST(CodedMessages, AnAllGatherSendsOnlyWhatIsNotZero) {
  const int ranks = 4;
  for (const auto& sizes : sizes_sent(algorithms::all_gather_ring(ranks), {.every = 100}))
    EXPECT_LT(60 * sum_of(sizes), static_cast<std::size_t>((ranks - 1) * kBytes));
}

/// Given: each rank brings another number of values. Expect: what a rank sends in the first step, its neighbour sends on.
TEST(CodedMessages, AnAllGatherForwardsWhatItGot) {
  const int ranks = 3;
  std::vector<std::vector<std::size_t>> sizes(ranks);
  on_ranks(ranks, {}, [&](Rank rank, Wire* inner) {
    WatchedWire wire(inner, {});
    execute(algorithms::all_gather_ring(ranks), {.slice_bytes = kBytes, .every = 50 + 20 * rank}, rank,
            &wire);
    sizes[static_cast<std::size_t>(rank)] = wire.sizes;
  });
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    ASSERT_EQ(sizes[rank].size(), 2u);
    EXPECT_EQ(sizes[rank][0], sizes[(rank + 1) % ranks][1]);
  }
}

/// Given two messages to send, of which one is forwarded, and two to decode.
TEST(CodedMessages, TheCoresTimeIsChargedWhereAClockStandsStillMeanwhile) {
  for (const bool charges_work : {false, true})
    on_ranks(3, {}, [&](Rank rank, Wire* inner) {
      WatchedWire wire(inner, {}, charges_work);
      execute(algorithms::all_gather_ring(3), {.slice_bytes = kBytes, .every = 50}, rank, &wire);
      EXPECT_EQ(wire.charges.size(), charges_work ? 4u : 0u);
      EXPECT_TRUE(std::ranges::all_of(wire.charges, [](std::int64_t ns) { return ns > 0; }));
    });
}

TEST(CodedMessages, AChosenFormatIsWhatMessagesAreWrittenIn) {
  const auto smallest = sizes_sent(algorithms::all_gather_ring(2), {.every = 100});
  codec::choose_format(codec::Format::pici);
  const auto pici = sizes_sent(algorithms::all_gather_ring(2), {.slice_bytes = kBytes, .every = 100});
  EXPECT_EQ(codec::choose_format(std::nullopt), codec::Format::pici);
  // Header; values; a bit per element, and a count per 4,096 of them.
  const std::size_t values = (kElements + 99) / 100 * sizeof(std::int64_t);
  EXPECT_EQ(pici[0], (std::vector<std::size_t>{32 + values + kElements / 8 + kElements / 4096 * 4}));
  EXPECT_LT(2 * sum_of(smallest[0]), 3 * sum_of(pici[0]));
  EXPECT_LT(sum_of(smallest[0]), sum_of(pici[0]));
}

TEST(CodedMessages, AReduceScatterInOneStepPerPeerHasNoFillIn) {
  const int ranks = 4;
  const auto direct = sizes_sent(algorithms::reduce_scatter_direct_rounds(ranks), {.every = 100});
  const auto ring = sizes_sent(algorithms::reduce_scatter_ring(ranks), {.every = 100});
  EXPECT_LT(60 * sum_of(direct[0]), static_cast<std::size_t>((ranks - 1) * kBytes));
  EXPECT_LT(3 * sum_of(direct[0]), 2 * sum_of(ring[0]));
}

TEST(CodedMessages, DenseDataTakeNotAByteMore) {
  const int ranks = 4;
  for (const Schedule& schedule :
       {algorithms::all_gather_ring(ranks), algorithms::reduce_scatter_ring(ranks)})
    for (const auto& sizes : sizes_sent(schedule, {.every = 1}))
      EXPECT_EQ(sum_of(sizes), static_cast<std::size_t>((ranks - 1) * kBytes));
}

/// Returns what the receiver of a spoiled message says.
std::string complaint_about(const WatchedWire::Spoil& spoil) {
  std::string complaint;
  std::mutex mutex;
  on_ranks(2, {}, [&](Rank rank, Wire* inner) {
    WatchedWire wire(inner, rank == 1 ? spoil : WatchedWire::Spoil{});
    try {
      execute(algorithms::all_gather_ring(2), {.slice_bytes = kBytes}, rank, &wire);
    } catch (const FormatError& e) {
      const std::lock_guard lock(mutex);
      complaint = e.what();
    }
  });
  return complaint;
}

TEST(CodedMessages, ABadMessageIsAnErrorThatNamesThePeer) {
  const std::vector<WatchedWire::Spoil> spoils{
      [](auto* bytes) { bytes->front() = std::byte{0}; },           // its beginning
      [](auto* bytes) { (*bytes)[8] ^= std::byte{1}; },             // its element count
      [](auto* bytes) { (*bytes)[12] ^= std::byte{1}; },            // its values' number
      [](auto* bytes) { bytes->back() ^= std::byte{0x80}; },        // its index
      [](auto* bytes) { bytes->resize(bytes->size() - 8); },        // its length
      [](auto* bytes) { bytes->resize(codec::kHeaderBytes / 2); },  // not even a header
  };
  for (std::size_t i = 0; i < spoils.size(); ++i) {
    const std::string complaint = complaint_about(spoils[i]);
    EXPECT_NE(complaint.find("rank 1 has sent what no rank sends"), std::string::npos)
        << "spoil " << i << ": " << complaint;
  }
}

}  // namespace
}  // namespace hemiola
