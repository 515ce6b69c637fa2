// SPDX-License-Identifier: Apache-2.0
#include "session_contract.hpp"

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include "hemiola/base/deadline.hpp"
#include "hemiola/base/error.hpp"
#include "hemiola/runtime/session/members.hpp"
#include "on_threads.hpp"

namespace hemiola::testing {

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SessionContract);

void SessionContract::on_ranks(int rank_count, const std::function<void(Session&)>& body) {
  const auto sessions = GetParam().make(rank_count);
  on_threads(rank_count, [&](Rank rank) { body(*sessions[static_cast<std::size_t>(rank)]); });
}

namespace {

Deadline soon() {
  return Deadline(60);
}

/// A function of rank and round, of sizes that differ.
Bytes bytes_of(Rank rank, int round) {
  Bytes bytes(static_cast<std::size_t>(rank) * 1000 + static_cast<std::size_t>(round));
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] =
        static_cast<std::byte>(i * 7 + static_cast<std::size_t>(rank) + static_cast<std::size_t>(round));
  return bytes;
}

/// Rank 1 does not come until rank 0 has stopped waiting for it.
TEST_P(SessionContract, AWaitEndsWithWhatTheDeadlinesCheckThrows) {
  std::atomic<bool> stopped = false;
  on_ranks(2, [&](Session& session) {
    const std::vector<Rank> both{Rank{0}, Rank{1}};
    if (session.rank() == Rank{0}) {
      const Deadline deadline(60, [] { throw InternalError("enough"); });
      EXPECT_THROW(session.exchange(both, "key", {}, deadline), InternalError);
      stopped = true;
      return;
    }
    while (!stopped) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  });
}

TEST_P(SessionContract, RanksKnowWhoTheyAreAndAgreeOnWhereOthersAre) {
  constexpr int kRanks = 4;
  on_ranks(kRanks, [&](Session& session) {
    EXPECT_EQ(session.rank_count(), kRanks);
    std::vector<int> hosts;
    for (Rank rank : all_ranks(kRanks)) hosts.push_back(session.host_of(rank));
    const auto own = std::as_bytes(std::span(hosts));
    for (const Bytes& other : session.exchange(all_ranks(kRanks), "hosts", own, soon()))
      EXPECT_TRUE(std::ranges::equal(other, own));
    EXPECT_TRUE(session.lost().empty());
  });
}

TEST_P(SessionContract, AnExchangeBringsEverybodysBytesInOrder) {
  for (const int ranks : {1, 2, 5})
    on_ranks(ranks, [&](Session& session) {
      for (int round = 0; round < 20; ++round) {
        const std::vector<Bytes> all = session.exchange(all_ranks(ranks), "round " + std::to_string(round),
                                                        bytes_of(session.rank(), round), soon());
        ASSERT_EQ(all.size(), static_cast<std::size_t>(ranks));
        for (Rank rank : all_ranks(ranks))
          EXPECT_EQ(all[static_cast<std::size_t>(rank)], bytes_of(rank, round));
      }
    });
}

TEST_P(SessionContract, AnExchangeTakesTheMostThatItPromises) {
  on_ranks(2, [](Session& session) {
    const Bytes most(Session::kMostExchanged, std::byte{3});
    const std::string key(Session::kLongestKey, 'k');
    for (const Bytes& other : session.exchange(all_ranks(2), key, most, soon())) EXPECT_EQ(other, most);
    EXPECT_THROW(session.exchange(all_ranks(2), "x", Bytes(Session::kMostExchanged + 1), soon()),
                 ArgumentError);
    EXPECT_THROW(session.exchange(all_ranks(2), key + "k", {}, soon()), ArgumentError);
  });
}

