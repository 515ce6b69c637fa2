// Communicators of threads that share real memory and a real session: board, engine and wires together, where the
// sanitizers see all ranks. Over shared memory and over an emulated network.
#include "hemiola/runtime/communicator/communicator.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <thread>

#include "hemiola/algorithms/ring.hpp"
#include "hemiola/base/error.hpp"
#include "hemiola/runtime/communicator/call_desk.hpp"
#include "hemiola/topology/builders/switch.hpp"

namespace hemiola {
namespace {

using Array = std::vector<std::int32_t>;

/// One rank's communicator, and the calls that a user would make.
class User {
 public:
  User(std::shared_ptr<LocalSession> session, std::vector<Rank> members, const CommunicatorOptions& options)
      : comm_(std::move(session), std::move(members), options),
        desk_(&comm_, [this](CollectiveKind, std::int64_t, Rank, const std::map<Rank, double>&) {
          return Choice{std::make_shared<const Schedule>(algorithms::all_reduce_ring(comm_.rank_count())),
                        {}};
        }) {}

  Communicator& comm() { return comm_; }
  int rank() const { return comm_.rank(); }

  Operation all_reduce(Array* array, double timeout_s = 0) {
    shape_ = {static_cast<std::int64_t>(array->size())};
    const ArrayView view{reinterpret_cast<std::byte*>(array->data()), DType::int32, shape_};
    Call call;
    call.kind = OperationKind::all_reduce;
    call.input = call.output = view;
    call.timeout_s = timeout_s;
    return desk_.prepare(call);
  }

