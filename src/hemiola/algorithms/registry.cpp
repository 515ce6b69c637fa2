#include "hemiola/algorithms/registry.hpp"

#include <string>

#include "hemiola/algorithms/all_to_all.hpp"
#include "hemiola/algorithms/binomial.hpp"
#include "hemiola/algorithms/bruck.hpp"
#include "hemiola/algorithms/chain.hpp"
#include "hemiola/algorithms/circulant_pipeline.hpp"
#include "hemiola/algorithms/conditional_algorithms.hpp"
#include "hemiola/algorithms/direct.hpp"
#include "hemiola/algorithms/double_binary_tree.hpp"
#include "hemiola/algorithms/flat_tree.hpp"
#include "hemiola/algorithms/recursive.hpp"
#include "hemiola/algorithms/ring.hpp"
#include "hemiola/algorithms/scatter_all_gather.hpp"
#include "hemiola/base/error.hpp"

namespace hemiola::algorithms {
namespace {

std::vector<Algorithm> collect() {
  std::vector<Algorithm> all;
  for (const auto& family :
       {ring_algorithms(), direct_algorithms(), recursive_algorithms(), bruck_algorithms(),
        double_binary_tree_algorithms(), binomial_algorithms(), chain_algorithms(),
        circulant_pipeline_algorithms(), scatter_all_gather_algorithms(), flat_tree_algorithms(),
        all_to_all_algorithms(), conditional_algorithms()})
    all.insert(all.end(), family.begin(), family.end());
  return all;
}

}  // namespace

const std::vector<Algorithm>& registry() {
  static const std::vector<Algorithm> all = collect();
  return all;
}

std::vector<std::string_view> names(std::optional<CollectiveKind> kind, Needs needs) {
  std::vector<std::string_view> found;
  for (const Algorithm& algorithm : registry())
    if (algorithm.needs == needs && (!kind || algorithm.kind == *kind)) found.push_back(algorithm.name);
  return found;
}

const Algorithm& get(std::string_view name) {
  for (const Algorithm& algorithm : registry())
    if (algorithm.name == name) return algorithm;
  throw ArgumentError("expected the name of an algorithm, one of those in docs/algorithms.md, found '" +
                      std::string(name.substr(0, 60)) + "'");
}

}  // namespace hemiola::algorithms
