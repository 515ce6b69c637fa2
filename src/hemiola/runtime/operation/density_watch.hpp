// What ranks have seen of zeros in calls whose messages may leave them out, call by call. All of them note the same of the
// same operations, in the same order, so they come to the same answer at every operation without a message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace hemiola {

/// What all ranks together have looked at before one operation.
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

/// Calls are told apart by what they sign. Used in operations' turns only.
class DensityWatch {
 public:
  /// Whether ranks look before the next operation of this signature.
  bool is_due(std::uint64_t call) const { return entry(call).left == 0; }
  /// What they saw when they last looked; 1 where they have not.
  double density(std::uint64_t call) const { return entry(call).density; }

  /// An operation has succeeded, on all ranks, in which they have looked; they look again in the `pause`-th after it, or
  /// when something hints at another density. `has_changed`: what they run; hints that change nothing are not heeded again
  /// before the next look.
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
  Entry entry(std::uint64_t call) const {
    const auto found = entries_.find(call);
    return found == entries_.end() ? Entry{} : found->second;
  }
  Entry& renewed(std::uint64_t call) {
    if (entries_.size() >= kMostCalls && !entries_.contains(call)) entries_.clear();
    return entries_[call];
  }

  std::map<std::uint64_t, Entry> entries_;
};

}  // namespace hemiola
