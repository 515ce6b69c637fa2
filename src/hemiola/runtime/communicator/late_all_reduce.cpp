// An all-reduce in which nobody knows who is late: the first n-1 ranks to come reduce segment after segment among
// themselves, and the last one's arrival decides how all finish.
#include <vector>

#include "hemiola/base/bulk_copy.hpp"
#include "hemiola/runtime/arrival/late_entry.hpp"
#include "hemiola/runtime/communicator/communicator.hpp"

namespace hemiola {

void Communicator::run_late(const Operation& operation, std::uint64_t number) {
  if (!connection_.late_client) {
    std::atomic<std::uint64_t>& word = connection_.late_cells->word_of(number);
    return run_late(operation, number, word, [&](LateEntry& entry) {
      await([&] { return entry.step(word), entry.phase() != LateEntry::Phase::waiting; });
    });
  }
  LateClient::Cell cell(connection_.late_client.get(), number, [this] { watch_.check(); });
  run_late(operation, number, cell, [&](LateEntry& entry) {
    cell.await_arrivals(rank_count() - 1);
    entry.step(cell);
  });
}

/// `wait`: until n-1 ranks have come.
template <typename Cell, typename Wait>
void Communicator::run_late(const Operation& operation, std::uint64_t number, Cell& cell, Wait wait) {
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
      wait(entry);
    } else if (entry.phase() == LateEntry::Phase::reducing) {
      run(operation.late->reduction(entry.late(), entry.segment()));
      entry.reduced_segment();
    } else {
      entry.step(cell);
    }
  }
  if (entry.reduced() > 0)
    run(operation.late->finish(entry.late(), entry.reduced()));
  else
    engine_.run(*operation.program, operation.buffers, operation.arithmetic, &watch_);
}

}  // namespace hemiola
