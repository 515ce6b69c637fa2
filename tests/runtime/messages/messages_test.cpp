// SPDX-License-Identifier: Apache-2.0
// Messages between two ranks, over every wire that they go over: values, order, tags, any source, sizes around the eager
// limit, deadlocks that there must not be, and what happens to those whose other end is late, wrong or gone.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "contracts/local_sessions.hpp"
#include "contracts/wire_kinds.hpp"
#include "hemiola/base/error.hpp"
#include "hemiola/runtime/communicator/communicator.hpp"
#include "hemiola/runtime/wire/routed/routed_kind.hpp"
#include "hemiola/runtime/wire/shm/shm_kind.hpp"
#include "in_process/in_process_control.hpp"
#include "in_process/in_process_session.hpp"
#include "in_process/in_process_wire.hpp"

namespace hemiola::testing {
namespace {

struct MessageCase {
  std::string name;
  std::shared_ptr<WireKind> (*kind)();
  bool in_memory = true;  ///< ranks meet in shared memory; otherwise in a map of this process
};

std::shared_ptr<WireKind> shm() {
  return std::make_shared<ShmKind>();
}
std::shared_ptr<WireKind> shm_with_signatures() {
  return std::make_shared<ShmKind>(true);
}
std::shared_ptr<WireKind> tcp() {
  return std::make_shared<TcpOverLoopback>("127.0.0.1", 1);
}
std::shared_ptr<WireKind> routed() {
  return std::make_shared<RoutedKind>(std::vector<std::shared_ptr<WireKind>>{
      std::make_shared<Among>(std::vector{Rank{0}, Rank{1}}, shm_with_signatures()), tcp()});
}
std::shared_ptr<WireKind> eager() {
  return std::make_shared<InProcessKind>(InProcessOptions{.laziness = 3});
}
std::shared_ptr<WireKind> rendezvous() {
  return std::make_shared<InProcessKind>(InProcessOptions{.rendezvous = true, .seed = 7, .laziness = 3});
}

constexpr std::size_t kLong = 100'000;  ///< elements: far beyond what is sent without a receiver

using Numbers = std::vector<std::int32_t>;

Numbers numbers(std::size_t count, int seed) {
  Numbers made(count);
  for (std::size_t i = 0; i < count; ++i) made[i] = seed * 1'000'003 + static_cast<std::int32_t>(i);
  return made;
}

/// One rank's communicator, and messages of it.
class Peer {
 public:
  explicit Peer(Communicator* comm) : comm_(comm) {}
  Communicator& comm() { return *comm_; }
  Rank rank() const { return comm_->rank(); }
  Messenger& messages() { return comm_->messages(); }

  static Messenger::RequestPtr request(bool is_send, std::optional<Rank> peer, std::int64_t tag, Numbers* of,
                                       double timeout_s = 60) {
    auto request = std::make_shared<MessageRequest>();
    request->is_send = is_send;
    request->peer = peer;
    request->tag = tag;
    request->dtype = DType::int32;
    request->element_count = static_cast<std::int64_t>(of->size());
    request->data = reinterpret_cast<std::byte*>(of->data());
    request->deadline = Deadline(timeout_s);
    return request;
  }
  void send(Rank dst, std::int64_t tag, Numbers data, double timeout_s = 60) {
    messages().run(request(true, dst, tag, &data, timeout_s), {});
  }
  Rank receive(std::optional<Rank> src, std::int64_t tag, Numbers* into, double timeout_s = 60) {
    const auto posted = request(false, src, tag, into, timeout_s);
    messages().run(posted, {});
    return posted->source;
  }
  Messenger::RequestPtr start(bool is_send, std::optional<Rank> peer, std::int64_t tag, Numbers* of) {
    auto posted = request(is_send, peer, tag, of);
    messages().post(posted);
    return posted;
  }
  void finish(const Messenger::RequestPtr& posted) { EXPECT_TRUE(messages().wait_for(posted, 60, {})); }

