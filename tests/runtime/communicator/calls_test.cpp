// SPDX-License-Identifier: Apache-2.0
// A call for the next members is known to all ranks after the same operation, whatever that is, and whatever carries it.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "contracts/local_sessions.hpp"
#include "contracts/on_threads.hpp"
#include "contracts/wire_kinds.hpp"
#include "hemiola/algorithms/late/late_segmented.hpp"
#include "hemiola/algorithms/published/recursive.hpp"
#include "hemiola/algorithms/published/ring.hpp"
#include "hemiola/algorithms/registry.hpp"
#include "hemiola/base/error.hpp"
#include "hemiola/base/random.hpp"
#include "hemiola/runtime/communicator/call_desk.hpp"
#include "hemiola/runtime/communicator/communicator.hpp"
#include "hemiola/runtime/control/hosts/hosts_control.hpp"
#include "hemiola/runtime/control/local/local_control.hpp"
#include "hemiola/runtime/session/hosts/hosts_session.hpp"
#include "hemiola/runtime/wire/emulated/emulated_kind.hpp"
#include "hemiola/runtime/wire/routed/routed_kind.hpp"
#include "hemiola/runtime/wire/shm/shm_kind.hpp"
#include "hemiola/topology/builders/switch.hpp"
#include "in_process/in_process_session.hpp"
#include "in_process/in_process_wire.hpp"

namespace hemiola::testing {
namespace {

using Array = std::vector<std::int32_t>;
using Sessions = std::vector<std::shared_ptr<Session>>;

/// Whether a newcomer waits is up to the test.
class SessionWithGuests final : public Session {
 public:
  explicit SessionWithGuests(std::shared_ptr<Session> inner) : inner_(std::move(inner)) {}
  std::atomic<bool> guests = false;

  bool has_guests() const override { return guests; }
  Rank rank() const override { return inner_->rank(); }
  int rank_count() const override { return inner_->rank_count(); }
  int host_of(Rank rank) const override { return inner_->host_of(rank); }
  std::vector<Bytes> exchange(const std::vector<Rank>& members, std::string_view key,
                              std::span<const std::byte> own, const Deadline& deadline) override {
    return inner_->exchange(members, key, own, deadline);
  }
  std::shared_ptr<SharedRegion> shared(const std::vector<Rank>& members, std::size_t bytes,
                                       const Deadline& deadline) override {
    return inner_->shared(members, bytes, deadline);
  }
  std::vector<LostRank> lost() const override { return inner_->lost(); }
  std::vector<Rank> next_members(const std::vector<Rank>& members, std::string_view name,
                                 const Wishes& wishes, const Deadline& deadline) override {
    return inner_->next_members(members, name, wishes, deadline);
  }
  ClockReading clock() const override { return inner_->clock(); }
  Courier* courier() override { return inner_->courier(); }

 private:
  void publish_cause(const std::optional<Cause>&) override {}

