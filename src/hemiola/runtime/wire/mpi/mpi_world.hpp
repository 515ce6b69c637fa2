// SPDX-License-Identifier: Apache-2.0
// The MPI that has started this process's job: one a process, opened when it is first asked for, with a communicator of
// its own. The one that initializes MPI also finalizes it: the program, or Hemiola if it comes first.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "hemiola/base/bytes.hpp"
#include "hemiola/base/deadline.hpp"
#include "hemiola/base/home_process.hpp"
#include "hemiola/base/index.hpp"
#include "hemiola/runtime/wire/mpi/mpi_frame.hpp"
#include "hemiola/runtime/wire/mpi/mpi_library.hpp"
#include "hemiola/runtime/wire/mpi/mpi_lifetime.hpp"

namespace hemiola {

/// The launcher's words about this process, and the paths of its MPI.
struct MpiPlace {
  Rank rank{0};
  int rank_count = 1;
  std::vector<std::string> libraries = {};  ///< paths or names, best first; unused where one is loaded
};

class MpiWorld {
 public:
  /// From now on this process is one that an MPI has started.
  static void announce(MpiPlace place);
  /// Of this process. The first call opens the library, which needs nobody else. Throws ArgumentError, also where nothing has
  /// been announced.
  static std::shared_ptr<MpiWorld> of_process();
  /// Ends the work of `of_process`: finalizes MPI if this process has initialized it through here and has entered, all
  /// is well, and no failure has been noted; or if it is the whole job. Throws TimeoutError; called again, it goes on
  /// waiting.
  static void leave(bool all_is_well, const Deadline& deadline);

  ~MpiWorld();
  MpiWorld(const MpiWorld&) = delete;

  /// Initializes MPI, unless somebody has. Collective over all processes of the job; at once, when called again. Throws
  /// ArgumentError where MPI knows this process by another rank, and TimeoutError, after which it may be called again.
  void enter(const Deadline& deadline);
  /// Throws ArgumentError where MPI does not let several threads call it, which wires need.
  void check_threads() const;

  /// Rank 0's bytes, on all. Collective. Throws TimeoutError, and ArgumentError after one that did not come to its end, as MPI
  /// cannot take one back.
  Bytes broadcast(Bytes bytes, const Deadline& deadline);

  MpiLibrary& library() { return *library_; }
  /// A tag that nothing else in this process receives by, ever.
  int new_tag();
  /// Throws ArgumentError where MPI does not have so many.
  void check_tag(int tag) const;
  /// Looks after frames until MPI has let go of them.
  void finish(std::shared_ptr<MpiFramePool> pool, std::vector<MpiFrameInFlight> frames);
  /// From now on MPI is called now and then, as its messages move only during calls.
  void keep_moving();
  /// Somebody may be missing, for whom MPI_Finalize would wait without an end.
  void note_failure() { has_failed_.store(true, std::memory_order_relaxed); }
  /// Something has been sent.
  void note_activity() { is_active_.store(true, std::memory_order_relaxed); }

 private:
  explicit MpiWorld(const MpiPlace& place);

  std::unique_lock<std::mutex> meet_alone(const Deadline& deadline);
  void enter_now(const Deadline& deadline);
  void check_place() const;
  void wait_for(MpiTicket* ticket, const char* call, const Deadline& deadline);
  void run();
  void look_after_frames();
  void stop();

  struct Unfinished {
    std::shared_ptr<MpiFramePool> pool;  ///< their owner
    std::vector<MpiFrameInFlight> frames;
  };

  /// The memory that MPI reads and writes until a broadcast is over.
  struct Broadcast {
    std::uint64_t size = 0;
    Bytes bytes;
    MpiTicket ticket{};
  };

  MpiPlace place_;
  HomeProcess home_;
  std::shared_ptr<MpiLibrary> library_;
  MpiLifetime lifetime_;
  std::mutex meeting_;    ///< guards the members below, down to has_entered_
  bool is_ours_ = false;  ///< to finalize
  std::optional<MpiTicket> duplicating_;
  std::unique_ptr<Broadcast> broadcast_;  ///< under way
  std::atomic<bool> has_entered_ = false;
  int next_tag_ = 1;  ///< 0 is nobody's

  std::mutex mutex_;  ///< guards the members below
  std::condition_variable changed_;
  std::vector<Unfinished> unfinished_;
  bool is_over_ = false;
  std::thread thread_;
  std::atomic<bool> is_active_ = false, has_failed_ = false;
};

}  // namespace hemiola
