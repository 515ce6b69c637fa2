// Watches over one operation of a communicator while its engine runs: who has come, whether all do the same, whether
// everybody is alive and in time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "hemiola/runtime/arrival/arrival_log.hpp"
#include "hemiola/runtime/arrival/board.hpp"
#include "hemiola/runtime/engine/engine.hpp"
#include "hemiola/runtime/rendezvous/local_session.hpp"

namespace hemiola {

/// The ranks of a communicator: their numbers in the session, in the order of their numbers here.
struct Members {
  std::shared_ptr<LocalSession> session;
  std::vector<Rank> ranks;
  Rank self{0};

  int count() const { return static_cast<int>(ranks.size()); }
};

class OperationWatch final : public Supervisor {
 public:
  OperationWatch(const Members* members, ArrivalBoard* board) : members_(members), board_(board) {}

  /// `interrupted` is called now and then and throws to abort; may be empty.
  void begin(std::uint64_t number, const Signature& signature, double timeout_s,
             const std::function<void()>& interrupted);

  bool admits(Rank peer) override;
  /// It is known by now that ranks disagree; `check` looks only at who lives.
  void stop_comparing() { unseen_.clear(); }
  /// Throws LostRankError or TimeoutError that names the rank; MismatchError, if comparing.
  void check() override;
  /// Looks at those not seen yet. Throws MismatchError.
  bool all_have_arrived();
  /// When each rank arrived; to be called once all have.
  void note_arrivals(ArrivalLog* log) const;

 private:
  void check_deaths() const;
  void check_surrender() const;
  void check_deadline() const;
  std::string operation() const;
  std::string absent_ranks() const;
  std::string stopped_ranks() const;

  const Members* members_;
  ArrivalBoard* board_;
  std::uint64_t number_ = 0;
  Signature signature_;
  double timeout_s_ = 0;
  std::int64_t begin_ns_ = 0;
  const std::function<void()>* interrupted_ = nullptr;
  std::vector<Rank> unseen_;
};

}  // namespace hemiola
