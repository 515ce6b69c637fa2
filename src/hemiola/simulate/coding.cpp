#include "hemiola/simulate/coding.hpp"

#include <cmath>
#include <string>

#include "hemiola/base/error.hpp"
#include "hemiola/base/units.hpp"
#include "hemiola/simulate/slot_numbers.hpp"

namespace hemiola::simulation {
namespace {

constexpr Picoseconds kNotYet = -1;
constexpr double kValueBits = 32;
/// Messages over the limit that values and the entropy of their places set (docs/results/sparse.md).
constexpr double kOverLimit = 1.016;
constexpr double kMostShare = 0.97;

double checked(double bytes_per_second, const char* what) {
  if (!(bytes_per_second > 0))
    throw ArgumentError(std::string("simulate: expected a codec that can ") + what +
                        " more than 0 bytes per second, found " + std::to_string(bytes_per_second));
  return static_cast<double>(kSecond) / bytes_per_second;
}

}  // namespace

double share_of_plain(double density) {
  if (density >= 1) return 1;
  const double entropy = -density * std::log2(density) - (1 - density) * std::log2(1 - density);
  const double share = kOverLimit * (density + entropy / kValueBits);
  return share <= kMostShare ? share : 1;
}

Coding::Coding(const Scenario& scenario, double density, const CodecSpeeds& speeds)
    : scenario_(scenario),
      compress_ps_(checked(speeds.compress_Bps, "compress")),
      decompress_ps_(checked(speeds.decompress_Bps, "decompress")),
      add_ps_(checked(speeds.add_Bps, "add")) {
  if (density >= 1) return;
  const auto ranks = static_cast<std::size_t>(scenario.topology().rank_count());
  for (std::size_t k = 0; k <= ranks; ++k)
    share_of_.push_back(share_of_plain(1 - std::pow(1 - density, static_cast<double>(k))));
  follow_values();
  first_at_.assign(scenario.transfer_count(), kNotYet);
  encoded_at_ = first_at_;
  is_decoded_.assign(scenario.transfer_count(), 0);
  cores_.resize(ranks);
}

/// A value's coded form is made by the first transfer that carries it, or came with it as a copy; it is gone once the slot
/// is written. Every slot that is read holds a contribution at least.
void Coding::follow_values() {
  struct Value {
    std::uint32_t contributions = 1;
    TransferId encoder = kNoTransfer;
    bool is_coded = false;
  };
  const Schedule& schedule = scenario_.schedule();
  const TransferId count = scenario_.transfer_count();
  SlotNumbers numbers(schedule);
  std::vector<std::uint32_t> src_slot(count), dst_slot(count), carried(count);
  for (TransferId t = 0; t < count; ++t) {
    const RankPair pair = schedule.pair_of(t);
    src_slot[t] = numbers.of(pair.src, pair.src_slot, schedule.chunk_of(t));
    dst_slot[t] = numbers.of(pair.dst, pair.dst_slot, schedule.chunk_of(t));
  }
  std::vector<Value> slots(numbers.count());
  share_.resize(count);
  encoder_.resize(count);
  const auto steps = schedule.step_offset();
  for (std::size_t s = 0; s + 1 < steps.size(); ++s) {
    const auto begin = static_cast<TransferId>(steps[s]), end = static_cast<TransferId>(steps[s + 1]);
    for (TransferId t = begin; t < end; ++t) {
      Value& value = slots[src_slot[t]];
      carried[t] = value.contributions;
      share_[t] = scenario_.is_within_rank(t) ? 1 : static_cast<float>(share_of_[value.contributions]);
      if (!value.is_coded && share_[t] < 1) {
        value.is_coded = true;
        value.encoder = t;
      }
      encoder_[t] = share_[t] < 1 ? value.encoder : kNoTransfer;
    }
    for (TransferId t = begin; t < end; ++t) {
      Value& value = slots[dst_slot[t]];
      const std::uint32_t before = schedule.reduces(t) ? value.contributions : 0;
      const auto most = static_cast<std::uint32_t>(share_of_.size() - 1);
      const bool comes_coded = !schedule.reduces(t) && !scenario_.is_within_rank(t);
      value = {std::min(before + carried[t], most), kNoTransfer, comes_coded};
    }
  }
}

Picoseconds Coding::encode(TransferId t, Picoseconds now) {
  const TransferId encoder = encoder_[t];
  if (first_at_[encoder] == kNotYet) {
    Picoseconds& free_at = cores_[static_cast<std::size_t>(scenario_.src(encoder))].free_at;
    const Picoseconds start = std::max(now, free_at);
    first_at_[encoder] = within_limit(start + slice_time(encoder, compress_ps_));
    encoded_at_[encoder] = free_at = within_limit(start + core_time(encoder, compress_ps_));
  }
  return std::max(now, first_at_[encoder]);
}

/// What is encoded slice by slice comes no sooner than its last slice has been encoded.
Picoseconds Coding::decode(TransferId t, Picoseconds now) {
  if (is_off() || share_[t] == 1 || is_decoded_[t] != 0) return now;
  is_decoded_[t] = 1;
  const Picoseconds encoded =
      encoder_[t] == kNoTransfer ? 0 : encoded_at_[encoder_[t]] + scenario_.path_latency(t);
  const double ps = scenario_.schedule().reduces(t) ? add_ps_ : decompress_ps_;
  Picoseconds& free_at = cores_[static_cast<std::size_t>(scenario_.dst(t))].free_at;
  free_at = within_limit(std::max(std::max(now, encoded) + slice_time(t, ps), free_at + core_time(t, ps)));
  return free_at;
}

}  // namespace hemiola::simulation
