// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/wire/mpi/mpi_world.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "hemiola/base/error.hpp"
#include "hemiola/base/started_thread.hpp"
#include "hemiola/base/units.hpp"

namespace hemiola {
namespace {

/// How often MPI is called where nobody waits: soon after something was sent, and later.
constexpr auto kShortNap = std::chrono::milliseconds(1), kLongNap = std::chrono::milliseconds(10);
constexpr int kShortNaps = 100;
/// By which nothing is sent.
constexpr int kNobodysTag = 0;
constexpr std::size_t kMostBroadcast = std::size_t{64} << 10;

struct ProcessWorld {
  std::mutex mutex;
  std::optional<MpiPlace> place;
  std::shared_ptr<MpiWorld> world;
};
ProcessWorld& of_this_process() {
  static auto* const only = new ProcessWorld;  // never destroyed: MPI is finalized by `leave`, or not at all
  return *only;
}

/// Whether there is still something to wait for.
void check(const Deadline& deadline, const char* awaited) {
  deadline.check();
  if (deadline.passed())
    throw TimeoutError(std::string(awaited) + " has not come to its end within " +
                       format_seconds(deadline.seconds()) +
                       ": not all ranks of the job have come to hemiola.init");
}

}  // namespace

void MpiWorld::announce(MpiPlace place) {
  const std::lock_guard lock(of_this_process().mutex);
  of_this_process().place = std::move(place);
}

std::shared_ptr<MpiWorld> MpiWorld::of_process() {
  ProcessWorld& own = of_this_process();
  const std::lock_guard lock(own.mutex);
  if (own.world) own.world->home_.check();
  if (!own.place)
    throw ArgumentError(
        "the wire 'mpi' joins ranks that an MPI has started (mpirun, or srun where Slurm knows that MPI), "
        "and this one was "
        "started by something else; choose another wire (HEMIOLA_WIRE)");
  if (!own.world) own.world.reset(new MpiWorld(*own.place));
  return own.world;
}

MpiWorld::MpiWorld(const MpiPlace& place)
    : place_(place), library_(open_mpi_library(place.libraries)), lifetime_(library_) {
  if (library_->is_finalized())
    throw ArgumentError(library_->version() +
                        " has been finalized in this process, after which nothing can be sent by it");
}

MpiWorld::~MpiWorld() {
  stop();
}

void MpiWorld::enter(const Deadline& deadline) {
  const auto lock = meet_alone(deadline);
  if (!has_entered_) enter_now(deadline);
}

std::unique_lock<std::mutex> MpiWorld::meet_alone(const Deadline& deadline) {
  std::unique_lock lock(meeting_, std::defer_lock);
  for (Pause pause; !lock.try_lock(); pause.wait()) check(deadline, "another thread's meeting by MPI");
  return lock;
}

/// The work of a call that gave up goes on: MPI takes nothing back.
void MpiWorld::enter_now(const Deadline& deadline) {
  if (is_ours_ || !library_->is_initialized()) {
    is_ours_ = true;
    lifetime_.initialize(deadline);
  }
  check_place();
  if (!duplicating_) duplicating_ = library_->duplicate_world();
  wait_for(&*duplicating_, "MPI_Comm_idup", deadline);
  has_entered_ = true;
}

void MpiWorld::check_place() const {
  const int rank = library_->rank(), rank_count = library_->rank_count();
  if (rank == place_.rank && rank_count == place_.rank_count) return;
  throw ArgumentError(
      "expected MPI to know this process as rank " + std::to_string(place_.rank) + " of " +
      std::to_string(place_.rank_count) + ", as its launcher does, found rank " + std::to_string(rank) +
      " of " + std::to_string(rank_count) + " in " + library_->version() +
      ". Is it another MPI than the launcher's? Set HEMIOLA_MPI to the path of that one's library");
}

void MpiWorld::check_threads() const {
  if (library_->is_thread_safe()) return;
  throw ArgumentError(
      "the wire 'mpi' needs MPI_THREAD_MULTIPLE, and " + library_->version() +
      " has been initialized with less" +
      (is_ours_ ? ", as that is all it has: choose another wire (HEMIOLA_WIRE)"
                : ": initialize it with that level (MPI_Init_thread; mpi4py does by default), or call "
                  "hemiola.init first"));
}

void MpiWorld::wait_for(MpiTicket* ticket, const char* call, const Deadline& deadline) {
  for (Pause pause; !library_->is_over(ticket); pause.wait()) check(deadline, call);
}

Bytes MpiWorld::broadcast(Bytes bytes, const Deadline& deadline) {
  HEMIOLA_CHECK(bytes.size() <= kMostBroadcast, "too large a broadcast");
  const auto lock = meet_alone(deadline);
  if (broadcast_)
    throw ArgumentError(
        "ranks meet by a broadcast of MPI, the last one in this process did not come to its end, and MPI "
        "cannot "
        "take it back: start the job again");
  broadcast_ = std::make_unique<Broadcast>(bytes.size(), std::move(bytes));
  broadcast_->bytes.resize(kMostBroadcast);
  auto* const size = reinterpret_cast<std::byte*>(&broadcast_->size);
  broadcast_->ticket = library_->broadcast(size, sizeof broadcast_->size, 0);
  wait_for(&broadcast_->ticket, "MPI_Ibcast", deadline);
  broadcast_->ticket = library_->broadcast(broadcast_->bytes.data(), broadcast_->size, 0);
  wait_for(&broadcast_->ticket, "MPI_Ibcast", deadline);
  broadcast_->bytes.resize(broadcast_->size);
  return std::move(std::exchange(broadcast_, nullptr)->bytes);
}

int MpiWorld::new_tag() {
  const std::lock_guard lock(mutex_);
  return next_tag_++;
}

void MpiWorld::check_tag(int tag) const {
  const int largest = library_->largest_tag();
  if (tag <= largest) return;
  throw ArgumentError("no more than " + std::to_string(largest) + " communicators can be made over " +
                      library_->version() + ", which has no more tags");
}

void MpiWorld::finish(std::shared_ptr<MpiFramePool> pool, std::vector<MpiFrameInFlight> frames) {
  const std::lock_guard lock(mutex_);
  unfinished_.push_back({std::move(pool), std::move(frames)});
}

void MpiWorld::keep_moving() {
  const std::lock_guard lock(mutex_);
  if (!thread_.joinable()) thread_ = started_thread("messages over MPI", [this] { run(); });
}

void MpiWorld::run() {
  std::unique_lock lock(mutex_);
  for (int naps = 0; !is_over_;) {
    naps = is_active_.exchange(false, std::memory_order_relaxed) ? 0 : std::min(naps + 1, kShortNaps);
    changed_.wait_for(lock, naps < kShortNaps ? kShortNap : kLongNap);
    if (!is_over_) look_after_frames();
  }
}

void MpiWorld::look_after_frames() {
  try {
    if (library_->is_finalized()) {
      is_over_ = true;
      return;
    }
    library_->sender_of(kNobodysTag);
    for (Unfinished& each : unfinished_)
      std::erase_if(each.frames, [&](MpiFrameInFlight& sent) { return library_->is_over(&sent.ticket); });
    std::erase_if(unfinished_, [](const Unfinished& each) { return each.frames.empty(); });
  } catch (const MpiCallError&) {
    // For a process that is gone: a rank that waits for it learns the same, and says so.
  }
}

void MpiWorld::stop() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void MpiWorld::leave(bool all_is_well, const Deadline& deadline) {
  const std::lock_guard lock(of_this_process().mutex);
  const auto& world = of_this_process().world;
  if (!world || !world->home_.is_here()) return;
  world->stop();
  const bool is_alone = world->place_.rank_count == 1;  // and waits for nobody
  const bool is_due = is_alone || (all_is_well && !world->has_failed_.load(std::memory_order_relaxed));
  if (!world->has_entered_ || !world->is_ours_ || !is_due) return;
  if (!world->library_->is_finalized()) world->lifetime_.finalize(deadline);
}

}  // namespace hemiola