  std::shared_ptr<Session> inner_;
};

/// Ranks of this machine that meet as those of several hosts do.
Sessions hosts_sessions(int rank_count) {
  static std::atomic<int> count{0};
  const Endpoint here = Endpoint::parse("127.0.0.1");
  const Token token = Token::random();
  const std::string name = "calls-test-" + std::to_string(::getpid()) + "-" + std::to_string(count++);
  std::vector<HostsOptions> options;
  for (Rank rank : indices<Rank>(rank_count)) {
    options.push_back({.reception = std::make_shared<Reception>(
                           listen_at(here), Credentials{token, Hash128{1, 2}, 0, rank, "1"}),
                       .rank_count = rank_count});
    options.back().addresses = {here};
    options.back().name = name;
  }
  Sessions sessions(static_cast<std::size_t>(rank_count));
  on_threads(rank_count, [&](Rank rank) {
    HostsOptions& own = options[static_cast<std::size_t>(rank)];
    own.rank_zero = {options.front().reception->endpoint()};
    sessions[static_cast<std::size_t>(rank)] = HostsSession::join(own);
  });
  return sessions;
}

struct CallsCase {
  std::string name;
  Sessions (*sessions)(int rank_count);
  std::shared_ptr<WireKind> (*wire)(int rank_count);  ///< a rank's
  std::shared_ptr<const ControlKind> control;
  int operations = 120;
  std::string (*why_not)() = nullptr;
};

std::shared_ptr<WireKind> shm(int) {
  return std::make_shared<ShmKind>();
}
std::shared_ptr<WireKind> shm_with_signatures(int) {
  return std::make_shared<ShmKind>(true);
}
std::shared_ptr<WireKind> tcp(int) {
  return std::make_shared<TcpOverLoopback>("127.0.0.1", 1);
}
/// Rank 0 and rank 1 are on one host, each other rank on its own.
std::shared_ptr<WireKind> routed(int rank_count) {
  return std::make_shared<RoutedKind>(std::vector<std::shared_ptr<WireKind>>{
      std::make_shared<Among>(std::vector{Rank{0}, Rank{1}}, shm_with_signatures(rank_count)),
      tcp(rank_count)});
}
std::shared_ptr<WireKind> emulated(int rank_count) {
  return std::make_shared<EmulatedKind>(
      shm_with_signatures(rank_count),
      topologies::switch_(rank_count, {.latency = kSecond / 1'000'000, .bandwidth_Bps = 1e10}), Conditions{});
}
std::shared_ptr<WireKind> ucx(int) {
  return ucx_by("tcp");
}
/// Without signatures and hints.
std::shared_ptr<WireKind> in_process(int) {
  return std::make_shared<InProcessKind>();
}
/// Messages lie in their sender's memory until they are taken, and must not change.
std::shared_ptr<WireKind> in_place(int) {
  return std::make_shared<InProcessKind>(InProcessOptions{.rendezvous = true, .slice_bytes = 1 << 16});
}

/// One rank's communicator, and one call of it after the other.
class Caller {
 public:
  Caller(std::shared_ptr<Session> session, const CommunicatorOptions& options)
      : comm_(session, all_ranks(session->rank_count()), options),
        desk_(&comm_, {[](const Question&) { return Bytes(1); },
                       [this](const Bytes&, const Question& question) { return followed(question); }}) {}

  Communicator& comm() { return comm_; }

  /// Each block has so many elements, of which one in `every` is not zero.
  PreparedCall prepare(Call call, std::int64_t elements, int every = 1) {
    using enum OperationKind;
    const OperationKind kind = call.kind;
    const bool is_root = call.root == comm_.rank();
    const int ranks = comm_.rank_count();
    const bool brings_blocks = kind == reduce_scatter || kind == scatter || kind == all_to_all;
    const bool gets_blocks = kind == all_gather || kind == gather || kind == all_to_all;
    in_shape_ = {elements * (brings_blocks ? ranks : 1)};
    out_shape_ = {elements * (gets_blocks ? ranks : 1)};
    in_.assign(static_cast<std::size_t>(in_shape_[0]), 0);
    out_.assign(static_cast<std::size_t>(out_shape_[0]), 0);
    for (std::size_t i = 0; i < in_.size(); i += static_cast<std::size_t>(every)) in_[i] = 1;
    if (kind != barrier && (is_root || (kind != broadcast && kind != scatter)))
      call.input = ArrayView{reinterpret_cast<std::byte*>(in_.data()), DType::int32, in_shape_};
    if (kind != barrier && (is_root || (kind != reduce && kind != gather)))
      call.output = ArrayView{reinterpret_cast<std::byte*>(out_.data()), DType::int32, out_shape_};
    return desk_.prepare(call, {});
  }

 private:
  /// A ring; by name one that looks for its late rank, or of which all hear when each has come.
  Selection followed(const Question& question) const {
    const int ranks = comm_.rank_count();
    const auto ring = std::make_shared<const Schedule>(algorithms::all_reduce_ring(ranks));
    Selection selection{ring, std::nullopt};
    if (question.algorithm == "late")
      selection.late =
          LateRule{.plain = ring, .generate = &around_late_rank, .segments = 2, .segment_steps = ranks - 2};
    if (question.algorithm == "timed")
      selection.outlook = LateOutlook{.plain_s = 1, .delay_s = 1, .finish_s = 1};
    if (question.sparse != SparseMode::no)
      selection.sparse = SparseRule{
          .coded_below = 0.97,
          .exchange = std::make_shared<const Schedule>(algorithms::all_reduce_recursive_doubling(ranks)),
          .pause = 3};
    return selection;
  }
  static std::shared_ptr<const Schedule> around_late_rank(int rank_count, Rank late, const LateRule& rule,
                                                          int reduced) {
    return std::make_shared<const Schedule>(algorithms::all_reduce_late_segmented(
        rank_count, late, {rule.segments, reduced, rule.chunks_per_owner}));
  }

