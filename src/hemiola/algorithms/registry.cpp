#include "hemiola/algorithms/registry.hpp"

#include <string>

#include "hemiola/algorithms/direct.hpp"
#include "hemiola/algorithms/recursive.hpp"
#include "hemiola/algorithms/ring.hpp"
#include "hemiola/base/error.hpp"

namespace hemiola::algorithms {
namespace {

std::vector<Algorithm> collect() {
  std::vector<Algorithm> all;
  for (const auto& family : {ring_algorithms(), direct_algorithms(), recursive_algorithms()})
    all.insert(all.end(), family.begin(), family.end());
  return all;
}

}  // namespace

const std::vector<Algorithm>& registry() {
  static const std::vector<Algorithm> all = collect();
  return all;
}

std::vector<std::string_view> names(std::optional<CollectiveKind> kind) {
  std::vector<std::string_view> found;
  for (const Algorithm& algorithm : registry())
    if (!kind || algorithm.kind == *kind) found.push_back(algorithm.name);
  return found;
}

const Algorithm& get(std::string_view name) {
  std::string known;
  for (const Algorithm& algorithm : registry()) {
    if (algorithm.name == name) return algorithm;
    known += (known.empty() ? "" : ", ") + std::string(algorithm.name);
  }
  throw ArgumentError("expected the name of an algorithm (" + known + "), found '" +
                      std::string(name.substr(0, 60)) + "'");
}

}  // namespace hemiola::algorithms
