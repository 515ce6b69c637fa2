// An all-reduce that runs a schedule for the rank that is expected to come last, or for nobody, and notes who did.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "hemiola/runtime/late/late_habits.hpp"
#include "hemiola/runtime/operation/operation.hpp"

namespace hemiola {

/// For whom an all-reduce was planned, and who is told what it saw.
struct LateExpectation {
  LateRank late;
  LateOutlook outlook;
  LateHabits* habits = nullptr;  ///< of the communicator
  std::int64_t bytes = 0;        ///< of the whole buffer
};

class LatePlanned final : public Operation {
 public:
  LatePlanned(std::unique_ptr<Operation> planned, const LateExpectation& expectation)
      : planned_(std::move(planned)), expectation_(expectation) {}

  Signature signature() const override { return planned_->signature(); }
  void execute(const Stage& stage) override { planned_->execute(stage); }
  void succeeded() override { planned_->succeeded(); }
  bool wants_arrivals() const override { return true; }
  /// Operations are planned when they are called, which may be long before their turn.
  bool is_outdated() const override {
    return expectation_.habits->expected(expectation_.bytes) != expectation_.late;
  }
  /// Outlooks are of messages that carry all: nobody is expected as long as they leave zeros out.
  void note_arrivals(const ArrivalLog& log) override {
    const LastArrival last = planned_->sends_all() ? log.latest_last() : LastArrival{};
    expectation_.habits->note(expectation_.bytes, last.rank, static_cast<double>(last.lag_ns) * 1e-9,
                              expectation_.outlook);
  }

 private:
  std::unique_ptr<Operation> planned_;
  LateExpectation expectation_;
};

}  // namespace hemiola
