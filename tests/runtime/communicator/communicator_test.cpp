// Communicators of threads: session, control plane, executor and wire together, where the sanitizers see all ranks. Over
// shared memory, over an emulated network, and over what lives in one process and shares no memory at all.
#include "hemiola/runtime/communicator/communicator.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <functional>
#include <optional>
#include <thread>

#include "hemiola/algorithms/late/late_segmented.hpp"
#include "hemiola/algorithms/published/ring.hpp"
#include "hemiola/base/error.hpp"
#include "hemiola/runtime/communicator/call_desk.hpp"
#include "hemiola/runtime/session/local/local_session.hpp"
#include "hemiola/runtime/session/lost_member.hpp"
#include "hemiola/runtime/wire/emulated/emulated_kind.hpp"
#include "hemiola/runtime/wire/shm/shm_kind.hpp"
#include "hemiola/topology/builders/switch.hpp"
#include "in_process/in_process_control.hpp"
#include "in_process/in_process_session.hpp"
#include "in_process/in_process_wire.hpp"

namespace hemiola {
namespace {

using Array = std::vector<std::int32_t>;

/// One rank's communicator, and the calls that a user would make.
class User {
 public:
  User(std::shared_ptr<Session> session, std::vector<Rank> members, const CommunicatorOptions& options)
      : comm_(std::move(session), std::move(members), options),
        desk_(&comm_, {[this](const Question&) {
                         ++decisions_;
                         return Bytes(1);
                       },
                       [this](const Bytes&, const Question& question) { return followed(question); }}) {}

  Communicator& comm() { return comm_; }
  int rank() const { return comm_.rank(); }

  /// How often this rank has chosen for all.
  int decisions() const { return decisions_; }

  PreparedCall barrier() {
    Call call;
    call.kind = OperationKind::barrier;
    return desk_.prepare(call, {});
  }
  PreparedCall all_reduce(Array* array, double timeout_s = 0, const std::string& algorithm = {}) {
    return all_reduce(array, timeout_s, algorithm, false);
  }
  PreparedCall sparse_all_reduce(Array* array) { return all_reduce(array, 0, {}, true); }

 private:
  PreparedCall all_reduce(Array* array, double timeout_s, const std::string& algorithm, bool sparse) {
    shape_ = {static_cast<std::int64_t>(array->size())};
    const ArrayView view{reinterpret_cast<std::byte*>(array->data()), DType::int32, shape_};
    Call call;
    call.kind = OperationKind::all_reduce;
    call.input = call.output = view;
    call.timeout_s = timeout_s;
    call.algorithm = algorithm;
    call.sparse = sparse ? SparseMode::yes : SparseMode::no;
    return desk_.prepare(call, {});
  }

  /// A ring; where "late" is asked for, one that looks for its late rank.
  Selection followed(const Question& question) const {
    const auto ring = std::make_shared<const Schedule>(algorithms::all_reduce_ring(comm_.rank_count()));
    if (question.algorithm != "late") return {ring, std::nullopt};
    return {ring, LateRule{.plain = ring,
                           .generate = &late_schedule,
                           .segments = 2,
                           .segment_steps = comm_.rank_count() - 2}};
  }
  static Schedule late_schedule(int rank_count, Rank late, const LateRule& rule, int reduced) {
    return algorithms::all_reduce_late_segmented(rank_count, late,
                                                 {rule.segments, reduced, rule.chunks_per_owner});
  }

  Communicator comm_;
  int decisions_ = 0;
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

/// What the ranks of a test stand on.
enum class Ground { shared_memory, emulated_switch, one_process };

struct Setting {
  Ground ground;
  CommunicatorOptions options;
};

Setting setting_over(Ground ground, int rank_count) {
  Setting setting{ground, {}};
  if (ground == Ground::emulated_switch)
    setting.options.wire = std::make_shared<EmulatedKind>(
        std::make_shared<ShmKind>(),
        topologies::switch_(rank_count, {.latency = kSecond / 1'000'000, .bandwidth_Bps = 1e9}),
        Conditions{});
  if (ground == Ground::one_process) {
    setting.options.wire = std::make_shared<hemiola::testing::InProcessKind>();
    setting.options.control = std::make_shared<hemiola::testing::InProcessControl>();
  }
  return setting;
}

/// The sessions of one job, a rank's made when it asks.
class Sessions {
 public:
  Sessions(const Setting& setting, int rank_count) : rank_count_(rank_count), name_(fresh_name()) {
    if (setting.ground == Ground::one_process) made_ = hemiola::testing::InProcessSession::make(rank_count);
  }
  std::shared_ptr<Session> join(Rank rank) const {
    if (!made_.empty()) return made_[static_cast<std::size_t>(rank)];
    return LocalSession::join({rank, rank_count_, name_, 60});
  }

