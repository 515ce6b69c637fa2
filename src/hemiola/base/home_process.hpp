// SPDX-License-Identifier: Apache-2.0
// The process in which something was made. A forked child has a copy of it that lacks threads, shared memory
// and that process's partners: it must neither use the copy nor take it apart.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace hemiola {

class HomeProcess {
 public:
  HomeProcess();

  /// False in a forked child. Cheap enough for every call.
  bool is_here() const;
  /// Throws ArgumentError in a forked child.
  void check() const;

 private:
  std::uint64_t forks_;  ///< that lay between the first process and this
  pid_t process_;
};

}  // namespace hemiola
