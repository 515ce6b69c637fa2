// SPDX-License-Identifier: Apache-2.0
// Bounds by lengths. Give each edge of a network any length: then all data has so far to go at least, while
// edges carry no more than their bandwidths times their lengths. A cut is the case of 1 across and 0
// elsewhere. Of all lengths the best are the dual of a linear program; this searches for them.
#pragma once

#include <cstddef>
#include <vector>

namespace hemiola::bounds {

/// Multiplicative weights: all goes by the shortest ways, and edges that have carried much for their bandwidth grow longer.
/// The mean of the lengths tends to the best.
class LengthSearch {
 public:
  explicit LengthSearch(std::vector<double> Bps);
  virtual ~LengthSearch() = default;
  LengthSearch(const LengthSearch&) = delete;
  LengthSearch& operator=(const LengthSearch&) = delete;

  /// Seconds that all takes at least. Ends after so many rounds, and as soon as `known_s` or the found bound
  /// cannot be raised by half a hundredth.
  double most_seconds(int rounds, double known_s);

 protected:
  /// Sends all by the shortest ways: adds to `carried`, per edge, the bytes on it, and returns bytes times lengths.
  virtual double send(const std::vector<double>& length, std::vector<double>* carried) = 0;

 private:
  void prove(const std::vector<double>& weight);

  std::vector<double> Bps_, length_, carried_;
  double best_s_ = 0;
};

}  // namespace hemiola::bounds
