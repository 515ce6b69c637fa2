// SPDX-License-Identifier: Apache-2.0
// Collectives that may leave zeros out: how often ranks look for zeros, what they run by what they have seen, and that all
// of them run the same. Messages and bytes are counted, never timed.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <deque>
#include <thread>

#include "hemiola/algorithms/published/direct.hpp"
#include "hemiola/algorithms/published/recursive.hpp"
#include "hemiola/algorithms/published/ring.hpp"
#include "hemiola/base/error.hpp"
#include "hemiola/codec/format.hpp"
#include "hemiola/runtime/communicator/call_desk.hpp"
#include "hemiola/runtime/communicator/communicator.hpp"
#include "hemiola/runtime/operation/sparse_course.hpp"
#include "in_process/in_process_control.hpp"
#include "in_process/in_process_session.hpp"
#include "in_process/in_process_wire.hpp"

namespace hemiola {
namespace {

using Array = std::vector<std::int32_t>;

constexpr int kRanks = 4;
constexpr std::size_t kSize = 20'000;
constexpr int kPause = 64;  // of a rule that says nothing else
/// Of an exchange by recursive doubling.
constexpr std::int64_t kExchangeMessages = kRanks * 2;
constexpr std::int64_t kExchangeBytes = kExchangeMessages * SparseCourse::kFigures * 8;

/// What all ranks together have sent.
struct Traffic {
  std::int64_t messages = 0;
  std::int64_t bytes = 0;
  friend bool operator==(const Traffic&, const Traffic&) = default;
};

struct Counter {
  std::atomic<std::int64_t> messages = 0;
  std::atomic<std::int64_t> bytes = 0;
};

class CountingWire final : public hemiola::testing::InProcessWire {
 public:
  CountingWire(hemiola::testing::Mailboxes mailboxes, Rank self, std::shared_ptr<Counter> counter,
               bool carries_hints)
      : InProcessWire(std::move(mailboxes), self, {.slice_bytes = 1 << 20, .carries_hints = carries_hints}),
        counter_(std::move(counter)) {}
  Request send(Rank dst, const std::byte* data, std::size_t bytes, Source source) override {
    ++counter_->messages;
    counter_->bytes += static_cast<std::int64_t>(bytes);
    return InProcessWire::send(dst, data, bytes, source);
  }

 private:
  std::shared_ptr<Counter> counter_;
};

class CountingKind final : public hemiola::testing::InProcessKind {
 public:
  CountingKind(std::shared_ptr<Counter> counter, bool carries_hints)
      : counter_(std::move(counter)), carries_hints_(carries_hints) {}

 private:
  std::unique_ptr<Wire> wire(hemiola::testing::Mailboxes mailboxes, Rank self) const override {
    return std::make_unique<CountingWire>(std::move(mailboxes), self, counter_, carries_hints_);
  }
  std::shared_ptr<Counter> counter_;
  bool carries_hints_;
};

/// Whatever rank 1 sends encoded says of itself that it has one value more than it has.
class SpoilingWire final : public hemiola::testing::InProcessWire {
 public:
  SpoilingWire(hemiola::testing::Mailboxes mailboxes, Rank self)
      : InProcessWire(std::move(mailboxes), self, {.slice_bytes = 1 << 20}), self_(self) {}
  Request send(Rank dst, const std::byte* data, std::size_t bytes, Source source) override {
    codec::Header header;
    if (self_ != Rank{1} || bytes < sizeof header) return InProcessWire::send(dst, data, bytes, source);
    std::memcpy(&header, data, sizeof header);
    if (header.magic != codec::kMagic) return InProcessWire::send(dst, data, bytes, source);
    ++header.nonzeros;
    std::vector<std::byte>& spoiled = spoiled_.emplace_back(data, data + bytes);
    std::memcpy(spoiled.data(), &header, sizeof header);
    return InProcessWire::send(dst, spoiled.data(), bytes, source);
  }

