// SPDX-License-Identifier: Apache-2.0
// Communicators of threads, and what the ranks of a test stand on: shared memory, an emulated network, or what lives in one
// process and shares no memory at all.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "hemiola/algorithms/late/late_segmented.hpp"
#include "hemiola/algorithms/published/direct.hpp"
#include "hemiola/algorithms/published/ring.hpp"
#include "hemiola/runtime/communicator/call_desk.hpp"
#include "hemiola/runtime/communicator/communicator.hpp"
#include "hemiola/runtime/session/local/local_session.hpp"
#include "hemiola/runtime/wire/emulated/emulated_kind.hpp"
#include "hemiola/runtime/wire/shm/shm_kind.hpp"
#include "hemiola/topology/builders/switch.hpp"
#include "in_process/in_process_control.hpp"
#include "in_process/in_process_session.hpp"
#include "in_process/in_process_wire.hpp"

namespace hemiola::testing {

using Array = std::vector<std::int32_t>;
/// One for each rank.
using Blocks = std::vector<std::vector<std::byte>>;

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
  /// Rounds sums to all ranks, and leaves its errors in `rest`.
  PreparedCall eight_bit_all_reduce(std::vector<float>* array, std::vector<float>* rest) {
    shape_ = {static_cast<std::int64_t>(array->size())};
    const auto view = [this](std::vector<float>* of) {
      return ArrayView{reinterpret_cast<std::byte*>(of->data()), DType::float32, shape_};
    };
    Call call;
    call.kind = OperationKind::all_reduce;
    call.input = call.output = view(array);
    call.rest = view(rest);
    call.sparse = SparseMode::eight_bits;
    call.schedule =
        std::make_shared<const Schedule>(algorithms::all_reduce_direct_rounds(comm_.rank_count()));
    return desk_.prepare(call, {});
  }
  /// Blocks as long as the schedule of an all_to_all says.
  PreparedCall exchange(const std::shared_ptr<const Schedule>& schedule, Blocks* given, Blocks* taken) {
    Call call;
    call.kind = OperationKind::all_to_all;
    call.has_blocks_of_any_size = true;
    call.schedule = schedule;
    std::int64_t given_bytes = 0, taken_bytes = 0;
    call.input = view_of(given, &given_bytes);
    call.output = view_of(taken, &taken_bytes);
    return desk_.prepare(call, {});
  }

 private:
  static ArrayView view_of(Blocks* blocks, std::int64_t* bytes) {
    auto begins = std::make_shared<std::vector<std::byte*>>();
    auto sizes = std::make_shared<std::vector<std::int64_t>>();
    for (auto& block : *blocks) {
      begins->push_back(block.data());
      sizes->push_back(static_cast<std::int64_t>(block.size()));
      *bytes += sizes->back();
    }
    return {.data = begins->front(),
            .dtype = DType::uint8,
            .shape = std::span(bytes, 1),
            .blocks = begins,
            .block_elements = sizes};
  }

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
  static std::shared_ptr<const Schedule> late_schedule(int rank_count, Rank late, const LateRule& rule,
                                                       int reduced) {
    return std::make_shared<const Schedule>(algorithms::all_reduce_late_segmented(
        rank_count, late, {rule.segments, reduced, rule.chunks_per_owner}));
  }

  Communicator comm_;
  int decisions_ = 0;
  CallDesk desk_;
  std::vector<std::int64_t> shape_;
};

inline std::string fresh_name() {
  static std::atomic<int> count{0};
  return "communicator-test-" + std::to_string(::getpid()) + "-" + std::to_string(count++);
}

inline std::vector<Rank> all_of(int rank_count) {
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

inline Setting setting_over(Ground ground, int rank_count) {
  Setting setting{ground, {}};
  if (ground == Ground::emulated_switch)
    setting.options.wire = std::make_shared<EmulatedKind>(
        std::make_shared<ShmKind>(),
        topologies::switch_(rank_count, {.latency = kSecond / 1'000'000, .bandwidth_Bps = 1e9}),
        Conditions{});
  if (ground == Ground::one_process) {
    setting.options.wire = std::make_shared<InProcessKind>();
    setting.options.control = std::make_shared<InProcessControl>();
  }
  return setting;
}

/// The sessions of one job, a rank's made when it asks.
class Sessions {
 public:
  Sessions(const Setting& setting, int rank_count) : rank_count_(rank_count), name_(fresh_name()) {
    if (setting.ground == Ground::one_process) made_ = InProcessSession::make(rank_count);
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
inline void on_ranks(int rank_count, const Setting& setting,
                     const std::function<void(Rank, const std::shared_ptr<Session>&)>& body) {
  const Sessions sessions(setting, rank_count);
  std::vector<std::thread> threads;
  for (Rank rank : indices<Rank>(rank_count))
    threads.emplace_back([&, rank] { body(rank, sessions.join(rank)); });
  for (std::thread& thread : threads) thread.join();
}

/// The same, each with a communicator of all of them.
inline void on_users(int rank_count, const Setting& setting, const std::function<void(User&)>& body) {
  on_ranks(rank_count, setting, [&](Rank, const std::shared_ptr<Session>& session) {
    User user(session, all_of(rank_count), setting.options);
    body(user);
  });
}

/// Element i is a function of rank and place.
inline Array input_of(int rank, std::size_t size) {
  Array array(size);
  for (std::size_t i = 0; i < size; ++i) array[i] = 1000 * (rank + 1) + static_cast<std::int32_t>(i % 97);
  return array;
}

inline Array sum_of(int rank_count, std::size_t size) {
  Array sum(size);
  for (int rank = 0; rank < rank_count; ++rank) {
    const Array input = input_of(rank, size);
    std::transform(sum.begin(), sum.end(), input.begin(), sum.begin(), std::plus<>());
  }
  return sum;
}

/// Zero but for one element in a hundred.
inline Array sparse_input_of(int rank, std::size_t size) {
  Array array(size);
  for (std::size_t i = 0; i < size; i += 100) array[i] = rank + 1;
  return array;
}

inline std::string name_of(const ::testing::TestParamInfo<Ground>& info) {
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

/// Tests over each ground.
class OverEachGround : public ::testing::TestWithParam<Ground> {
 protected:
  static Setting options(int rank_count) { return setting_over(GetParam(), rank_count); }
};

/// What the tests of a suite are repeated with.
inline const auto kGrounds =
    ::testing::Values(Ground::shared_memory, Ground::emulated_switch, Ground::one_process);

}  // namespace hemiola::testing
