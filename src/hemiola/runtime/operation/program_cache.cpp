// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/operation/program_cache.hpp"

#include <algorithm>

namespace hemiola {

std::shared_ptr<const Program> ProgramCache::get(const ProgramSource& source, const Key& key) {
  const auto found = programs_.find(key);
  if (found != programs_.end()) {
    found->second.last_use = ++uses_;
    return found->second.program;
  }
  auto program = std::make_shared<const Program>(compile(source, key));
  tasks_ += program->tasks.size();
  programs_[key] = {source, program, ++uses_};
  make_room();
  return program;
}

Program ProgramCache::compile(const ProgramSource& source, const Key& key) const {
  CompileOptions options = common_;
  options.block_elements = key.block_elements;
  options.block_sizes = key.block_sizes;
  options.element_bytes = key.element_bytes;
  options.in_place = key.in_place;
  options.average = key.average;
  options.coding = key.coding;
  options.in_blocks = key.in_blocks;
  return source.compile(rank_, options);
}

void ProgramCache::make_room() {
  while (tasks_ > kMaxTasks && programs_.size() > 1) {
    const auto oldest =
        std::min_element(programs_.begin(), programs_.end(),
                         [](const auto& a, const auto& b) { return a.second.last_use < b.second.last_use; });
    tasks_ -= oldest->second.program->tasks.size();
    programs_.erase(oldest);
  }
}

}  // namespace hemiola
