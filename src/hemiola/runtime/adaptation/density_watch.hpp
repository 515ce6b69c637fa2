// SPDX-License-Identifier: Apache-2.0
// The zeros that ranks have seen in calls whose messages may leave them out, call by call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>

#include "hemiola/base/hash.hpp"
#include "hemiola/runtime/adaptation/learner.hpp"

namespace hemiola {

/// The elements at which all ranks together have looked before one operation.
struct SeenZeros {
  std::int64_t zeros = 0;
  std::int64_t elements = 0;     ///< 0: nobody brings any
  std::int64_t dense_ranks = 0;  ///< those of whose elements next to none is zero

  /// The share of elements that are not zero. A sum is dense where one of its terms is.
  double density(bool is_summed) const {
    if (elements == 0 || (is_summed && dense_ranks > 0)) return 1;
    return 1 - static_cast<double>(zeros) / static_cast<double>(elements);
  }
};

/// Signatures tell calls apart, independent of their schedules.
class DensityWatch final : public Learner {
 public:
  bool note(const Note& note) override {
    if (!note.zeros) return false;
    const std::uint64_t call = call_of(note.signature);
    const std::lock_guard lock(mutex_);
    const Entry before = entry(call);
    const bool forgets_others = entries_.size() >= kMostCalls && !entries_.contains(call);
    const ZerosNote& zeros = *note.zeros;
    if (zeros.density)
      note_look(call, *zeros.density, zeros.pause, zeros.has_changed);
    else
      this->note(call, zeros.is_hinted);
    const bool stays = is_due(call) == (before.left == 0) && density(call) == before.density;
    return forgets_others || !stays;
  }
  void find(const Signature& call, Findings* found) const override {
    if (call.sparse == SparseMode::no) return;
    const std::lock_guard lock(mutex_);
    const Entry known = entry(call_of(call));
    found->looks = known.left == 0;
    found->density = known.density;
  }

  /// Whether ranks look before the next operation of this signature.
  bool is_due(std::uint64_t call) const { return entry(call).left == 0; }
  /// The density at their latest look; 1 before any look.
  double density(std::uint64_t call) const { return entry(call).density; }

  /// An operation has succeeded, on all ranks, in which they have looked; they look again in the `pause`-th after it,
  /// or when a message hints at another density. `has_changed`: another program runs from now on; hints that change
  /// nothing are not heeded again before the next look.
  void note_look(std::uint64_t call, double density, int pause, bool has_changed) {
    Entry& renewed_entry = renewed(call);
    renewed_entry = {density, pause - 1, has_changed || !renewed_entry.is_hinted, false};
  }
  /// The same where they have not. `is_hinted`: in it something hinted at another density, on all ranks.
  void note(std::uint64_t call, bool is_hinted) {
    Entry& entry = renewed(call);
    entry.is_hinted = is_hinted && entry.heeds_hints;
    entry.left = entry.is_hinted ? 0 : entry.left - 1;
  }

 private:
  static constexpr std::size_t kMostCalls = 4096;

  struct Entry {
    double density = 1;
    int left = 0;  ///< operations until the next look
    bool heeds_hints = true;
    bool is_hinted = false;  ///< by the latest operation
  };
  static std::uint64_t call_of(const Signature& signature) {
    Signature::Common common = signature.common();
    common.schedule_digest = 0;
    return hash64(std::as_bytes(std::span(&common, 1)));
  }
  Entry entry(std::uint64_t call) const {
    const auto found = entries_.find(call);
    return found == entries_.end() ? Entry{} : found->second;
  }
  Entry& renewed(std::uint64_t call) {
    if (entries_.size() >= kMostCalls && !entries_.contains(call)) entries_.clear();
    return entries_[call];
  }

  mutable std::mutex mutex_;  ///< guards the rest, for the learner
  std::map<std::uint64_t, Entry> entries_;
};

}  // namespace hemiola