  Communicator comm_;
  CallDesk desk_;
  std::vector<std::int64_t> in_shape_, out_shape_;
  Array in_, out_;
};

/// A random operation, the same on all ranks, and who calls in it.
class Drawn {
 public:
  enum class Fault : std::uint8_t { none, disagreement, mistake };

  Drawn(Random* random, int rank_count) : rank_count_(rank_count) {
    constexpr std::int64_t kElements[] = {0, 1, 2, 3, 5, 1000, 30'000};
    elements_ = kElements[random->below(std::size(kElements))];
    every_ = random->below(2) == 0 ? 1 : 100;
    callers_ = random->below(2) == 0 ? 0 : random->below(1u << rank_count);
    in_background_ = random->below(4) == 0;
    late_ =
        random->below(8) == 0 ? static_cast<int>(random->below(static_cast<std::uint32_t>(rank_count))) : -1;
    faulty_ = static_cast<int>(random->below(static_cast<std::uint32_t>(rank_count)));
    const std::uint32_t fault = random->below(16);
    if (rank_count > 1 && fault < 2) fault_ = fault == 0 ? Fault::disagreement : Fault::mistake;
    draw_call(random);
  }

  bool is_called() const { return callers_ != 0; }
  bool fails() const { return fault_ != Fault::none; }
  std::string name() const {
    return std::string(hemiola::name_of(call_.kind)) + " " + name_ + " of " + std::to_string(elements_) +
           ", called by " + std::to_string(callers_);
  }

  /// Throws as the operation does.
  void run(Caller* caller, SessionWithGuests* session) const {
    const int self = caller->comm().rank();
    session->guests = (callers_ >> self & 1) != 0;
    if (self == late_) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    Call call = call_;
    const bool is_at_fault = self == faulty_;
    if (is_at_fault && fault_ == Fault::mistake) call.complaint = "no such thing";
    if (is_at_fault && fault_ == Fault::disagreement) {
      call = Call();
      call.kind = OperationKind::all_reduce;
      call.op = Op::max;
    }
    PreparedCall prepared = caller->prepare(call, elements_, every_);
    if (!in_background_) return caller->comm().run(prepared);
    EXPECT_TRUE(caller->comm().start(std::move(prepared))->wait_for(120));
  }

 private:
  void draw_call(Random* random) {
    const std::uint32_t which = random->below(8);
    call_.kind = which == 0 ? OperationKind::barrier : OperationKind::all_reduce;
    if (which == 1) call_.algorithm = name_ = "timed";
    if (which == 2 && rank_count_ > 2) call_.algorithm = name_ = "late";
    if (which == 3) {
      call_.sparse = SparseMode::yes;
      name_ = "sparse";
    }
    if (which > 3) draw_algorithm(random);
  }
  void draw_algorithm(Random* random) {
    const auto& all = algorithms::registry();
    const algorithms::Algorithm* one = nullptr;
    do one = &all[random->below(static_cast<std::uint32_t>(all.size()))];
    while (one->needs != algorithms::Needs::nothing || !one->is_valid(rank_count_));
    name_ = one->name;
    call_.kind = operation_of(one->kind);
    if (is_rooted(one->kind)) call_.root = random->below(static_cast<std::uint32_t>(rank_count_));
    call_.schedule = std::make_shared<const Schedule>(one->schedule(rank_count_, call_.root));
  }

  int rank_count_;
  Call call_;
  std::string name_;
  std::int64_t elements_ = 0;
  int every_ = 1;
  std::uint32_t callers_ = 0;  ///< a bit for each rank
  bool in_background_ = false;
  int late_ = -1;
  int faulty_ = 0;
  Fault fault_ = Fault::none;
};

class Calls : public ::testing::TestWithParam<CallsCase> {
 protected:
  void SetUp() override {
    const std::string missing = GetParam().why_not != nullptr ? GetParam().why_not() : "";
    if (!missing.empty()) GTEST_SKIP() << missing;
  }

