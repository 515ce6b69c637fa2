// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/wire/mpi/mpi_lifetime.hpp"

#include <condition_variable>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "hemiola/base/started_thread.hpp"
#include "hemiola/base/units.hpp"

namespace hemiola {
namespace {

/// A waiting thread sleeps for so long at most, if its deadline asks for nothing in between.
constexpr int kLongestNap_ms = 100;

}  // namespace

struct MpiLifetime::Stay {
  std::shared_ptr<MpiLibrary> library;
  std::mutex mutex;  ///< guards the members below
  std::condition_variable changed;
  bool is_initialized = false, shall_finalize = false, is_finalized = false;
  std::exception_ptr error;  ///< of the call that has ended the thread
};

MpiLifetime::MpiLifetime(std::shared_ptr<MpiLibrary> library) : stay_(std::make_shared<Stay>()) {
  stay_->library = std::move(library);
}

void MpiLifetime::run(const std::shared_ptr<Stay>& stay) {
  const auto note = [&](bool Stay::* done) {
    const std::lock_guard lock(stay->mutex);
    (*stay).*done = true;
    stay->changed.notify_all();
  };
  try {
    stay->library->initialize();
    note(&Stay::is_initialized);
    {
      std::unique_lock lock(stay->mutex);
      stay->changed.wait(lock, [&] { return stay->shall_finalize; });
    }
    stay->library->finalize();
    note(&Stay::is_finalized);
  } catch (...) {
    const std::lock_guard lock(stay->mutex);
    stay->error = std::current_exception();
    stay->changed.notify_all();
  }
}

void MpiLifetime::initialize(const Deadline& deadline) {
  if (!has_begun_) started_thread("MPI_Init_thread", [stay = stay_] { run(stay); }).detach();
  has_begun_ = true;
  wait_for(&Stay::is_initialized, "MPI_Init_thread", deadline);
}

void MpiLifetime::finalize(const Deadline& deadline) {
  {
    const std::lock_guard lock(stay_->mutex);
    stay_->shall_finalize = true;
    stay_->changed.notify_all();
  }
  wait_for(&Stay::is_finalized, "MPI_Finalize", deadline);
}

void MpiLifetime::wait_for(bool Stay::* done, const char* call, const Deadline& deadline) {
  std::unique_lock lock(stay_->mutex);
  while (!((*stay_).*done)) {
    if (stay_->error) std::rethrow_exception(stay_->error);
    if (deadline.passed())
      throw TimeoutError(std::string(call) + " of " + stay_->library->version() +
                         " has not come to its end within " + format_seconds(deadline.seconds()) +
                         ": it waits for all ranks of the job, and not all have come to it");
    stay_->changed.wait_for(lock, std::chrono::milliseconds(deadline.milliseconds_left(kLongestNap_ms)));
    lock.unlock();
    deadline.check();
    lock.lock();
  }
}

}  // namespace hemiola