TEST_P(SessionContract, GroupsExchangeSideBySide) {
  on_ranks(4, [](Session& session) {
    const int odd = session.rank() % 2;
    const std::vector<Rank> half{Rank{odd}, Rank{odd + 2}};
    for (int round = 0; round < 10; ++round) {
      const std::vector<Bytes> all = session.exchange(half, "half", bytes_of(session.rank(), round), soon());
      EXPECT_EQ(all, (std::vector{bytes_of(half[0], round), bytes_of(half[1], round)}));
    }
    session.exchange(all_ranks(4), "all", {}, soon());
  });
}

TEST_P(SessionContract, KeysThatDifferAreAMismatchOnBoth) {
  on_ranks(2, [](Session& session) {
    EXPECT_THROW(session.exchange(all_ranks(2), session.rank() == 0 ? "one" : "other", {}, soon()),
                 MismatchError);
  });
}

TEST_P(SessionContract, AMemberThatStaysAwayIsNamedAndMayStillCome) {
  std::atomic<bool> gave_up{false};
  on_ranks(3, [&](Session& session) {
    while (session.rank() == 1 && !gave_up.load()) std::this_thread::yield();
    const Bytes own = bytes_of(session.rank(), 1);
    if (session.rank() == 2) {
      try {
        session.exchange(all_ranks(3), "late", own, Deadline(0.2));
        ADD_FAILURE() << "rank 1 cannot have come";
      } catch (const TimeoutError& e) {
        EXPECT_NE(std::string(e.what()).find("rank 1"), std::string::npos) << e.what();
      }
      gave_up = true;
    }
    const std::vector<Bytes> all = session.exchange(all_ranks(3), "late", own, soon());
    EXPECT_EQ(all[1], bytes_of(Rank{1}, 1));
    EXPECT_EQ(all[2], bytes_of(Rank{2}, 1));
  });
}

TEST_P(SessionContract, SurvivorsAreAllThatHaveComeWhereNobodyIsLost) {
  on_ranks(5, [](Session& session) {
    EXPECT_EQ(session.survivors(all_ranks(5), "first", soon()), all_ranks(5));
    EXPECT_EQ(session.survivors(all_ranks(5), "first", soon()), all_ranks(5)) << "asked again";
    const int odd = session.rank() % 2;
    std::vector<Rank> half;
    for (Rank rank{odd}; rank < 5; rank = Rank{rank + 2}) half.push_back(rank);
    EXPECT_EQ(session.survivors(half, odd ? "odd" : "even", soon()), half);
  });
}

TEST_P(SessionContract, WhoLivesAndDoesNotComeIsNamedAndMayStillGoOn) {
  std::atomic<int> gave_up{0};
  on_ranks(3, [&](Session& session) {
    while (session.rank() == 1 && gave_up.load() < 2) std::this_thread::yield();
    if (session.rank() != 1) {
      try {
        session.survivors(all_ranks(3), "late", Deadline(0.2));
        ADD_FAILURE() << "rank 1 lives and cannot have come";
      } catch (const TimeoutError& e) {
        EXPECT_NE(std::string(e.what()).find("rank 1 did not come"), std::string::npos) << e.what();
      }
      ++gave_up;
    }
    EXPECT_EQ(session.survivors(all_ranks(3), "late", soon()), all_ranks(3));
  });
}

TEST_P(SessionContract, MembersAreSortedInRangeAndIncludeTheCaller) {
  on_ranks(3, [](Session& session) {
    const std::vector<std::vector<Rank>> wrong{{Rank{1}, Rank{0}, Rank{2}},
                                               {Rank{0}, Rank{1}, Rank{2}, Rank{3}},
                                               {Rank{(session.rank() + 1) % 3}},
                                               {}};
    for (const std::vector<Rank>& members : wrong) {
      EXPECT_THROW(session.exchange(members, "x", {}, soon()), ArgumentError);
      EXPECT_THROW(session.shared(members, 64, soon()), ArgumentError);
      EXPECT_THROW(session.survivors(members, "x", soon()), ArgumentError);
    }
  });
}

