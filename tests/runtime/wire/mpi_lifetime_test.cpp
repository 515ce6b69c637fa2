// SPDX-License-Identifier: Apache-2.0
// MPI's beginning and end, with a library whose calls wait until the test lets them go.
#include "hemiola/runtime/wire/mpi/mpi_lifetime.hpp"

#include <gtest/gtest.h>

#include <condition_variable>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

namespace hemiola {
namespace {

constexpr double kShort_s = 0.05, kAmple_s = 60;

/// Not for messages.
class HeldLibrary final : public MpiLibrary {
 public:
  /// The others have come, or will not.
  void let_go(const std::string& error = "") {
    const std::lock_guard lock(mutex_);
    ++let_go_;
    error_ = error;
    changed_.notify_all();
  }
  int calls() const {
    const std::lock_guard lock(mutex_);
    return calls_;
  }

  std::string version() const override { return "a held MPI"; }
  std::string path() const override { return ""; }
  bool is_initialized() const override { return calls() > 0; }
  bool is_finalized() const override { return calls() > 1; }
  void initialize() override {
    initialized_by_ = std::this_thread::get_id();
    hold(1);
  }
  void finalize() override {
    EXPECT_EQ(std::this_thread::get_id(), initialized_by_);
    hold(2);
  }
  bool is_thread_safe() const override { return true; }
  int rank() const override { return 0; }
  int rank_count() const override { return 1; }
  MpiTicket duplicate_world() override { return {}; }
  int largest_tag() const override { return 0; }
  MpiTicket broadcast(std::byte*, std::size_t, int) override { return {}; }
  MpiTicket send(const std::byte*, std::size_t, int, int) override { return {}; }
  std::optional<MpiMatch> match(int, int) override { return std::nullopt; }
  MpiTicket receive(MpiMatch, std::byte*) override { return {}; }
  std::optional<int> sender_of(int) override { return std::nullopt; }
  bool is_over(MpiTicket*) override { return true; }

 private:
  void hold(int until) {
    std::unique_lock lock(mutex_);
    ++calls_;
    changed_.wait(lock, [&] { return let_go_ >= until; });
    if (!error_.empty()) throw MpiCallError(error_);
  }

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::string error_;
  int let_go_ = 0, calls_ = 0;
  std::thread::id initialized_by_;
};

std::string told_by(MpiLifetime* lifetime, void (MpiLifetime::*call)(const Deadline&)) {
  try {
    (lifetime->*call)(Deadline(kShort_s));
  } catch (const TimeoutError& error) {
    return error.what();
  }
  return "";
}

TEST(MpiLifetime, says_what_it_has_waited_for_and_goes_on_waiting_for_the_same_call) {
  const auto library = std::make_shared<HeldLibrary>();
  MpiLifetime lifetime(library);
  const std::string limit = "of a held MPI has not come to its end within 50 ms";
  EXPECT_TRUE(told_by(&lifetime, &MpiLifetime::initialize).starts_with("MPI_Init_thread " + limit));
  library->let_go();
  lifetime.initialize(Deadline(kAmple_s));
  EXPECT_TRUE(told_by(&lifetime, &MpiLifetime::finalize).starts_with("MPI_Finalize " + limit));
  library->let_go();
  lifetime.finalize(Deadline(kAmple_s));
  EXPECT_EQ(library->calls(), 2);
}

TEST(MpiLifetime, hears_an_interrupt) {
  const auto library = std::make_shared<HeldLibrary>();
  MpiLifetime lifetime(library);
  const auto interrupt = [] { throw std::runtime_error("Ctrl-C"); };
  EXPECT_THROW(lifetime.initialize(Deadline(kAmple_s, interrupt)), std::runtime_error);
  const double forever = std::numeric_limits<double>::infinity();
  EXPECT_THROW(lifetime.initialize(Deadline(forever, interrupt)), std::runtime_error);
  library->let_go();
}

TEST(MpiLifetime, hands_on_what_mpi_says_also_to_who_asks_again) {
  const auto library = std::make_shared<HeldLibrary>();
  MpiLifetime lifetime(library);
  library->let_go("no network");
  for (int turn = 0; turn < 2; ++turn) EXPECT_THROW(lifetime.initialize(Deadline(kAmple_s)), MpiCallError);
  EXPECT_EQ(library->calls(), 1);
}

TEST(MpiLifetime, may_end_before_the_call_does) {
  const auto library = std::make_shared<HeldLibrary>();
  EXPECT_THROW(MpiLifetime(library).initialize(Deadline(kShort_s)), TimeoutError);
  library->let_go();
}

}  // namespace
}  // namespace hemiola