 private:
  Rank self_;
  std::deque<std::vector<std::byte>> spoiled_;
};

class SpoilingKind final : public hemiola::testing::InProcessKind {
  std::unique_ptr<Wire> wire(hemiola::testing::Mailboxes mailboxes, Rank self) const override {
    return std::make_unique<SpoilingWire>(std::move(mailboxes), self);
  }
};

SparseRule rule_of(double coded_below, double direct_below = 0) {
  const auto shared = [](Schedule schedule) { return std::make_shared<const Schedule>(std::move(schedule)); };
  return {coded_below, shared(algorithms::all_reduce_direct_rounds(kRanks)), direct_below,
          shared(algorithms::all_reduce_recursive_doubling(kRanks))};
}

class User {
 public:
  User(std::shared_ptr<Session> session, const CommunicatorOptions& options, SparseRule rule)
      : comm_(std::move(session), {Rank{0}, Rank{1}, Rank{2}, Rank{3}}, options),
        desk_(&comm_,
              {[](const Question&) { return Bytes(1); },
               [rule = std::move(rule)](const Bytes&, const Question& question) {
                 const auto ring = std::make_shared<const Schedule>(algorithms::all_reduce_ring(kRanks));
                 return Selection{ring, std::nullopt,
                                  question.sparse == SparseMode::no ? std::nullopt : std::optional(rule)};
               }}) {}

  int rank() const { return comm_.rank(); }
  void all_reduce(Array* array, SparseMode sparse = SparseMode::yes) {
    const std::int64_t shape[] = {static_cast<std::int64_t>(array->size())};
    Call call;
    call.kind = OperationKind::all_reduce;
    call.input = call.output = ArrayView{reinterpret_cast<std::byte*>(array->data()), DType::int32, shape};
    call.sparse = sparse;
    comm_.run(desk_.prepare(call, {}));
  }