 private:
  Communicator* comm_;
};

class Messages : public ::testing::TestWithParam<MessageCase> {
 protected:
  static void on_peers(int rank_count, const std::function<void(Peer&)>& body) {
    const MessageCase& where = GetParam();
    const auto sessions = where.in_memory ? local_sessions(rank_count) : InProcessSession::make(rank_count);
    CommunicatorOptions options;
    options.timeout_s = 60;
    if (!where.in_memory) options.control = std::make_shared<InProcessControl>();
    on_threads(rank_count, [&](Rank rank) {
      CommunicatorOptions own = options;
      own.wire = where.kind();
      Communicator comm(sessions[static_cast<std::size_t>(rank)], all_ranks(rank_count), own);
      Peer peer(&comm);
      body(peer);
    });
  }
};

std::string error_of(const std::function<void()>& body, std::string* text = nullptr) {
  std::string name = "nothing";
  const auto note = [&](const char* type, const std::exception& e) {
    name = type;
    if (text != nullptr) *text = e.what();
  };
  try {
    body();
  } catch (const MismatchError& e) {
    note("MismatchError", e);
  } catch (const LostRankError& e) {
    note("LostRankError", e);
  } catch (const TimeoutError& e) {
    note("TimeoutError", e);
  }
  return name;
}

TEST_P(Messages, OfEverySizeArrive) {
  const std::vector<std::size_t> sizes{0, 1, 4095, 4096, 4097, 10'000, kLong, 1, 0};
  on_peers(2, [&](Peer& peer) {
    const Rank other{1 - peer.rank()};
    for (const std::size_t size : sizes) {
      Numbers into(size);
      const Numbers sent = numbers(size, peer.rank() + 1);
      if (peer.rank() == 0) peer.send(other, 5, sent);
      EXPECT_EQ(peer.receive(other, 5, &into), other);
      EXPECT_EQ(into, numbers(size, other + 1)) << size;
      if (peer.rank() == 1) peer.send(other, 5, sent);
    }
  });
}

TEST_P(Messages, TwoRanksThatBothSendFirstDoNotWaitForEachOther) {
  on_peers(2, [](Peer& peer) {
    const Rank other{1 - peer.rank()};
    for (int round = 0; round < 50; ++round) peer.send(other, round, numbers(4096, peer.rank() + round));
    for (int round = 49; round >= 0; --round) {  // in any order of tags
      Numbers into(4096);
      peer.receive(other, round, &into);
      EXPECT_EQ(into, numbers(4096, other + round));
    }
  });
}

TEST_P(Messages, OfOneTagComeInOrderWhateverTheirSizesAndHoweverManyAreUnderWay) {
  constexpr int kCount = 60;
  const auto size_of = [](int n) { return static_cast<std::size_t>(n % 3 == 0 ? 20'000 + n : n); };
  on_peers(2, [&](Peer& peer) {
    std::vector<Numbers> data;
    for (int n = 0; n < kCount; ++n)
      data.push_back(peer.rank() == 0 ? numbers(size_of(n), n) : Numbers(size_of(n)));
    std::vector<Messenger::RequestPtr> posted;
    for (Numbers& each : data)
      posted.push_back(peer.start(peer.rank() == 0, Rank{1 - peer.rank()}, 9, &each));
    for (auto at = posted.rbegin(); at != posted.rend(); ++at) peer.finish(*at);
    for (int n = 0; n < kCount; ++n)
      EXPECT_EQ(data[static_cast<std::size_t>(n)], numbers(size_of(n), n)) << n;
  });
}

TEST_P(Messages, FromAnyRankSayWhoseTheyAre) {
  on_peers(3, [](Peer& peer) {
    if (peer.rank() != 0) {
      peer.send(Rank{0}, 1, numbers(10, peer.rank()));
      return peer.send(Rank{0}, 2, numbers(kLong, peer.rank()));
    }
    for (const auto& [tag, size] : {std::pair{2, kLong}, std::pair{1, std::size_t{10}}}) {
      std::vector<Rank> sources;
      for (int n = 0; n < 2; ++n) {
        Numbers into(size);
        const Rank source = peer.receive(std::nullopt, tag, &into);
        EXPECT_EQ(into, numbers(size, source));
        sources.push_back(source);
      }
      std::ranges::sort(sources);
      EXPECT_EQ(sources, (std::vector{Rank{1}, Rank{2}}));
    }
  });
}

TEST_P(Messages, ToOneselfAreCopiedWhateverTheirSize) {
  on_peers(2, [](Peer& peer) {
    for (const std::size_t size : {std::size_t{3}, kLong}) {
      peer.send(peer.rank(), 4, numbers(size, 7));
      Numbers into(size);
      EXPECT_EQ(peer.receive(std::nullopt, 4, &into), peer.rank());
      EXPECT_EQ(into, numbers(size, 7));
    }
  });
}

TEST_P(Messages, OfAnotherSizeAreAnErrorThatNamesBothAndLaterOnesArrive) {
  on_peers(2, [](Peer& peer) {
    for (const std::size_t size : {std::size_t{8}, kLong}) {
      if (peer.rank() == 0) {
        peer.send(Rank{1}, 1, numbers(size, 1));
        peer.send(Rank{1}, 1, numbers(5, 2));
        continue;
      }
      Numbers into(5, -1);
      std::string text;
      EXPECT_EQ(error_of([&] { peer.receive(Rank{0}, 1, &into); }, &text), "MismatchError");
      EXPECT_NE(text.find("rank 0 has sent " + std::to_string(size) + " elements of int32"), text.npos)
          << text;
      EXPECT_NE(text.find("rank 1 passed an array of 5 elements"), text.npos) << text;
      EXPECT_EQ(into, Numbers(5, -1));
      peer.receive(Rank{0}, 1, &into);
      EXPECT_EQ(into, numbers(5, 2));
    }
  });
}

TEST_P(Messages, ThatNobodySendsOrReceivesEndInTimeAndNothingElseDoes) {
  on_peers(2, [](Peer& peer) {
    const Rank other{1 - peer.rank()};
    Numbers into(kLong);
    std::string text;
    if (peer.rank() == 0) {
      EXPECT_EQ(error_of([&] { peer.receive(other, 3, &into, 0.1); }, &text), "TimeoutError");
      EXPECT_NE(text.find("recv from rank 1 with tag 3 on rank 0"), text.npos) << text;
      EXPECT_EQ(error_of([&] { peer.send(other, 6, numbers(kLong, 1), 0.1); }, &text), "TimeoutError");
      EXPECT_NE(text.find("send to rank 1 with tag 6 on rank 0"), text.npos) << text;
      peer.send(other, 0, numbers(1, 0));
    } else {
      Numbers word(1);
      peer.receive(other, 0, &word);  // by now nobody offers anything with tag 6
    }
    peer.send(other, 7, numbers(10, peer.rank()));
    Numbers last(10);
    peer.receive(other, 7, &last);
    EXPECT_EQ(last, numbers(10, other));
    if (peer.rank() == 1) {
      EXPECT_EQ(error_of([&] { peer.receive(other, 6, &into, 0.1); }), "TimeoutError");
      peer.send(other, 8, numbers(1, 0));
    } else {
      Numbers word(1);
      peer.receive(other, 8, &word);
    }
  });
}

TEST_P(Messages, MoveWhileNobodyWaits) {
  on_peers(2, [](Peer& peer) {
    Numbers data = peer.rank() == 0 ? numbers(kLong, 3) : Numbers(kLong);
    const auto posted = peer.start(peer.rank() == 0, Rank{1 - peer.rank()}, 1, &data);
    const Deadline deadline(60);
    while (!posted->is_done && !deadline.passed()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_TRUE(posted->is_done);
    EXPECT_EQ(data, numbers(kLong, 3));
  });
}

TEST_P(Messages, FromSeveralThreadsFindTheirReceivers) {
  constexpr int kThreads = 4, kRounds = 30;
  on_peers(2, [](Peer& peer) {
    const Rank other{1 - peer.rank()};
    on_threads(kThreads, [&](Rank thread) {
      for (int round = 0; round < kRounds; ++round) {
        const std::size_t size = round % 5 == 0 ? 20'000 : 50;
        Numbers sent = numbers(size, thread + round), into(size);
        const auto leaving = peer.start(true, other, thread, &sent);
        peer.receive(other, thread, &into);
        peer.finish(leaving);
        EXPECT_EQ(into, sent);
      }
    });
  });
}

TEST_P(Messages, OfARankThatHasClosedArriveAndTheNextIsAnErrorThatNamesIt) {
  on_peers(3, [](Peer& peer) {
    if (peer.rank() == 1) return peer.send(Rank{0}, 1, numbers(100, 1));
    if (peer.rank() == 2) {
      Numbers word(1);
      peer.receive(Rank{0}, 0, &word);
      return;
    }
    Numbers into(100);
    peer.receive(Rank{1}, 1, &into);
    EXPECT_EQ(into, numbers(100, 1));
    std::string text;
    EXPECT_EQ(error_of([&] { peer.receive(Rank{1}, 1, &into); }, &text), "LostRankError");
    EXPECT_NE(text.find("rank 1"), text.npos) << text;
    EXPECT_EQ(error_of([&] { peer.receive(std::nullopt, 1, &into, 0.5); }),
              "TimeoutError");  // rank 2 is there
    peer.send(Rank{2}, 0, numbers(1, 1));
  });
}

INSTANTIATE_TEST_SUITE_P(, Messages,
                         ::testing::Values(MessageCase{"shm", shm},
                                           MessageCase{"shm_with_signatures", shm_with_signatures},
                                           MessageCase{"tcp", tcp, false}, MessageCase{"routed", routed},
                                           MessageCase{"in_process_eager", eager, false},
                                           MessageCase{"in_process_rendezvous", rendezvous, false}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace hemiola::testing