 private:
  Communicator comm_;
  CallDesk desk_;
  std::vector<std::int64_t> shape_;
};

std::string fresh_name() {
  static std::atomic<int> count{0};
  return "communicator-test-" + std::to_string(::getpid()) + "-" + std::to_string(count++);
}

std::vector<Rank> all_of(int rank_count) {
  std::vector<Rank> ranks;
  for (Rank rank : indices<Rank>(rank_count)) ranks.push_back(rank);
  return ranks;
}

/// Runs `body` on a thread per rank, each with a communicator of all of them.
void on_users(int rank_count, const CommunicatorOptions& options, const std::function<void(User&)>& body) {
  const std::string name = fresh_name();
  std::vector<std::thread> threads;
  for (Rank rank : indices<Rank>(rank_count))
    threads.emplace_back([&, rank] {
      User user(LocalSession::join({rank, rank_count, name, 60}), all_of(rank_count), options);
      body(user);
    });
  for (std::thread& thread : threads) thread.join();
}

/// Element i is a function of rank and place.
Array input_of(int rank, std::size_t size) {
  Array array(size);
  for (std::size_t i = 0; i < size; ++i) array[i] = 1000 * (rank + 1) + static_cast<std::int32_t>(i % 97);
  return array;
}

Array sum_of(int rank_count, std::size_t size) {
  Array sum(size);
  for (int rank = 0; rank < rank_count; ++rank) {
    const Array input = input_of(rank, size);
    std::transform(sum.begin(), sum.end(), input.begin(), sum.begin(), std::plus<>());
  }
  return sum;
}

CommunicatorOptions emulating(int rank_count) {
  CommunicatorOptions options;
  options.emulation = std::make_shared<Emulation>(
      Emulation{topologies::switch_(rank_count, {.latency = kSecond / 1'000'000, .bandwidth_Bps = 1e9}), {}});
  return options;
}

class CommunicatorOver : public testing::TestWithParam<bool> {
 protected:
  static CommunicatorOptions options(int rank_count) {
    return GetParam() ? emulating(rank_count) : CommunicatorOptions{};
  }
};

TEST_P(CommunicatorOver, AllReducesOneSizeAfterTheOther) {
  for (const int ranks : {1, 2, 4})
    on_users(ranks, options(ranks), [&](User& user) {
      for (const std::size_t size : {1, 7, 1000, 20'000, 0, 3}) {
        Array x = input_of(user.rank(), size);
        user.comm().run(user.all_reduce(&x));
        EXPECT_EQ(x, sum_of(ranks, size));
      }
    });
}

TEST_P(CommunicatorOver, ADisagreementLeavesInputsAndTheCommunicatorIntact) {
  constexpr int kRanks = 3;
  on_users(kRanks, options(kRanks), [&](User& user) {
    for (int round = 0; round < 5; ++round) {
      const std::size_t size = user.rank() == round % kRanks ? 500 : 600;
      Array x = input_of(user.rank(), size);
      EXPECT_THROW(user.comm().run(user.all_reduce(&x)), MismatchError);
      EXPECT_EQ(x, input_of(user.rank(), size));
      Array y = input_of(user.rank(), 100);
      user.comm().run(user.all_reduce(&y));
      EXPECT_EQ(y, sum_of(kRanks, 100));
    }
  });
}

TEST_P(CommunicatorOver, AMistakeOfOneRankIsToldToAll) {
  constexpr int kRanks = 2;
  on_users(kRanks, options(kRanks), [&](User& user) {
    Array x = input_of(user.rank(), 10);
    Operation operation = user.all_reduce(&x);
    if (user.rank() == 1) operation.complaint = "no such thing";
    if (user.rank() == 1)
      EXPECT_THROW(user.comm().run(operation), ArgumentError);
    else
      EXPECT_THROW(user.comm().run(operation), MismatchError);
  });
}

TEST_P(CommunicatorOver, ARankThatStaysAwayEndsTheOperationAndTheCommunicator) {
  constexpr int kRanks = 3;
  on_users(kRanks, options(kRanks), [&](User& user) {
    Array x = input_of(user.rank(), 5000);
    if (user.rank() == 1) return;  // its thread leaves, its process lives
    EXPECT_THROW(user.comm().run(user.all_reduce(&x, 0.3)), TimeoutError);
    EXPECT_EQ(x, input_of(user.rank(), 5000));
    EXPECT_THROW(user.comm().run(user.all_reduce(&x)), TimeoutError);
  });
}

TEST_P(CommunicatorOver, OperationsInTheBackgroundRunInOrderBesideTheCaller) {
  constexpr int kRanks = 3;
  on_users(kRanks, options(kRanks), [&](User& user) {
    std::vector<Array> arrays;
    std::vector<std::shared_ptr<PendingOperation>> pending;
    for (std::size_t size = 1; size <= 8; ++size) arrays.push_back(input_of(user.rank(), 100 * size));
    for (Array& array : arrays) pending.push_back(user.comm().start(user.all_reduce(&array)));
    Array last = input_of(user.rank(), 5);
    user.comm().run(user.all_reduce(&last));
    EXPECT_EQ(last, sum_of(kRanks, 5));
    for (std::size_t i = 0; i < pending.size(); ++i) {
      EXPECT_TRUE(pending[i]->is_done());
      EXPECT_TRUE(pending[i]->wait_for(60));
      EXPECT_EQ(arrays[i], sum_of(kRanks, arrays[i].size()));
    }
  });
}

TEST_P(CommunicatorOver, ArrivalsAreNotedForEveryRank) {
  constexpr int kRanks = 2;
  on_users(kRanks, options(kRanks), [&](User& user) {
    Array x = input_of(user.rank(), 10);
    for (int i = 0; i < 3; ++i) user.comm().run(user.all_reduce(&x));
    EXPECT_EQ(user.comm().arrival_times_ns().size(), 3u * kRanks);
  });
}

TEST_P(CommunicatorOver, GroupsWorkSideBySide) {
  const std::string name = fresh_name();
  constexpr int kRanks = 4;
  std::vector<std::thread> threads;
  for (Rank rank : indices<Rank>(kRanks))
    threads.emplace_back([&, rank] {
      const auto session = LocalSession::join({rank, kRanks, name, 60});
      const bool odd = rank % 2 == 1;
      User pair(session, odd ? std::vector{Rank{1}, Rank{3}} : std::vector{Rank{0}, Rank{2}},
                options(kRanks));
      for (std::size_t size : {3000, 10}) {
        Array x = input_of(rank, size), expected = input_of(odd ? 1 : 0, size);
        const Array other = input_of(odd ? 3 : 2, size);
        std::transform(expected.begin(), expected.end(), other.begin(), expected.begin(), std::plus<>());
        pair.comm().run(pair.all_reduce(&x));
        EXPECT_EQ(x, expected);
      }
    });
  for (std::thread& thread : threads) thread.join();
}

INSTANTIATE_TEST_SUITE_P(, CommunicatorOver, testing::Bool(),
                         [](const auto& info) { return info.param ? "AnEmulatedSwitch" : "SharedMemory"; });

}  // namespace
}  // namespace hemiola
