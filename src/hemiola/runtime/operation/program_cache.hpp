// SPDX-License-Identifier: Apache-2.0
// Programs that have been compiled, so that repeating an operation costs a look-up.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "hemiola/runtime/operation/program_source.hpp"

namespace hemiola {

class ProgramCache {
 public:
  struct Key {
    const void* source = nullptr;  ///< its identity
    std::int64_t block_elements = 0;
    int element_bytes = 1;
    bool in_place = false;
    bool average = false;
    Coding coding = Coding::none;
    InBlocks in_blocks = {};
    std::vector<std::int64_t> block_sizes = {};  ///< where these differ
    friend auto operator<=>(const Key&, const Key&) = default;
  };

  /// `common`: the options that all programs of a communicator share.
  ProgramCache(Rank rank, CompileOptions common) : rank_(rank), common_(std::move(common)) {}

  /// Compiles on first use. Throws as `compile` does.
  std::shared_ptr<const Program> get(const ProgramSource& source, const Key& key);
  /// Compiles, and remembers nothing.
  Program compile(const ProgramSource& source, const Key& key) const;

 private:
  /// Tasks held in all; beyond it the least recently used programs go. About 100 bytes each.
  static constexpr std::size_t kMaxTasks = 4 << 20;

  struct Held {
    ProgramSource source;  ///< keeps the key's pointer from being used again
    std::shared_ptr<const Program> program;
    std::uint64_t last_use;
  };
  void make_room();

  Rank rank_;
  CompileOptions common_;
  std::map<Key, Held> programs_;
  std::uint64_t uses_ = 0;
  std::size_t tasks_ = 0;
};

}  // namespace hemiola
