// What a matcher decides, in the order in which it decided: which chunk crosses which channel in which step. The rest of
// the folder turns such a list round, times it, and makes a Schedule of it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace hemiola::synthesis {

struct Sends {
  // One entry per send in each column. A channel carries at most one chunk in a step.
  std::vector<std::int32_t> step;
  std::vector<std::uint32_t> channel;
  std::vector<std::uint32_t> chunk;
  std::vector<bool> reduce;

  std::size_t size() const { return step.size(); }
  int step_count() const { return step.empty() ? 0 : *std::max_element(step.begin(), step.end()) + 1; }
  void add(std::int32_t in_step, std::uint32_t over, std::uint32_t what, bool reduces = false) {
    step.push_back(in_step);
    channel.push_back(over);
    chunk.push_back(what);
    reduce.push_back(reduces);
  }
  void reserve(std::size_t count) {
    step.reserve(count);
    channel.reserve(count);
    chunk.reserve(count);
    reduce.reserve(count);
  }
};

}  // namespace hemiola::synthesis
