// Counts landings, tells whoever watches, and makes sure that in the end everything has landed.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "hemiola/base/error.hpp"

namespace hemiola::simulation {

class ProgressMeter {
 public:
  ProgressMeter(std::int64_t total, const std::function<void(std::int64_t, std::int64_t)>& progress)
      : total_(total), progress_(progress) {}

  void count_landing() {
    if ((++landed_ & (kInterval - 1)) == 0 && progress_) [[unlikely]]
      progress_(landed_, total_);
  }

  void check_complete() const {
    HEMIOLA_CHECK(landed_ == total_, "simulate: " + std::to_string(total_ - landed_) + " of " +
                                         std::to_string(total_) + " transfers never landed");
  }

 private:
  static constexpr std::int64_t kInterval = 1 << 15;

  std::int64_t total_;
  std::int64_t landed_ = 0;
  const std::function<void(std::int64_t, std::int64_t)>& progress_;
};

}  // namespace hemiola::simulation
