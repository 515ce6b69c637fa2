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

  std::size_t size() const { return step.size(); }
  int step_count() const { return step.empty() ? 0 : *std::max_element(step.begin(), step.end()) + 1; }
  void add(std::int32_t s, std::uint32_t c, std::uint32_t k) {
    step.push_back(s);
    channel.push_back(c);
    chunk.push_back(k);
  }
  void reserve(std::size_t count) {
    step.reserve(count);
    channel.reserve(count);
    chunk.reserve(count);
  }
};

}  // namespace hemiola::synthesis
