#include "hemiola/verify/verify.hpp"

#include <string>

#include "hemiola/base/error.hpp"
#include "hemiola/schedule/chunk_sorter.hpp"
#include "hemiola/verify/chunk_judge.hpp"

namespace hemiola {

std::vector<Violation> verify(const Schedule& schedule, const VerifyOptions& options) {
  return verify(ScheduleSource(schedule), options);
}

std::vector<Violation> verify(const TransferSource& source, const VerifyOptions& options) {
  if (options.max_violations < 1)
    throw ArgumentError("verify: expected max_violations >= 1, found " +
                        std::to_string(options.max_violations));
  Report report(static_cast<std::size_t>(options.max_violations));
  check_limits(source, options.limits, &report);
  ChunkJudge judge(source.collective(), source.step_count(), options.report_redundant, &report);
  constexpr std::int64_t kProgressEvery = 1 << 22;
  std::int64_t done = 0, said = 0;
  ChunkSorter(source, options.memory_bytes).for_each_range([&](const ChunkRange& range) {
    for (int i = 0; i < range.count(); ++i) {
      const Chunk chunk{range.first() + i};
      const auto transfers = range.transfers_of(chunk);
      judge.judge(chunk, transfers);
      done += static_cast<std::int64_t>(transfers.size());
      if (options.progress && done - said >= kProgressEvery)
        options.progress(said = done, source.transfer_count());
    }
  });
  return report.finish();
}

}  // namespace hemiola