  static void on_callers(int rank_count, const std::function<void(Caller*, SessionWithGuests*)>& body) {
    const Sessions inner = GetParam().sessions(rank_count);
    on_threads(rank_count, [&](Rank rank) {
      CommunicatorOptions options;
      options.wire = GetParam().wire(rank_count);
      options.has_messages = false;
      options.control = GetParam().control;
      const auto session = std::make_shared<SessionWithGuests>(inner[static_cast<std::size_t>(rank)]);
      Caller caller(session, options);
      body(&caller, session.get());
    });
  }
};

/// Random operations over each algorithm that needs no more than ranks, with and without callers, some by the planner's ways,
/// some in the background, some with a late rank, some on which ranks disagree. Expect that all that succeed say the same
/// on all ranks, and that others change nothing.
TEST_P(Calls, AreKnownToAllRanksAfterTheSameOperation) {
  for (const int rank_count : {1, 3, 4})
    on_callers(rank_count, [&](Caller* caller, SessionWithGuests* session) {
      Random random(static_cast<std::uint64_t>(rank_count));
      bool is_called = false;
      for (int i = 0; i < GetParam().operations; ++i) {
        const Drawn drawn(&random, rank_count);
        bool has_failed = false;
        try {
          drawn.run(caller, session);
        } catch (const MismatchError&) {
          has_failed = true;
        } catch (const ArgumentError&) {
          has_failed = true;
        }
        EXPECT_EQ(has_failed, drawn.fails()) << drawn.name();
        if (!has_failed) is_called = drawn.is_called();
        EXPECT_EQ(caller->comm().is_called(), is_called)
            << drawn.name() << " (operation " << i << ") on rank " << caller->comm().rank() << " of "
            << rank_count;
      }
    });
}

/// Expect that it stands from the next operation on, in which it was said.
TEST_P(Calls, OfARankThatLeavesStand) {
  for (const Rank leaving : all_ranks(3))
    on_callers(3, [&](Caller* caller, SessionWithGuests*) {
      const auto run = [&](OperationKind kind) {
        Call call;
        call.kind = kind;
        caller->comm().run(caller->prepare(std::move(call), 100));
      };
      run(OperationKind::all_reduce);
      EXPECT_FALSE(caller->comm().is_called());
      if (caller->comm().rank() == leaving) caller->comm().call();
      EXPECT_FALSE(caller->comm().is_called());
      for (const OperationKind kind : {OperationKind::all_reduce, OperationKind::barrier}) {
        run(kind);
        EXPECT_TRUE(caller->comm().is_called());
      }
    });
}

const auto kLocal = std::make_shared<const LocalControl>();
const auto kHosts = std::make_shared<const HostsControl>();

INSTANTIATE_TEST_SUITE_P(
    , Calls,
    ::testing::Values(CallsCase{"local_shm", local_sessions, shm, kLocal},
                      CallsCase{"local_tcp", local_sessions, tcp, kLocal},
                      CallsCase{"local_in_place", local_sessions, in_place, kLocal},
                      CallsCase{"hosts_shm", hosts_sessions, shm_with_signatures, kHosts},
                      CallsCase{"hosts_tcp", hosts_sessions, tcp, kHosts},
                      CallsCase{"hosts_routed", hosts_sessions, routed, kHosts},
                      CallsCase{"hosts_emulated", hosts_sessions, emulated, kHosts},
                      CallsCase{"hosts_ucx", hosts_sessions, ucx, kHosts, 120, why_no_ucx},
                      CallsCase{"hosts_by_words_alone", hosts_sessions, in_process, kHosts, 15}),
    [](const ::testing::TestParamInfo<CallsCase>& info) { return info.param.name; });

}  // namespace
}  // namespace hemiola::testing
