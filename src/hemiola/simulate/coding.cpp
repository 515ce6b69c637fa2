// SPDX-License-Identifier: Apache-2.0
#include "hemiola/simulate/coding.hpp"

#include <cmath>
#include <string>

#include "hemiola/base/error.hpp"
#include "hemiola/base/heedful.hpp"
#include "hemiola/base/units.hpp"
#include "hemiola/simulate/slot_numbers.hpp"

namespace hemiola::simulation {
namespace {

constexpr Picoseconds kNotYet = -1;
constexpr double kValueBits = 32;
/// Messages over the limit that values and the entropy of their places set (docs/results/sparse.md).
constexpr double kOverLimit = 1.016;
constexpr double kMostShare = 0.97;
constexpr double kElementBytes = 4;
/// Of Pici, for each element: a bit, and 32 for every 4,096.
constexpr double kPiciBits = 1 + 1.0 / 128;

double checked(double bytes_per_second, const char* what) {
  if (!(bytes_per_second > 0))
    throw ArgumentError(std::string("simulate: expected a codec that can ") + what +
                        " more than 0 bytes per second, found " + std::to_string(bytes_per_second));
  return static_cast<double>(kSecond) / bytes_per_second;
}

double checked_s(double seconds, const char* what) {
  if (!(seconds >= 0))
    throw ArgumentError(std::string("simulate: expected a codec that takes 0 seconds or more to ") + what +
                        " a position, found " + std::to_string(seconds));
  return static_cast<double>(kSecond) * seconds;
}

double worthwhile(double share) {
  return share <= kMostShare ? share : 1;
}

/// Of `hier`: the bytes of the bitmap that are not zero, those of the bitmap that tells which these are, and of that a bit
/// for each byte.
double hier_bits(double density) {
  const double bytes = 1 - std::pow(1 - density, 8), of_bytes = 1 - std::pow(1 - density, 64);
  return bytes + of_bytes / 8 + 1.0 / 64;
}

/// Where no place is told by a number.
double bitmap_share(double density) {
  return worthwhile(density + std::min(kPiciBits, hier_bits(density)) / kValueBits);
}

}  // namespace

double share_of_plain(double density) {
  if (density >= 1) return 1;
  const double entropy = -density * std::log2(density) - (1 - density) * std::log2(1 - density);
  return worthwhile(kOverLimit * (density + entropy / kValueBits));
}

Coding::Coding(const Scenario& scenario, double density, const CodecSpeeds& speeds)
    : scenario_(scenario),
      compress_ps_(checked(speeds.compress_Bps, "compress")),
      decompress_ps_(checked(speeds.decompress_Bps, "decompress")),
      add_ps_(checked(speeds.add_Bps, "add")),
      position_compress_ps_(checked_s(speeds.position_compress_s, "compress")),
      position_decompress_ps_(checked_s(speeds.position_decompress_s, "decompress")) {
  if (density >= 1) return;
  const auto ranks = static_cast<std::size_t>(scenario.topology().rank_count());
  for (std::size_t k = 0; k <= ranks; ++k) {
    const double filled = 1 - std::pow(1 - density, static_cast<double>(k));
    const double positions = std::min(filled, 1 - filled) / kElementBytes;
    smallest_.push_back({static_cast<float>(share_of_plain(filled)), static_cast<float>(positions)});
    bitmap_.push_back({.share = static_cast<float>(bitmap_share(filled))});
  }
  follow_values();
  first_at_.assign(scenario.transfer_count(), kNotYet);
  encoded_at_ = first_at_;
  is_decoded_.assign(scenario.transfer_count(), 0);
  cores_.resize(ranks);
}

/// Link and cores work at the same time, so the larger counts, as in Encoder::fastest.
Coding::Form Coding::chosen_form(std::uint32_t contributions, TransferId t) const {
  const Form smallest = smallest_[contributions], bitmap = bitmap_[contributions];
  if (bitmap.share == 1) return smallest.share == 1 ? Form{} : smallest;
  double link_ps = 0;
  for (const int link : scenario_.path(t)) link_ps = std::max(link_ps, scenario_.ps_per_byte(link));
  const bool is_added = scenario_.schedule().reduces(t);
  const double core_ps = is_added ? compress_ps_ + add_ps_ : decompress_ps_;
  const double position_ps = position_decompress_ps_ + (is_added ? position_compress_ps_ : 0);
  const auto taken_ps = [&](const Form& form) {
    return std::max(form.share * link_ps, core_ps + form.positions * position_ps);
  };
  return taken_ps(bitmap) < taken_ps(smallest) ? bitmap : smallest;
}

/// A value's coded form is made by the first transfer that carries it, or came with it as a copy; it is gone once the slot
/// is written. Every slot that is read holds a contribution at least.
void Coding::follow_values() {
  struct Value {
    std::uint32_t contributions = 1;
    TransferId encoder = kNoTransfer;
    Form form = {};
    bool is_coded = false;
  };
  const Schedule& schedule = scenario_.schedule();
  const TransferId count = scenario_.transfer_count();
  SlotNumbers numbers(schedule);
  std::vector<std::uint32_t> src_slot(count), dst_slot(count), carried(count);
  for_heedful_blocks(count, [&](TransferId begin, TransferId end) {
    for (TransferId t = begin; t < end; ++t) {
      const RankPair pair = schedule.pair_of(t);
      src_slot[t] = numbers.of(pair.src, pair.src_slot, schedule.chunk_of(t));
      dst_slot[t] = numbers.of(pair.dst, pair.dst_slot, schedule.chunk_of(t));
    }
  });
  std::vector<Value> slots(numbers.count());
  share_.resize(count);
  positions_.resize(count);
  encoder_.resize(count);
  const auto read = [&](TransferId t) {
    Value& value = slots[src_slot[t]];
    carried[t] = value.contributions;
    if (!value.is_coded && !scenario_.is_within_rank(t)) {
      value.is_coded = true;
      value.form = chosen_form(value.contributions, t);
      value.encoder = t;
    }
    const Form form = scenario_.is_within_rank(t) ? Form{} : value.form;
    share_[t] = form.share;
    positions_[t] = form.positions;
    encoder_[t] = share_[t] < 1 ? value.encoder : kNoTransfer;
  };
  const auto write = [&](TransferId t) {
    Value& value = slots[dst_slot[t]];
    const std::uint32_t before = schedule.reduces(t) ? value.contributions : 0;
    const auto most = static_cast<std::uint32_t>(smallest_.size() - 1);
    const bool comes_coded = !schedule.reduces(t) && !scenario_.is_within_rank(t);
    value = {std::min(before + carried[t], most), kNoTransfer, {share_[t], positions_[t]}, comes_coded};
  };
  const auto steps = schedule.step_offset();
  for (std::size_t s = 0; s + 1 < steps.size(); ++s) {
    const auto first = static_cast<TransferId>(steps[s]), last = static_cast<TransferId>(steps[s + 1]);
    for_heedful_blocks(first, last, [&](TransferId begin, TransferId end) {
      for (TransferId t = begin; t < end; ++t) read(t);
    });
    for_heedful_blocks(first, last, [&](TransferId begin, TransferId end) {
      for (TransferId t = begin; t < end; ++t) write(t);
    });
  }
}

Picoseconds Coding::encode(TransferId t, Picoseconds now) {
  const TransferId encoder = encoder_[t];
  if (first_at_[encoder] == kNotYet) {
    Picoseconds& free_at = cores_[static_cast<std::size_t>(scenario_.src(encoder))].free_at;
    const Picoseconds start = std::max(now, free_at);
    first_at_[encoder] = within_limit(start + slice_time(encoder, compress_ps(encoder)));
    encoded_at_[encoder] = free_at = within_limit(start + core_time(encoder, compress_ps(encoder)));
  }
  return std::max(now, first_at_[encoder]);
}

/// A message that is encoded slice by slice comes no sooner than its last slice has been encoded.
Picoseconds Coding::decode(TransferId t, Picoseconds now) {
  if (is_off() || share_[t] == 1 || is_decoded_[t] != 0) return now;
  is_decoded_[t] = 1;
  const Picoseconds encoded =
      encoder_[t] == kNoTransfer ? 0 : encoded_at_[encoder_[t]] + scenario_.path_latency(t);
  const double ps = decompress_ps(t);
  Picoseconds& free_at = cores_[static_cast<std::size_t>(scenario_.dst(t))].free_at;
  free_at = within_limit(std::max(std::max(now, encoded) + slice_time(t, ps), free_at + core_time(t, ps)));
  return free_at;
}

}  // namespace hemiola::simulation