/// Ranks 0, 1 and 2 are numbers 1, 2 and 0.
TEST_P(SessionContract, MembersAreAskedForInTheirOwnOrder) {
  on_ranks(3, [](Session& session) {
    const std::shared_ptr<Session> alias(&session, [](Session*) {});
    const Rank self{(session.rank() + 1) % 3};
    const Members members{alias, {Rank{2}, Rank{0}, Rank{1}}, self};
    EXPECT_EQ(members.number_of(session.rank()), self);
    EXPECT_EQ(members.number_of(Rank{3}), std::nullopt);
    const std::vector<Bytes> all = members.exchange("order", bytes_of(session.rank(), 7), soon());
    EXPECT_EQ(all, (std::vector{bytes_of(Rank{2}, 7), bytes_of(Rank{0}, 7), bytes_of(Rank{1}, 7)}));
    if (const auto region = members.shared(64, soon())) {
      EXPECT_EQ(region->bytes().size(), 64u);
    }
    session.exchange(all_ranks(3), "all have it", {}, soon());
  });
}

/// Room for a page and 8 bytes: the second piece takes the second page, and there is no third.
TEST_P(SessionContract, PiecesOfAGroundDoNotOverlapAndKeepIt) {
  on_ranks(2, [](Session& session) {
    auto region = session.shared(all_ranks(2), 2 * 4096, soon());
    if (!region) return;
    const std::weak_ptr<SharedRegion> whole = region;
    const std::byte* const start = region->bytes().data();
    auto ground = std::make_unique<Ground>(std::move(region));
    EXPECT_EQ(Ground::bytes_of_piece(4096) + Ground::bytes_of_piece(8), 2u * 4096);
    const auto first = ground->next(4096);
    auto second = ground->next(8);
    EXPECT_EQ(first->bytes().data(), start);
    EXPECT_EQ(second->bytes().data(), start + 4096);
    EXPECT_EQ(second->bytes().size(), 8u);
    EXPECT_EQ(ground->next(1), nullptr);
    ground.reset();
    EXPECT_FALSE(whole.expired());
    session.exchange(all_ranks(2), "both have looked", {}, soon());
  });
}

TEST_P(SessionContract, SharedMemoryIsZeroFilledAndOneForAllOrNothingForAll) {
  on_ranks(3, [](Session& session) {
    const std::shared_ptr<SharedRegion> region =
        session.shared(all_ranks(3), 3 * sizeof(std::uint64_t), soon());
    if (!region) return;
    ASSERT_EQ(region->bytes().size(), 3 * sizeof(std::uint64_t));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(region->bytes().data()) % 4096, 0u);
    auto* const words = reinterpret_cast<std::atomic<std::uint64_t>*>(region->bytes().data());
    EXPECT_EQ(words[session.rank()].load(), 0u);
    words[session.rank()].store(100 + static_cast<std::uint64_t>(session.rank()));
    for (Rank rank : all_ranks(3))
      while (words[rank].load() != 100 + static_cast<std::uint64_t>(rank)) std::this_thread::yield();
    session.exchange(all_ranks(3), "all have seen it", {}, soon());
  });
}

/// Each reads before an exchange and after it: nobody's second reading may lie before anybody's first.
TEST_P(SessionContract, TheClockIsOneForAll) {
  on_ranks(3, [](Session& session) {
    constexpr std::int64_t kKnown_ns = 1'000'000'000;
    for (const Deadline deadline(10); session.clock().error_ns > kKnown_ns;) {
      ASSERT_FALSE(deadline.passed()) << "nobody knows how far the clocks are apart";
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    const ClockReading before = session.clock();
    const auto all = session.exchange(all_ranks(3), "clock", std::as_bytes(std::span(&before, 1)), soon());
    const ClockReading after = session.clock();
    for (const Bytes& bytes : all) {
      ClockReading other;
      std::memcpy(&other, bytes.data(), sizeof other);
      EXPECT_GE(after.now_ns + after.error_ns, other.now_ns);
    }
  });
}

}  // namespace
}  // namespace hemiola::testing
