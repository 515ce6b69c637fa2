// SPDX-License-Identifier: Apache-2.0
#include "hemiola/base/other_names.hpp"

#include <array>
#include <utility>

namespace hemiola {
namespace {

/// By MPI, NCCL and PyTorch.
constexpr std::array<std::pair<std::string_view, Op>, 9> kOthers{{{"avg", Op::average},
                                                                  {"mean", Op::average},
                                                                  {"prod", Op::product},
                                                                  {"band", Op::band},
                                                                  {"land", Op::band},
                                                                  {"bor", Op::bor},
                                                                  {"lor", Op::bor},
                                                                  {"bxor", Op::bxor},
                                                                  {"lxor", Op::bxor}}};

}  // namespace

std::string folded(std::string_view name) {
  std::string found;
  for (const char letter : name) {
    if ((letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9')) found += letter;
    if (letter >= 'A' && letter <= 'Z') found += static_cast<char>(letter - 'A' + 'a');
  }
  return found;
}

std::optional<Op> op_meant(std::string_view name) {
  if (const auto ours = op_named(name)) return ours;
  const std::string plain = folded(name);
  for (const auto& [other, op] : kOthers)
    if (other == plain) return op;
  return op_named(plain);
}

}  // namespace hemiola
