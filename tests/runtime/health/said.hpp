// SPDX-License-Identifier: Apache-2.0
// A gauge of ports for tests of what judges them.
#pragma once

#include <span>
#include <vector>

#include "hemiola/runtime/health/port_gauge.hpp"

namespace hemiola {

/// Says what it is told to say.
class Said final : public PortGauge {
 public:
  explicit Said(const std::vector<float>* shares) : shares_(shares), pairs_(shares->size() / 2) {}
  std::span<const float> shares() const override { return *shares_; }
  bool has_measured() const override { return true; }
  std::span<const PairShares> pairs() const override { return pairs_; }
  void clear() override {}

 private:
  const std::vector<float>* shares_;
  std::vector<PairShares> pairs_;
};

}  // namespace hemiola
