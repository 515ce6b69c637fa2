// SPDX-License-Identifier: Apache-2.0
#include "hemiola/verify/verify.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <string>
#include <thread>

#include "hemiola/base/error.hpp"
#include "hemiola/base/interrupt.hpp"
#include "hemiola/base/started_thread.hpp"
#include "hemiola/schedule/chunk_sorter.hpp"
#include "hemiola/verify/chunk_judge.hpp"

namespace hemiola {
namespace {

void check_at_least(int least, int found, const char* what) {
  if (found < least)
    throw ArgumentError("verify: expected " + std::string(what) + " >= " + std::to_string(least) +
                        ", found " + std::to_string(found));
}

int count_threads(int asked, std::int64_t transfer_count) {
  if (asked > 0) return asked;
  constexpr std::int64_t kMost = 4, kTransfersPerThread = 1 << 20;
  const auto machine = static_cast<std::int64_t>(std::thread::hardware_concurrency());
  return static_cast<int>(std::clamp<std::int64_t>(transfer_count / kTransfersPerThread, 1,
                                                   std::clamp<std::int64_t>(machine, 1, kMost)));
}

/// Ends a helper's work on a chunk when another thread has failed.
struct Stopped {};

/// Threads take ranges of chunks from a common list until none is left. The calling thread is one of them.
class Judging {
 public:
  Judging(const TransferSource& source, const VerifyOptions& options, int thread_count)
      : source_(source),
        options_(options),
        sorter_(source, range_bytes(source, options, thread_count)),
        report_(static_cast<std::size_t>(options.max_violations)) {
    for (int i = 1; i < std::min(thread_count, sorter_.range_count()); ++i)
      if (!add_helper(helpers_, [this] { help(); })) break;
    work(/*tells_progress=*/true);
    for (std::thread& helper : helpers_) helper.join();
    if (failure_) std::rethrow_exception(failure_);
  }

  const Report& report() const { return report_; }

 private:
  static std::int64_t range_bytes(const TransferSource& source, const VerifyOptions& options,
                                  int thread_count) {
    const auto all = source.transfer_count() * static_cast<std::int64_t>(sizeof(ChunkTransfer));
    return std::min(options.memory_bytes, all) / thread_count;
  }

  void help() {
    const std::function<void()> stop = [this] {
      if (stopped_) throw Stopped();
    };
    const InterruptScope scope(stop);
    work(/*tells_progress=*/false);
  }

  void work(bool tells_progress) {
    try {
      judge_ranges(tells_progress);
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
      next_range_ = sorter_.range_count();
      stopped_ = true;
    }
  }

  void judge_ranges(bool tells_progress) {
    Report report(static_cast<std::size_t>(options_.max_violations));
    ChunkJudge judge(source_.collective(), scratch_count_of(source_.pairs()), source_.step_count(),
                     options_.report_redundant, &report);
    ChunkRange range;
    for (int r = next_range_++; r < sorter_.range_count() && !stopped_; r = next_range_++) {
      sorter_.load(r, &range, [&] { tick(tells_progress, 0); });
      for (int i = 0; i < range.count() && !stopped_; ++i) {
        const Chunk chunk{range.first() + i};
        const auto transfers = range.transfers_of(chunk);
        judge.judge(chunk, transfers);
        tick(tells_progress, static_cast<std::int64_t>(transfers.size()));
      }
    }
    const std::lock_guard lock(mutex_);
    report_.merge(report);
  }

  void tick(bool tells_progress, std::int64_t judged) {
    done_ += judged;
    constexpr int kTicks = 1 << 10;
    if (tells_progress && options_.progress && ++ticks_ % kTicks == 0)
      options_.progress(done_, source_.transfer_count());
  }

  const TransferSource& source_;
  const VerifyOptions& options_;
  const ChunkSorter sorter_;
  std::atomic<int> next_range_{0};
  std::atomic<std::int64_t> done_{0};
  std::atomic<bool> stopped_{false};
  std::int64_t ticks_ = 0;
  std::mutex mutex_;  ///< guards report_ and failure_
  Report report_;
  std::exception_ptr failure_;
  std::vector<std::thread> helpers_;
};

}  // namespace

std::vector<Violation> verify(const Schedule& schedule, const VerifyOptions& options) {
  return verify(ScheduleSource(schedule), options);
}

std::vector<Violation> verify(const TransferSource& source, const VerifyOptions& options) {
  check_at_least(1, options.max_violations, "max_violations");
  check_at_least(0, options.threads, "threads");
  Report report(static_cast<std::size_t>(options.max_violations));
  check_limits(source, options.limits, &report);
  report.merge(Judging(source, options, count_threads(options.threads, source.transfer_count())).report());
  return report.finish();
}

}  // namespace hemiola
