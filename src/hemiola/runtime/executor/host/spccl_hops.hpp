// Which messages of its ring [SpCCL, §4.3] compresses: the first, and those before which more was zero than a threshold, as far
// as the last compression has told or equation 7 says since. By what one rank knows of its own messages.
#pragma once

#include <cstddef>
#include <vector>

#include "hemiola/runtime/executor/program/program.hpp"
#include "hemiola/runtime/executor/program/spccl_thresholds.hpp"

namespace hemiola {

class SpcclHops {
 public:
  void begin() { known_.clear(); }

  /// Whether to compress a value that is sent for the first time.
  bool is_sparse(const CodedForm& form) const {
    return form.hop == 0 || 1 - expected(form) > form.dense_up_to;
  }
  /// It has been compressed; a share of so many of its elements is not zero.
  void note(const CodedForm& form, double density) { at(form.hop) = density; }
  /// It has not, so equation 7 stands for what is not known.
  void note_dense(const CodedForm& form) { at(form.hop) = spccl::filled(last(form), own()); }

 private:
  /// Slices share what is known: of each hop what the latest slice has told.
  double last(const CodedForm& form) const {
    const auto before = static_cast<std::size_t>(form.hop);
    return before == 0 || known_.empty() ? 1
                                         : known_[before < known_.size() ? before - 1 : known_.size() - 1];
  }
  double own() const { return known_.empty() ? 1 : known_.front(); }
  /// A hop of sums goes by what the one before was. Where sums are done, one rank's elements have been added since.
  double expected(const CodedForm& form) const {
    return form.is_added ? last(form) : spccl::filled(last(form), own());
  }
  double& at(std::int32_t hop) {
    if (known_.size() <= static_cast<std::size_t>(hop)) known_.resize(static_cast<std::size_t>(hop) + 1, 1);
    return known_[static_cast<std::size_t>(hop)];
  }

  std::vector<double> known_;  ///< densities, by hop
};

}  // namespace hemiola
