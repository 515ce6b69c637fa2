// SPDX-License-Identifier: Apache-2.0
// What ranks learn of a message that no rank sends.
#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "communicator_users.hpp"
#include "hemiola/base/error.hpp"
#include "hemiola/runtime/session/lost_member.hpp"

namespace hemiola {
namespace {

using testing::Array, testing::Ground, testing::input_of, testing::on_users, testing::Setting,
    testing::setting_over, testing::sparse_input_of, testing::User;

/// A wire whose rank 1 sends coded messages with a damaged header.
class DamagingWire final : public testing::InProcessWire {
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

class DamagingKind final : public testing::InProcessKind {
  std::unique_ptr<Wire> wire(testing::Mailboxes mailboxes, Rank self) const override {
    if (self != 1) return InProcessKind::wire(std::move(mailboxes), self);
    return std::make_unique<DamagingWire>(std::move(mailboxes), self, testing::InProcessOptions{});
  }
};

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
