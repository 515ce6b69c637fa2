// SPDX-License-Identifier: Apache-2.0
// A schedule's messages where they leave zeros out: the share of its plain bytes that each carries, and its
// time on the cores of its two ends. The elements that are not zero are as likely anywhere, and on every rank
// by themselves; elements have 4 bytes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "hemiola/simulate/codec_speeds.hpp"
#include "hemiola/simulate/scenario.hpp"

namespace hemiola::simulation {

class Coding {
 public:
  explicit Coding(const Scenario& scenario, double density, const CodecSpeeds& speeds);

  bool is_off() const { return share_.empty(); }
  /// The share of t's plain bytes that it carries; 1 where it goes plain.
  double share(TransferId t) const { return is_off() ? 1.0 : static_cast<double>(share_[t]); }
  /// Whether t has to be encoded before it goes, by itself or another of the same value.
  bool waits_for_encoding(TransferId t) const { return !is_off() && encoder_[t] != kNoTransfer; }
  /// The value that t reads is there: returns when its first slice is encoded. Values are asked for in the order of time.
  Picoseconds encode(TransferId t, Picoseconds now);
  /// The last byte of t has come: returns when it is decoded (and added); the first time only, later `now`.
  Picoseconds decode(TransferId t, Picoseconds now);

 private:
  /// A core takes one thing after the other.
  struct Core {
    Picoseconds free_at = 0;
  };
  /// A message's time for each of its plain bytes.
  struct Form {
    float share = 1;      ///< bytes
    float positions = 0;  ///< places told by numbers
  };
  Picoseconds core_time(TransferId t, double ps_per_byte) const {
    return static_cast<Picoseconds>(scenario_.bytes(t) * ps_per_byte + 0.5);
  }
  /// Of t's first slice, which goes while the next one is encoded, or comes before it.
  Picoseconds slice_time(TransferId t, double ps_per_byte) const {
    return static_cast<Picoseconds>(std::min(scenario_.bytes(t), kSliceBytes) * ps_per_byte + 0.5);
  }
  double compress_ps(TransferId t) const { return compress_ps_ + positions_[t] * position_compress_ps_; }
  double decompress_ps(TransferId t) const {
    return (scenario_.schedule().reduces(t) ? add_ps_ : decompress_ps_) +
           positions_[t] * position_decompress_ps_;
  }
  Form chosen_form(std::uint32_t contributions, TransferId t) const;
  void follow_values();

  static constexpr double kSliceBytes = 1 << 20;  ///< as the runtime cuts them

  const Scenario& scenario_;
  double compress_ps_, decompress_ps_, add_ps_;           ///< per byte
  double position_compress_ps_, position_decompress_ps_;  ///< per place
  std::vector<Form> smallest_, bitmap_;                   ///< by the number of contributions, from 0
  std::vector<float> share_;                              ///< per transfer; empty: all data go plain
  std::vector<float> positions_;                          ///< per transfer
  /// Per transfer: the one that encodes its content; kNoTransfer: as it came
  std::vector<TransferId> encoder_;
  std::vector<Picoseconds> first_at_, encoded_at_;  ///< per transfer that encodes; kNotYet
  std::vector<std::uint8_t> is_decoded_;
  std::vector<Core> cores_;
};

/// The size of a message over its plain bytes, where a share of its elements is not zero; 1 where that saves
/// less than 3 %.
double share_of_plain(double density);

}  // namespace hemiola::simulation