 private:
  Communicator comm_;
  CallDesk desk_;
};

/// Runs `body` on a thread per rank.
void on_users(std::shared_ptr<WireKind> wire, const SparseRule& rule,
              const std::function<void(User&)>& body) {
  CommunicatorOptions options;
  options.wire = std::move(wire);
  options.control = std::make_shared<hemiola::testing::InProcessControl>();
  const auto sessions = hemiola::testing::InProcessSession::make(kRanks);
  std::vector<std::thread> threads;
  for (const auto& session : sessions)
    threads.emplace_back([&, session] {
      User user(session, options, rule);
      body(user);
    });
  for (std::thread& thread : threads) thread.join();
}

/// The same; returns what they have sent.
Traffic traffic_of(const SparseRule& rule, const std::function<void(User&)>& body,
                   bool carries_hints = false) {
  const auto counter = std::make_shared<Counter>();
  on_users(std::make_shared<CountingKind>(counter, carries_hints), rule, body);
  return {counter->messages, counter->bytes};
}

/// One element in `every` is not zero.
Array input_of(int rank, int every) {
  Array array(kSize);
  for (std::size_t i = 0; i < kSize; i += static_cast<std::size_t>(every)) array[i] = rank + 1;
  return array;
}

void all_reduce_and_check(User& user, int every, int times = 1, SparseMode sparse = SparseMode::yes) {
  Array total = input_of(0, every);
  for (std::int32_t& element : total) element *= kRanks * (kRanks + 1) / 2;
  for (int i = 0; i < times; ++i) {
    Array x = input_of(user.rank(), every);
    user.all_reduce(&x, sparse);
    ASSERT_EQ(x, total);
  }
}

Traffic dense_traffic() {
  return traffic_of(rule_of(0), [](User& user) { all_reduce_and_check(user, 1, 1, SparseMode::no); });
}

TEST(SparseOperation, DenseDataTakeTheDenseProgramAndOneExchangeIn64) {
  constexpr int kTimes = kPause + 1;
  const Traffic dense = dense_traffic();
  for (const SparseMode mode : {SparseMode::yes, SparseMode::where_seen}) {
    const Traffic found =
        traffic_of(rule_of(0.97, 0.9), [&](User& user) { all_reduce_and_check(user, 1, kTimes, mode); });
    EXPECT_EQ(found, (Traffic{kTimes * dense.messages + 2 * kExchangeMessages,
                              kTimes * dense.bytes + 2 * kExchangeBytes}));
  }
}

TEST(SparseOperation, WhatIsExpectedToLoseIsNotLookedFor) {
  const Traffic dense = dense_traffic();
  const Traffic found = traffic_of(rule_of(0), [](User& user) { all_reduce_and_check(user, 100, 3); });
  EXPECT_EQ(found, (Traffic{3 * dense.messages, 3 * dense.bytes}));
}

TEST(SparseOperation, ZerosSeenBeforeTheFirstOperationAreLeftOutInIt) {
  const Traffic dense = dense_traffic();
  const Traffic found = traffic_of(rule_of(0.97), [](User& user) { all_reduce_and_check(user, 50); });
  EXPECT_LT(found.bytes, dense.bytes / 10);
}

TEST(SparseOperation, MessagesOfFewValuesGoWithoutFillIn) {
  // The ring's messages of a quarter: 3 + 3 a rank. Direct rounds: each quarter to its owner and back, as many. Values at
  // places of which no rank shares any: a sum fills up in the ring only.
  const auto apart = [](User& user) {
    Array x(kSize);
    for (std::size_t i = static_cast<std::size_t>(user.rank()); i < kSize; i += 40) x[i] = 1;
    user.all_reduce(&x);
    for (std::size_t i = 0; i < kSize; ++i) ASSERT_EQ(x[i], i % 40 < kRanks ? 1 : 0);
  };
  const Traffic ring = traffic_of(rule_of(0.97), apart);
  const Traffic direct = traffic_of(rule_of(0.97, 0.5), apart);
  EXPECT_LT(direct.bytes, ring.bytes * 9 / 10);
}

TEST(SparseOperation, DataThatBecomeDenseGoBackToTheDenseProgramWithTheNextLook) {
  const Traffic dense = dense_traffic();

  const auto until = [&](int dense_calls) {
    return traffic_of(rule_of(0.97), [&](User& user) {
      all_reduce_and_check(user, 50, kPause - 1);
      all_reduce_and_check(user, 1, dense_calls);
    });
  };
  const Traffic before = until(1);  // unseen: coded, and each message plain
  const Traffic after = until(3);
  EXPECT_EQ(after.messages - before.messages, 2 * dense.messages + kExchangeMessages);
  EXPECT_EQ(after.bytes - before.bytes, 2 * dense.bytes + kExchangeBytes);
}

TEST(SparseOperation, DataThatChangeAreNoticedInTheOperationAfterByABitOnItsMessages) {
  const Traffic dense = dense_traffic();
  for (const SparseMode mode : {SparseMode::yes, SparseMode::where_seen}) {
    const Traffic found = traffic_of(
        rule_of(0.97),
        [&](User& user) {
          all_reduce_and_check(user, 1, 10, mode);   // looks before the first
          all_reduce_and_check(user, 50, 10, mode);  // the first runs dense, before the second ranks look
          all_reduce_and_check(user, 1, 10, mode);   // the first runs coded, each message plain
        },
        true);
    const Traffic coded =
        traffic_of(rule_of(0.97), [&](User& user) { all_reduce_and_check(user, 50, 9, mode); });
    EXPECT_EQ(found.bytes, 21 * dense.bytes + coded.bytes + 2 * kExchangeBytes);
  }
}

TEST(SparseOperation, AHintThatChangesNothingIsNotHeededAgain) {
  // Hints look at 16 lines, of which each has one zero in 16 elements; a look at 64, of which the others have none.
  const Traffic dense = dense_traffic();
  const auto misleading = [](User& user) {
    for (int i = 0; i < 10; ++i) {
      Array x = input_of(user.rank(), 1);
      const std::size_t lines = kSize * 4 / 64;
      for (std::size_t line = 0; line < 16; ++line) x[lines * line / 16 * 16] = 0;
      user.all_reduce(&x);
    }
  };
  const Traffic found = traffic_of(rule_of(0.97), misleading, true);
  EXPECT_EQ(found,
            (Traffic{10 * dense.messages + 2 * kExchangeMessages, 10 * dense.bytes + 2 * kExchangeBytes}));
}

TEST(SparseOperation, WhereALookCostsNextToNothingRanksLookEveryTime) {
  const Traffic dense = dense_traffic();
  SparseRule rule = rule_of(0.97);
  rule.pause = 1;
  const Traffic found = traffic_of(rule, [](User& user) {
    for (int turn = 0; turn < 3; ++turn) {
      all_reduce_and_check(user, 1);
      all_reduce_and_check(user, 50);
    }
  });
  EXPECT_GE(found.bytes, 3 * dense.bytes + 6 * kExchangeBytes);
  EXPECT_LT(found.bytes, 3 * dense.bytes + 6 * kExchangeBytes + 3 * dense.bytes / 10);
}

TEST(SparseOperation, ASumIsDenseWhereOneTermIs) {
  const Traffic dense = dense_traffic();
  const Traffic found = traffic_of(rule_of(0.97), [](User& user) {
    Array x = input_of(user.rank(), user.rank() == 2 ? 1 : 100);
    user.all_reduce(&x);
  });
  EXPECT_EQ(found.bytes, dense.bytes + kExchangeBytes);
}

TEST(SparseOperation, RanksLookTogetherAfterADisagreement) {
  traffic_of(rule_of(0.97, 0.5), [](User& user) {
    all_reduce_and_check(user, 50, 3);
    for (int odd = 0; odd < kRanks; ++odd) {
      Array x = input_of(user.rank(), 50);
      if (user.rank() == odd) x.resize(kSize / 2);
      EXPECT_THROW(user.all_reduce(&x), MismatchError);
      Array y = input_of(user.rank(), 50);
      EXPECT_THROW(user.all_reduce(&y, user.rank() == odd ? SparseMode::where_seen : SparseMode::yes),
                   MismatchError);
      EXPECT_EQ(y, input_of(user.rank(), 50));
    }
    all_reduce_and_check(user, 50, kPause);
    all_reduce_and_check(user, 1, 2);
  });
}

/// Expect the receiver to name the sender, and everybody else to hear from it why it has given up.
TEST(SparseOperation, EveryRankLearnsOfASpoiledMessage) {
  std::array<std::string, kRanks> told;
  std::array<bool, kRanks> is_format_error{};
  on_users(std::make_shared<SpoilingKind>(), rule_of(0.97), [&](User& user) {
    const auto self = static_cast<std::size_t>(user.rank());
    Array array = input_of(user.rank(), 100);
    const Array before = array;
    try {
      user.all_reduce(&array);
    } catch (const Error& e) {
      told[self] = e.what();
      is_format_error[self] = dynamic_cast<const FormatError*>(&e) != nullptr;
    }
    EXPECT_EQ(array, before);
  });
  for (std::size_t rank = 0; rank < kRanks; ++rank) {
    EXPECT_EQ(is_format_error[rank], rank == 2) << told[rank];  // the next in the ring
    EXPECT_NE(told[rank].find("rank 1 has sent what no rank sends"), std::string::npos)
        << "rank " << rank << ": " << told[rank];
  }
}

TEST(SparseRule, ChecksWhatItIsTold) {
  EXPECT_NO_THROW(rule_of(0.5, 0.5).check());
  EXPECT_THROW(rule_of(1.5).check(), ArgumentError);
  EXPECT_THROW(rule_of(0.5, -1).check(), ArgumentError);
  EXPECT_THROW((SparseRule{.coded_below = 0.5}.check()), ArgumentError);
  EXPECT_THROW((SparseRule{.without_fill_in_below = 0.5}.check()), ArgumentError);
  EXPECT_THROW((SparseRule{.pause = 0}.check()), ArgumentError);
}

}  // namespace
}  // namespace hemiola
