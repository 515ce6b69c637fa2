#include "hemiola/runtime/engine/schedule_digest.hpp"

#include <cstring>
#include <span>

namespace hemiola {
namespace {

/// Four independent multiply-and-rotate chains, so that the columns are read at the speed of memory.
class Digest {
 public:
  template <typename T>
  void add(std::span<const T> column) {
    add_word(column.size());
    const auto* bytes = reinterpret_cast<const char*>(column.data());
    std::size_t left = column.size_bytes();
    for (; left >= 32; left -= 32, bytes += 32)
      for (int lane = 0; lane < 4; ++lane) mix(lane, load(bytes + 8 * lane, 8));
    for (; left > 0; left -= left < 8 ? left : 8, bytes += 8) mix(0, load(bytes, left < 8 ? left : 8));
  }
  void add_word(std::uint64_t word) { mix(1, word); }

  std::uint64_t finish() {
    std::uint64_t all = 0x9e3779b97f4a7c15ull;
    for (std::uint64_t chain : chains_) all = scramble(all ^ chain);
    return all == 0 ? 1 : all;
  }

 private:
  static std::uint64_t load(const char* bytes, std::size_t count) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes, count);
    return word;
  }
  static std::uint64_t scramble(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  void mix(int lane, std::uint64_t word) {
    std::uint64_t& chain = chains_[lane];
    chain = (chain ^ word) * 0xff51afd7ed558ccdull;
    chain ^= chain >> 29;
  }

  std::uint64_t chains_[4] = {1, 2, 3, 4};
};

}  // namespace

std::uint64_t digest_of(const Schedule& schedule) {
  Digest digest;
  const Collective& c = schedule.collective();
  for (std::int64_t number :
       {std::int64_t{static_cast<int>(c.kind())}, std::int64_t{c.rank_count()}, std::int64_t{c.chunk_count()},
        std::int64_t{c.root()}, std::int64_t{c.is_reducing()}})
    digest.add_word(static_cast<std::uint64_t>(number));
  digest.add(std::span<const Rank>(c.owner()));
  for (const auto* places : {&c.before(), &c.after()}) {
    digest.add_word(places->size());
    for (const auto& [rank, chunk] : *places)
      digest.add_word(static_cast<std::uint64_t>(rank) << 32 | static_cast<std::uint32_t>(chunk));
  }
  digest.add(std::span<const std::int64_t>(schedule.chunk_weights()));
  digest.add(schedule.step_offset());
  digest.add(schedule.link());
  digest.add(schedule.chunk());
  digest.add(schedule.reduce_words());
  digest.add(schedule.pairs());
  return digest.finish();
}

}  // namespace hemiola
