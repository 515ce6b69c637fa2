// SPDX-License-Identifier: Apache-2.0
// What ranks learn of a message that no rank sends.
#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "communicator_users.hpp"
#include "hemiola/base/error.hpp"
#include "hemiola/codec/eight_bits.hpp"
#include "hemiola/codec/format.hpp"
#include "hemiola/runtime/session/lost_member.hpp"

namespace hemiola {
namespace {

using testing::Array, testing::Ground, testing::input_of, testing::on_users, testing::Setting,
    testing::setting_over, testing::sparse_input_of, testing::User;

/// Changes a message on its way.
using Damage = std::function<void(std::vector<std::byte>*)>;

class DamagingWire final : public testing::InProcessWire {
 public:
  DamagingWire(testing::Mailboxes mailboxes, Rank self, Damage damage)
      : InProcessWire(std::move(mailboxes), self, testing::InProcessOptions{}), damage_(std::move(damage)) {}
  Request send(Rank dst, const std::byte* data, std::size_t bytes, Source source) override {
    std::vector<std::byte>& sent = sent_.emplace_back(data, data + bytes);
    if (!sent.empty()) damage_(&sent);
    return InProcessWire::send(dst, sent.data(), sent.size(), source);
  }

 private:
  Damage damage_;
  std::deque<std::vector<std::byte>> sent_;
};

/// What rank 1 sends is damaged.
class DamagingKind final : public testing::InProcessKind {
 public:
  explicit DamagingKind(Damage damage) : damage_(std::move(damage)) {}
  std::unique_ptr<Wire> wire(testing::Mailboxes mailboxes, Rank self) const override {
    if (self != 1) return InProcessKind::wire(std::move(mailboxes), self);
    return std::make_unique<DamagingWire>(std::move(mailboxes), self, damage_);
  }

 private:
  Damage damage_;
};

TEST(Communicator, EveryRankLearnsOfADamagedMessage) {
  Setting setting = setting_over(Ground::one_process, 4);
  setting.options.wire =
      std::make_shared<DamagingKind>([](auto* message) { message->front() ^= std::byte{1}; });
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

/// Changes one message of eight bits an element, of those that several threads send.
Damage of_one_eight_bit_message(Damage damage, std::shared_ptr<std::atomic<bool>> is_done) {
  return [damage, is_done](std::vector<std::byte>* message) {
    if (codec::are_eight_bits(*message) && !is_done->exchange(true)) damage(message);
  };
}

/// Expect of one damaged message: an error that names its sender on every rank, and buffer and residual as before.
void expect_blame(const Damage& damage) {
  const auto is_done = std::make_shared<std::atomic<bool>>(false);
  std::atomic<int> seen{0};
  Setting setting = setting_over(Ground::one_process, 4);
  setting.options.wire = std::make_shared<DamagingKind>(of_one_eight_bit_message(damage, is_done));
  on_users(4, setting, [&](User& user) {
    std::vector<float> x(50'000), rest(x.size(), 0.5F);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 1000) - 300;
    const std::vector<float> before = x, owed = rest;
    try {
      user.comm().run(user.eight_bit_all_reduce(&x, &rest));
      ADD_FAILURE() << "rank " << user.rank() << " has seen nothing";
    } catch (const BadMessageError& e) {
      ++seen;
      EXPECT_EQ(e.cause.rank, Rank{1}) << e.what();
    } catch (const LostMemberError& e) {
      EXPECT_EQ(e.cause.rank, Rank{1}) << e.what();
      EXPECT_NE(std::string(e.what()).find("rank 1 has sent what no rank sends"), std::string::npos)
          << e.what();
    }
    EXPECT_EQ(x, before);
    EXPECT_EQ(rest, owed);
  });
  EXPECT_TRUE(*is_done);
  EXPECT_GE(seen, 1);
}

TEST(Communicator, EveryRankLearnsOfADamagedMessageOfEightBits) {
  using codec::kHeaderBytes;
  const std::size_t sign =
      kHeaderBytes + 3;  // of the first block's scale, with the upper bits of its exponent
  expect_blame([=](auto* message) { (*message)[sign] ^= std::byte{0x80}; });
  expect_blame([=](auto* message) { (*message)[sign] = std::byte{0x7f}; });  // 127 of it are no finite number
  expect_blame([=](auto* message) { (*message)[sign] = std::byte{0}; });     // below the least normal one
  for (const std::size_t at : {offsetof(codec::Header, payload_bytes), offsetof(codec::Header, elements)})
    expect_blame([=](auto* message) { (*message)[at] ^= std::byte{4}; });
  expect_blame([](auto* message) { message->resize(message->size() - 4); });
  expect_blame([](auto* message) { message->resize(kHeaderBytes / 2); });
}

/// Rank 2 gets a message with a header that no rank writes from whoever is number 1 in its group.
class NonsenseKind final : public testing::InProcessKind {
  struct NonsenseWire final : testing::InProcessWire {
    using InProcessWire::InProcessWire;
    bool progress() override { throw BadMessageError(Rank{1}, "half a header"); }
  };
  std::unique_ptr<Wire> wire(testing::Mailboxes mailboxes, Rank self) const override {
    if (self != 2) return InProcessKind::wire(std::move(mailboxes), self);
    return std::make_unique<NonsenseWire>(std::move(mailboxes), self, testing::InProcessOptions{});
  }
};

/// Rank 2 gets a message from rank 1 whose header is sound, and of another operation.
class MisleadingKind final : public testing::InProcessKind {
  struct MisleadingWire final : testing::InProcessWire {
    using InProcessWire::InProcessWire;
    bool progress() override { return false; }
    std::optional<ForeignMessage> mismatch() const override { return ForeignMessage{Rank{1}, {0, 0, 77}}; }
  };
  std::unique_ptr<Wire> wire(testing::Mailboxes mailboxes, Rank self) const override {
    if (self != 2) return InProcessKind::wire(std::move(mailboxes), self);
    return std::make_unique<MisleadingWire>(std::move(mailboxes), self, testing::InProcessOptions{});
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

}  // namespace
}  // namespace hemiola