 private:
  int rank_count_;
  std::string name_;
  std::vector<std::shared_ptr<Session>> made_;
};

/// Runs `body` on a thread per rank, each with its session of one job.
void on_ranks(int rank_count, const Setting& setting,
              const std::function<void(Rank, const std::shared_ptr<Session>&)>& body) {
  const Sessions sessions(setting, rank_count);
  std::vector<std::thread> threads;
  for (Rank rank : indices<Rank>(rank_count))
    threads.emplace_back([&, rank] { body(rank, sessions.join(rank)); });
  for (std::thread& thread : threads) thread.join();
}

/// The same, each with a communicator of all of them.
void on_users(int rank_count, const Setting& setting, const std::function<void(User&)>& body) {
  on_ranks(rank_count, setting, [&](Rank, const std::shared_ptr<Session>& session) {
    User user(session, all_of(rank_count), setting.options);
    body(user);
  });
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

/// A wire whose rank 1 sends coded messages with a damaged header.
class DamagingWire final : public hemiola::testing::InProcessWire {
 public:
  using InProcessWire::InProcessWire;
  Request send(Rank dst, const std::byte* data, std::size_t bytes, Source source) override {
    std::vector<std::byte>& sent = sent_.emplace_back(data, data + bytes);
    if (!sent.empty()) sent.front() ^= std::byte{1};
    return InProcessWire::send(dst, sent.data(), bytes, source);
  }

 private:
  std::deque<std::vector<std::byte>> sent_;
};

class DamagingKind final : public hemiola::testing::InProcessKind {
  std::unique_ptr<Wire> wire(hemiola::testing::Mailboxes mailboxes, Rank self) const override {
    if (self != 1) return InProcessKind::wire(std::move(mailboxes), self);
    return std::make_unique<DamagingWire>(std::move(mailboxes), self, hemiola::testing::InProcessOptions{});
  }
};

/// Zero but for one element in a hundred.
Array sparse_input_of(int rank, std::size_t size) {
  Array array(size);
  for (std::size_t i = 0; i < size; i += 100) array[i] = rank + 1;
  return array;
}

TEST(Communicator, EveryRankLearnsOfADamagedMessage) {
  Setting setting = setting_over(Ground::one_process, 4);
  setting.options.wire = std::make_shared<DamagingKind>();
  on_users(4, setting, [](User& user) {
    Array x = sparse_input_of(user.rank(), 50'000);
    const Array before = x;
    try {
      user.comm().run(user.sparse_all_reduce(&x));
      ADD_FAILURE() << "rank " << user.rank() << " has seen nothing";
    } catch (const FormatError& e) {
      EXPECT_EQ(user.rank(), 2);
      EXPECT_NE(std::string(e.what()).find("rank 1 has sent what no rank sends"), std::string::npos)
          << e.what();
    } catch (const LostRankError& e) {
      EXPECT_NE(user.rank(), 2);
      EXPECT_NE(std::string(e.what()).find("rank 1 has sent what no rank sends"), std::string::npos)
          << e.what();
    }
    EXPECT_EQ(x, before);
  });
}

/// Rank 2 gets a message with a header that no rank writes from whoever is number 1 in its group.
class NonsenseKind final : public hemiola::testing::InProcessKind {
  struct NonsenseWire final : hemiola::testing::InProcessWire {
    using InProcessWire::InProcessWire;
    bool progress() override { throw BadMessageError(Rank{1}, "half a header"); }
  };
  std::unique_ptr<Wire> wire(hemiola::testing::Mailboxes mailboxes, Rank self) const override {
    if (self != 2) return InProcessKind::wire(std::move(mailboxes), self);
    return std::make_unique<NonsenseWire>(std::move(mailboxes), self, hemiola::testing::InProcessOptions{});
  }
};

/// Rank 2 gets a message from rank 1 whose header is sound, and of another operation.
class MisleadingKind final : public hemiola::testing::InProcessKind {
  struct MisleadingWire final : hemiola::testing::InProcessWire {
    using InProcessWire::InProcessWire;
    bool progress() override { return false; }
    std::optional<ForeignMessage> mismatch() const override { return ForeignMessage{Rank{1}, {0, 0, 77}}; }
  };
  std::unique_ptr<Wire> wire(hemiola::testing::Mailboxes mailboxes, Rank self) const override {
    if (self != 2) return InProcessKind::wire(std::move(mailboxes), self);
    return std::make_unique<MisleadingWire>(std::move(mailboxes), self, hemiola::testing::InProcessOptions{});
  }
};

/// What all ranks see where rank 1 has sent rank 2 something bad: FormatError there, LostRankError on the others, each for
/// the sender and with what it has sent; with the inputs as they were.
void expect_all_to_blame_rank_1(User& user, const std::string& expected) {
  Array x = input_of(user.rank(), 1000);
  for (const bool is_first : {true, false}) try {
      user.comm().run(user.all_reduce(&x));
      ADD_FAILURE() << "rank " << user.rank() << " has seen nothing";
    } catch (const BadMessageError& e) {
      EXPECT_TRUE(is_first && user.rank() == 2);
      EXPECT_EQ(e.cause.rank, Rank{1});
      EXPECT_EQ(std::string(e.what()).find(expected), 0) << e.what();
    } catch (const LostMemberError& e) {
      EXPECT_FALSE(is_first && user.rank() == 2);
      EXPECT_EQ(e.cause.rank, Rank{1}) << e.what();
      EXPECT_NE(std::string(e.what()).find(expected), std::string::npos) << e.what();
    }
  EXPECT_EQ(x, input_of(user.rank(), 1000));
}

/// All agree, so no rank may have meant this header. Expect it known long before the deadline, which would be a TimeoutError.
TEST(Communicator, EveryRankLearnsOfAHeaderOfAnotherOperation) {
  Setting setting = setting_over(Ground::one_process, 4);
  setting.options.wire = std::make_shared<MisleadingKind>();
  on_users(4, setting, [](User& user) {
    expect_all_to_blame_rank_1(user,
                               "rank 1 has sent what no rank sends: a message of operation 0 with digest 77");
  });
}

/// Rank 1 does something else, as its word says: then such a header is legal.
TEST(Communicator, AHeaderOfAnotherOperationIsNoFaultOfARankThatDisagrees) {
  Setting setting = setting_over(Ground::one_process, 4);
  setting.options.wire = std::make_shared<MisleadingKind>();
  on_users(4, setting, [](User& user) {
    Array x = input_of(user.rank(), user.rank() == 1 ? 999 : 1000);
    EXPECT_THROW(user.comm().run(user.all_reduce(&x)), MismatchError);
  });
}

TEST(Communicator, EveryRankLearnsWhoHasSentWhatNoRankSends) {
  Setting setting = setting_over(Ground::one_process, 4);
  setting.options.wire = std::make_shared<NonsenseKind>();
  on_users(4, setting, [](User& user) {
    expect_all_to_blame_rank_1(user, "rank 1 has sent what no rank sends: half a header");
  });
}

class CommunicatorOver : public ::testing::TestWithParam<Ground> {
 protected:
  static Setting options(int rank_count) { return setting_over(GetParam(), rank_count); }
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

TEST_P(CommunicatorOver, AllReducesLeavingZerosOut) {
  for (const int ranks : {1, 2, 4})
    on_users(ranks, options(ranks), [&](User& user) {
      for (const std::size_t size : {1, 7, 1000, 20'000, 0, 3}) {
        Array x = sparse_input_of(user.rank(), size), total = sparse_input_of(0, size);
        for (std::int32_t& element : total) element *= ranks * (ranks + 1) / 2;
        user.comm().run(user.sparse_all_reduce(&x));
        EXPECT_EQ(x, total);
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
    PreparedCall call = user.all_reduce(&x);
    if (user.rank() == 1) call.complaint = "no such thing";
    if (user.rank() == 1)
      EXPECT_THROW(user.comm().run(call), ArgumentError);
    else
      EXPECT_THROW(user.comm().run(call), MismatchError);
  });
}

TEST_P(CommunicatorOver, ARankThatStaysAwayEndsTheOperationAndTheCommunicator) {
  constexpr int kRanks = 3;
  std::atomic<int> done = 0;
  on_users(kRanks, options(kRanks), [&](User& user) {
    Array x = input_of(user.rank(), 5000);
    if (user.rank() == 1) {  // it lives, and calls nothing
      while (done < kRanks - 1) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      return;
    }
    EXPECT_THROW(user.comm().run(user.all_reduce(&x, 0.3)), TimeoutError);
    EXPECT_EQ(x, input_of(user.rank(), 5000));
    EXPECT_THROW(user.comm().run(user.all_reduce(&x)), TimeoutError);
    ++done;
  });
}

/// What a call throws, as text; empty where it is another error than a lost rank's, or none.
std::string loss_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const LostRankError& e) {
    return e.what();
  } catch (...) {
  }
  return "";
}

// Given a call that waits for a rank which does not come. Expect that closing ends it and everything after it, and that
// the others hear of a rank that has closed, not of one that has died.
TEST_P(CommunicatorOver, ClosingEndsTheCallOfAnotherThreadAndIsToldAsWhatItIs) {
  constexpr int kRanks = 3;
  std::atomic<int> done = 0;
  on_users(kRanks, options(kRanks), [&](User& user) {
    Array x = input_of(user.rank(), 5000);
    const auto reduce = [&] { user.comm().run(user.all_reduce(&x)); };
    if (user.rank() == 2) {  // it lives, and calls nothing until the others have seen
      while (done < 2) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      EXPECT_NE(loss_of(reduce).find("rank 1 has closed its communicator"), std::string::npos);
      return;
    }
    std::thread closing;
    if (user.rank() == 1)
      closing = std::thread([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        user.comm().close();
      });
    EXPECT_NE(loss_of(reduce).find("rank 1 has closed its communicator"), std::string::npos);
    EXPECT_EQ(x, input_of(user.rank(), 5000));
    EXPECT_NE(loss_of(reduce), "");
    if (closing.joinable()) closing.join();
    EXPECT_THROW(user.comm().start(user.all_reduce(&x))->wait_for(60), LostRankError);
    ++done;
    while (done < 2) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  });
}

// Given a rank that closes as soon as its own part of an operation is done, again and again. Expect that the others finish
// it, and that the next one names the rank without waiting for any timeout.
TEST_P(CommunicatorOver, ARankThatHasClosedAfterAnOperationDisturbsOnlyTheNext) {
  constexpr int kRanks = 3;
  for (int round = 0; round < 10; ++round)
    on_users(kRanks, options(kRanks), [&](User& user) {
      Array x = input_of(user.rank(), 300);
      user.comm().run(user.all_reduce(&x));
      EXPECT_EQ(x, sum_of(kRanks, 300));
      if (user.rank() == round % kRanks) return;
      const std::string text = loss_of([&] { user.comm().run(user.barrier()); });
      EXPECT_NE(text.find("has closed its communicator"), std::string::npos) << text;
    });
}

// Given a check that looks at what operations change, as a signal handler may. Expect what there was before.
TEST_P(CommunicatorOver, ALookFromWithinAnOperationSeesWhatWasBeforeIt) {
  constexpr int kRanks = 2;
  std::atomic<bool> seen = false;
  on_users(kRanks, options(kRanks), [&](User& user) {
    Array x = input_of(user.rank(), 100);
    user.comm().run(user.all_reduce(&x));
    if (user.rank() == 0)
      while (!seen) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    user.comm().run(user.all_reduce(&x), [&] {
      EXPECT_EQ(user.comm().arrivals().size(), std::size_t{kRanks});
      user.comm().health();
      seen = true;
    });
  });
  EXPECT_TRUE(seen);
}

// Given a failure between two operations. Expect that what the one before has written stays.
TEST_P(CommunicatorOver, AFailureBetweenOperationsLeavesTheResultOfTheOneBefore) {
  constexpr int kRanks = 2;
  std::atomic<int> done = 0;
  on_users(kRanks, options(kRanks), [&](User& user) {
    Array x = input_of(user.rank(), 5000);
    user.comm().run(user.all_reduce(&x));
    for (++done; done < kRanks;) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    user.comm().break_off(std::make_exception_ptr(LostRankError("a rank is lost")));
    EXPECT_EQ(x, sum_of(kRanks, 5000));
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
    EXPECT_EQ(user.comm().arrivals().size(), 3u * kRanks);
  });
}

TEST_P(CommunicatorOver, TheFirstRankToAskChoosesForAll) {
  constexpr int kRanks = 3;
  std::atomic<int> decisions = 0;
  on_users(kRanks, options(kRanks), [&](User& user) {
    for (const std::size_t size : {100, 100, 128, 5000}) {  // two up to 512 bytes, one beyond
      Array x = input_of(user.rank(), size);
      user.comm().run(user.all_reduce(&x));
      EXPECT_EQ(x, sum_of(kRanks, size));
    }
    decisions += user.decisions();
  });
  EXPECT_EQ(decisions, 2);
}

TEST_P(CommunicatorOver, AnAllReduceFindsItsLateRank) {
  constexpr int kRanks = 4;
  on_users(kRanks, options(kRanks), [&](User& user) {
    for (int late = 0; late < kRanks; ++late) {
      user.comm().run(user.barrier());
      if (user.rank() == late) std::this_thread::sleep_for(std::chrono::milliseconds(5));
      Array x = input_of(user.rank(), 1200);
      user.comm().run(user.all_reduce(&x, 0, "late"));
      EXPECT_EQ(x, sum_of(kRanks, 1200));
    }
  });
}

TEST_P(CommunicatorOver, GroupsWorkSideBySide) {
  constexpr int kRanks = 4;
  const Setting setting = options(kRanks);
  on_ranks(kRanks, setting, [&](Rank rank, const std::shared_ptr<Session>& session) {
    const bool odd = rank % 2 == 1;
    User pair(session, odd ? std::vector{Rank{1}, Rank{3}} : std::vector{Rank{0}, Rank{2}}, setting.options);
    for (std::size_t size : {3000, 10}) {
      Array x = input_of(rank, size), expected = input_of(odd ? 1 : 0, size);
      const Array other = input_of(odd ? 3 : 2, size);
      std::transform(expected.begin(), expected.end(), other.begin(), expected.begin(), std::plus<>());
      pair.comm().run(pair.all_reduce(&x));
      EXPECT_EQ(x, expected);
    }
  });
}

/// Runs `body` on a thread per rank, each with several communicators of all of them over one session.
void on_groups(const Setting& setting, int rank_count, int group_count,
               const std::function<void(Session&, std::deque<User>&)>& body) {
  on_ranks(rank_count, setting, [&](Rank, const std::shared_ptr<Session>& session) {
    std::deque<User> groups;
    for (int group = 0; group < group_count; ++group)
      groups.emplace_back(session, all_of(rank_count), setting.options);
    body(*session, groups);
  });
}

// Given groups whose operations in the background are over before the next one's begin. Expect that a thread serves many.
TEST_P(CommunicatorOver, GroupsThatTakeTurnsShareAThread) {
  constexpr int kGroups = 8;
  on_groups(options(2), 2, kGroups, [&](Session& session, std::deque<User>& groups) {
    EXPECT_EQ(session.progress.count(), 0);
    for (User& group : groups) {
      Array x = input_of(group.rank(), 100);
      EXPECT_TRUE(group.comm().start(group.all_reduce(&x))->wait_for(60));
      EXPECT_EQ(x, sum_of(2, 100));
      while (session.progress.resting() < session.progress.count()) std::this_thread::yield();
    }
    EXPECT_EQ(session.progress.count(), 1);
  });
}

// Given groups that ranks use in opposite orders. Expect results: each waits for a rank that is about to use another one.
TEST_P(CommunicatorOver, GroupsMayBeUsedInDifferentOrdersInTheBackground) {
  constexpr std::size_t kGroups = 8;
  on_groups(options(2), 2, kGroups, [&](Session&, std::deque<User>& groups) {
    std::vector<Array> arrays(kGroups, input_of(groups.front().rank(), 100));
    std::vector<std::shared_ptr<PendingOperation>> pending;
    for (std::size_t i = 0; i < kGroups; ++i) {
      const std::size_t which = groups.front().rank() == 0 ? i : kGroups - 1 - i;
      pending.push_back(groups[which].comm().start(groups[which].all_reduce(&arrays[which])));
    }
    for (const auto& operation : pending) EXPECT_TRUE(operation->wait_for(60));
    for (const Array& array : arrays) EXPECT_EQ(array, sum_of(2, 100));
  });
}

// Given what follows an operation in the background, in its thread. Expect that it may wait for what comes after only
// where nobody else has to come first.
TEST_P(CommunicatorOver, WhatFollowsAnOperationMayNotWaitForThoseOfItsOwnThread) {
  on_users(2, options(2), [&](User& user) {
    Array first = input_of(user.rank(), 10), second = first, third = first;
    std::string told;
    std::atomic<bool> has_run = false;
    const std::function<void()> wait = [&] {
      try {
        user.comm().run(user.all_reduce(&third));
        has_run = true;
      } catch (const ArgumentError& error) {
        told = error.what();
      }
    };
    // Rank 1 comes once both have what follows, so that it is called where they run.
    if (user.rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(100));
    const auto one = user.comm().start(user.all_reduce(&first));
    if (user.rank() == 0) one->when_done(wait);
    const auto two = user.comm().start(user.all_reduce(&second));
    if (user.rank() == 0) two->when_done(wait);
    EXPECT_TRUE(two->wait_for(60));
    if (user.rank() == 1) user.comm().run(user.all_reduce(&third));
    while (user.rank() == 0 && !has_run) std::this_thread::yield();
    EXPECT_EQ(third, sum_of(2, 10));
    EXPECT_EQ(told.find("a callback of an operation in the background"),
              user.rank() == 0 ? 0 : std::string::npos);
  });
}

// Given a communicator that ends with what follows its operation, in that operation's thread. Expect that it ends, and that
// those it had yet to run fail.
TEST_P(CommunicatorOver, WhatFollowsAnOperationMayBeTheCommunicatorsEnd) {
  constexpr int kRanks = 2;
  const Setting setting = options(kRanks);
  on_ranks(kRanks, setting, [&](Rank rank, const std::shared_ptr<Session>& session) {
    std::optional<User> user;
    user.emplace(session, all_of(kRanks), setting.options);
    Array first = input_of(rank, 10), second = first;
    if (rank == 1) std::this_thread::sleep_for(std::chrono::milliseconds(100));
    const auto one = user->comm().start(user->all_reduce(&first));
    std::atomic<bool> has_ended = false;
    if (rank == 1) {
      EXPECT_TRUE(one->wait_for(60));
      return;
    }
    const auto two = user->comm().start(user->all_reduce(&second));
    one->when_done([&] {
      user.reset();
      has_ended = true;
    });
    EXPECT_TRUE(one->wait_for(60));
    EXPECT_THROW(two->wait_for(60), LostRankError);
    while (!has_ended) std::this_thread::yield();
  });
}

std::string name_of(const ::testing::TestParamInfo<Ground>& info) {
  switch (info.param) {
    case Ground::shared_memory:
      return "SharedMemory";
    case Ground::emulated_switch:
      return "AnEmulatedSwitch";
    case Ground::one_process:
      return "OneProcess";
  }
  return "";
}

INSTANTIATE_TEST_SUITE_P(, CommunicatorOver,
                         ::testing::Values(Ground::shared_memory, Ground::emulated_switch,
                                           Ground::one_process),
                         name_of);

}  // namespace
}  // namespace hemiola
