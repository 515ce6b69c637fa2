// SPDX-License-Identifier: Apache-2.0
// The executor on the host's cores: runs a program on buffers in the host's memory, over any wire. Dependencies decide
// which task starts; there are no barriers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "hemiola/base/move_cost.hpp"
#include "hemiola/runtime/executor/executor.hpp"
#include "hemiola/runtime/executor/host/arena.hpp"
#include "hemiola/runtime/executor/host/coder.hpp"
#include "hemiola/runtime/executor/host/combine.hpp"
#include "hemiola/runtime/executor/host/regions.hpp"
#include "hemiola/runtime/executor/message_meter.hpp"
#include "hemiola/runtime/executor/patience.hpp"
#include "hemiola/runtime/wire/wire.hpp"

namespace hemiola {

struct EngineOptions {
  int groups_in_flight = 8;  ///< as in WireTraits
  Waiting waiting = {};
  MessageMeter* meter = nullptr;  ///< null: nobody wants to know
  bool keep_inputs = true;        ///< as in CompileOptions, for inputs that are multiplied
};

class Engine final : public Executor {
 public:
  /// The wire outlives it.
  Engine(Wire* wire, const EngineOptions& options) : wire_(wire), options_(options) {}

  void begin_operation() override;
  void execute(const Program& program, const Buffers& buffers, const Arithmetic& arithmetic,
               Supervisor* supervisor) override;
  void choose_formats_by(const codec::CostsOfUse& costs) override { coder_.choose_formats_by(costs); }
  bool carries_hints() const override { return wire_->traits().carries_hints; }
  void spread_hint() override { wire_->spread(Hint::density); }
  bool has_hint() const override { return wire_->has(Hint::density); }
  SentForms sent_forms() const override { return coder_.sent(); }
  void restore() override;

 private:
  struct LaneState {
    std::int32_t opened = 0;     ///< groups
    std::int32_t posted = 0;     ///< tasks
    std::int32_t finished = 0;   ///< groups from the front of which every task is done
    std::size_t first_left = 0;  ///< into left_in_group_
  };

  /// Input bytes that an earlier program of the operation has saved.
  struct KeptSave {
    Save range;
    const std::byte* copy;
  };

  void begin(const Program& program, const Buffers& buffers, const Arithmetic& arithmetic);
  void find_kernels(DType dtype, Op op);
  void begin_tasks();
  void place_regions(const Buffers& buffers, const Arithmetic& arithmetic);
  void multiply_input(const Arithmetic& arithmetic);
  void multiply_blocks(const Arithmetic& arithmetic, std::byte* to);
  void keep_saves();
  bool is_kept(const Save& save) const;
  void reset_lanes();
  Patience patience();
  void exchange(const Exchange& messages, Supervisor* supervisor);
  void drive(Supervisor* supervisor);
  bool admit(Supervisor* supervisor);
  bool poll();
  void start_ready();
  void start(std::int32_t index);
  void post(std::int32_t index, Request request);
  Request send(const Task& task);
  Source source_of(const Place& place) const;
  Request receive(const Task& task);
  template <typename Work>
  auto charged(const Work& work);
  Request send_coded(const Task& task);
  Request receive_coded(const Task& task);
  void apply(const Task& task);
  void scale(const Task& task);
  void finish(std::int32_t index);
  void release(std::int32_t index) {
    if (--needs_[static_cast<std::size_t>(index)] == 0) ready_.push_back(index);
  }
  void open_groups(std::size_t lane);
  void save(const Task& task);
  bool copy_one();
  std::byte* at(const Place& place) const { return regions_.at(place); }
  MeteredMessage metered(const Task& o) const {
    const Channel& channel = program_->channels[static_cast<std::size_t>(o.channel)];
    return {o.lane, channel.peer, channel.sending, program_->forms.empty() ? o.bytes : coder_.bytes_of(o),
            static_cast<std::int32_t>(&o - program_->tasks.data())};
  }
  std::size_t bytes(Region region) const {
    return static_cast<std::size_t>(program_->bytes[static_cast<int>(region)]);
  }
  Rank peer_of(const Task& o) const { return program_->channels[static_cast<std::size_t>(o.channel)].peer; }
  const Task& task(std::int32_t index) const { return program_->tasks[static_cast<std::size_t>(index)]; }

  Wire* wire_;
  const EngineOptions options_;
  WaitingRecords waiting_records_;
  SizedCopier copier_;
  Arena work_;               ///< scratch, pool and staging
  std::deque<Arena> saved_;  ///< one for each program of an operation
  Arena product_;            ///< the input as an average and a premul_sum multiply it
  Arena replaced_;           ///< the old output, if it is the input that is multiplied

  // Of the operation at hand:
  std::vector<KeptSave> kept_;  ///< the saves of earlier programs, by offset
  std::size_t program_count_ = 0;
  bool has_replaced_ = false;
  const Program* program_ = nullptr;
  DType dtype_{};
  Op op_{};
  Combine combine_ = combine_for(dtype_, op_);
  Scale scale_ = scale_for(dtype_);
  int divisor_ = 1;
  bool receives_ = false;  ///< anything at all
  int groups_in_flight_ = 1;
  Regions regions_;
  Coder coder_;  ///< of coded programs
  std::vector<std::int32_t> needs_;
  std::vector<Request> requests_;
  std::vector<std::int32_t> head_;  ///< by channel: the oldest message in flight, or kNone
  std::vector<std::uint8_t> is_posted_;
  std::vector<std::uint8_t> is_saved_;
  std::vector<std::int32_t> active_channels_;
  std::vector<std::int32_t> not_admitted_;  ///< channels
  std::vector<std::int32_t> ready_;
  std::size_t next_ready_ = 0;
  std::vector<LaneState> lanes_;
  std::vector<std::int32_t> left_in_group_;
  std::size_t tasks_left_ = 0;
  std::size_t copies_done_ = 0;
};

}  // namespace hemiola
