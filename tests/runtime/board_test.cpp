// The arrival board between threads: what a rank publishes is what the others read, and disagreements are told by name.
#include "hemiola/runtime/arrival/board.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "hemiola/base/error.hpp"

namespace hemiola {
namespace {

/// Zero-filled, aligned memory for a board.
class Region {
 public:
  explicit Region(int rank_count) : lines_((ArrivalBoard::region_bytes(rank_count) + 127) / 128) {}
  std::span<std::byte> span() { return std::as_writable_bytes(std::span(lines_)); }

 private:
  struct alignas(128) Line {
    std::byte bytes[128]{};
  };
  std::vector<Line> lines_;
};

Signature signature_of(std::uint64_t number) {
  Signature signature;
  signature.kind = OperationKind::all_reduce;
  signature.dtype = DType::float32;
  const std::int64_t shape[]{static_cast<std::int64_t>(number) + 1, 4};
  signature.set_shape(shape);
  return signature;
}

std::string disagreement(const ArrivalBoard& board, Rank rank, const Signature& own) {
  try {
    board.check_agreement(rank, 0, own);
  } catch (const MismatchError& e) {
    return e.what();
  }
  return "";
}

// Given that nobody publishes operation g+2 before all have completed g, two entries a rank are enough.
TEST(ArrivalBoard, RanksThatNeverLeadByTwoSeeEachOthersSignaturesWhole) {
  constexpr int kRanks = 3;
  constexpr std::uint64_t kOperations = 300;
  Region region(kRanks);
  std::vector<std::thread> threads;
  for (Rank self : indices<Rank>(kRanks))
    threads.emplace_back([&, self] {
      ArrivalBoard board(region.span(), self, kRanks);
      for (std::uint64_t number = 0; number < kOperations; ++number) {
        board.publish(number, signature_of(number));
        board.beat();
        for (Rank rank : indices<Rank>(kRanks)) {
          while (!board.has_arrived(rank, number)) std::this_thread::yield();
          EXPECT_NO_THROW(board.check_agreement(rank, number, signature_of(number)));
          EXPECT_GT(board.arrival_ns(rank, number), 0);
        }
        board.complete(number);
      }
    });
  for (std::thread& thread : threads) thread.join();
}

TEST(ArrivalBoard, NothingHasHappenedOnAFreshOne) {
  Region region(2);
  const ArrivalBoard board(region.span(), Rank{0}, 2);
  EXPECT_FALSE(board.has_arrived(Rank{1}, 0));
  EXPECT_FALSE(board.has_arrived(Rank{1}, 1));
  EXPECT_FALSE(board.has_completed(Rank{1}, 0));
  EXPECT_FALSE(board.given_up());
}

TEST(ArrivalBoard, ADisagreementNamesBothRanksAndBothValues) {
  Region region(2);
  ArrivalBoard zero(region.span(), Rank{0}, 2), one(region.span(), Rank{1}, 2);
  zero.publish(0, signature_of(0));
  one.publish(0, signature_of(1));
  for (const std::string& text :
       {disagreement(zero, Rank{1}, signature_of(0)), disagreement(one, Rank{0}, signature_of(1))})
    for (const char* part : {"rank 0", "rank 1", "float32[1, 4]", "float32[2, 4]"})
      EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
}

TEST(ArrivalBoard, AComplaintIsADisagreementEvenWhereSignaturesAgree) {
  Region region(2);
  ArrivalBoard zero(region.span(), Rank{0}, 2), one(region.span(), Rank{1}, 2);
  one.publish(0, signature_of(0), "no such thing");
  EXPECT_NE(disagreement(zero, Rank{1}, signature_of(0)).find("no such thing"), std::string::npos);
}

/// 300 letters of two bytes each, of which the first 191 fit.
TEST(ArrivalBoard, ALongTextIsCutBetweenLetters) {
  Region region(2);
  ArrivalBoard zero(region.span(), Rank{0}, 2), one(region.span(), Rank{1}, 2);
  std::string long_text;
  for (int i = 0; i < 300; ++i) long_text += "é";
  one.give_up(Failure::lost_rank, long_text);
  const auto found = zero.given_up();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->text, long_text.substr(0, 2 * 191));
}

TEST(ArrivalBoard, TheFirstReasonForGivingUpIsTheOneThatOthersSee) {
  Region region(2);
  ArrivalBoard zero(region.span(), Rank{0}, 2), one(region.span(), Rank{1}, 2);
  std::thread giving([&] {
    one.give_up(Failure::timeout, "rank 0 has not arrived");
    one.give_up(Failure::interrupted, "later");
  });
  while (!zero.given_up()) std::this_thread::yield();
  giving.join();
  EXPECT_EQ(zero.given_up()->rank, 1);
  EXPECT_EQ(zero.given_up()->failure, Failure::timeout);
  EXPECT_EQ(zero.given_up()->text, "rank 0 has not arrived");
  EXPECT_FALSE(one.given_up());
}

}  // namespace
}  // namespace hemiola
