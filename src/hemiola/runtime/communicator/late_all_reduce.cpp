// An all-reduce in which nobody knows who is late: the first n-1 ranks to come reduce segment after segment among
// themselves, and the last one's arrival decides how all finish.
#include <vector>

#include "hemiola/base/bulk_copy.hpp"
#include "hemiola/runtime/arrival/late_entry.hpp"
#include "hemiola/runtime/communicator/communicator.hpp"

namespace hemiola {

void Communicator::run_late(const Operation& operation, std::uint64_t number) {
  std::atomic<std::uint64_t>& word = connection_.late_cells->word_of(number);
  LateEntry entry(number, rank(), rank_count(), operation.late->segments());
  std::vector<std::shared_ptr<const Program>> programs;  // those of an operation must outlive it
  const Buffers in_place{operation.buffers.output, operation.buffers.output};
  const auto run = [&](std::shared_ptr<const Program> program) {
    if (programs.empty() && operation.buffers.input != operation.buffers.output)
      bulk_copy(operation.buffers.output, operation.buffers.input,
                static_cast<std::size_t>(program->bytes[static_cast<int>(Region::output)]));
    programs.push_back(std::move(program));
    engine_.run(*programs.back(), in_place, operation.arithmetic, &watch_);
  };
  while (entry.phase() != LateEntry::Phase::settled) {
    if (entry.phase() == LateEntry::Phase::waiting) {
      await([&] { return entry.step(word), entry.phase() != LateEntry::Phase::waiting; });
    } else if (entry.phase() == LateEntry::Phase::reducing) {
      run(operation.late->reduction(entry.late(), entry.segment()));
      entry.reduced_segment();
    } else {
      entry.step(word);
    }
  }
  if (entry.reduced() > 0)
    run(operation.late->finish(entry.late(), entry.reduced()));
  else
    engine_.run(*operation.program, operation.buffers, operation.arithmetic, &watch_);
}

}  // namespace hemiola
