// SPDX-License-Identifier: Apache-2.0
// MPI between MPI_Init_thread and MPI_Finalize, where Hemiola is the one that calls them. Both wait for other ranks,
// with neither a deadline nor an ear for interrupts, so a thread of ours is inside, and callers wait beside it.
#pragma once

#include <memory>

#include "hemiola/base/deadline.hpp"
#include "hemiola/runtime/wire/mpi/mpi_library.hpp"

namespace hemiola {

/// Not for several threads at once.
class MpiLifetime {
 public:
  explicit MpiLifetime(std::shared_ptr<MpiLibrary> library);

  /// Throws a TimeoutError, the errors of the deadline's check, and an MpiCallError. A begun call cannot be taken back:
  /// it goes on, also in a process that ends, and the next caller waits for the same.
  void initialize(const Deadline& deadline);
  /// By the thread that has initialized it, as MPI wants it. Throws as `initialize` does.
  void finalize(const Deadline& deadline);

 private:
  struct Stay;
  static void run(const std::shared_ptr<Stay>& stay);
  void wait_for(bool Stay::* done, const char* call, const Deadline& deadline);

  std::shared_ptr<Stay> stay_;  ///< shared with the thread, which may outlive this
  bool has_begun_ = false;
};

}  // namespace hemiola
