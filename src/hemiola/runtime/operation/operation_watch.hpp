// SPDX-License-Identifier: Apache-2.0
// Watches over one operation of a communicator while its engine runs: its arrivals, its agreement, and the life and
// punctuality of all ranks.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "hemiola/base/since.hpp"
#include "hemiola/runtime/adaptation/arrival_log.hpp"
#include "hemiola/runtime/control/pulse.hpp"
#include "hemiola/runtime/control/roll.hpp"
#include "hemiola/runtime/executor/supervisor.hpp"
#include "hemiola/runtime/operation/callers.hpp"
#include "hemiola/runtime/session/members.hpp"
#include "hemiola/runtime/wire/wire.hpp"

namespace hemiola {

class OperationWatch final : public Supervisor {
 public:
  /// All four outlive this.
  OperationWatch(const Members* members, Roll* roll, Pulse* pulse, const Wire* wire)
      : members_(members), roll_(roll), pulse_(pulse), wire_(wire) {}

  /// `interrupted` is called now and then and throws to abort; may be empty. `now_ns`: by the session's clock.
  void begin(std::uint64_t number, const Signature& signature, double timeout_s,
             const std::function<void()>& interrupted, std::int64_t now_ns);

  /// The next operations run in the background of these, which outlive them; null: their caller waits in them.
  void run_beside(const Callers* callers) { beside_ = callers; }

  /// Throws LostRankError where a rank has aborted the communicator: an operation that never waits, since all that it needs
  /// is there, asks nobody else.
  void heed_aborts() const;
  bool admits(Rank peer) override;
  /// It is known by now that ranks disagree; `check` looks only for lost ranks.
  void stop_comparing() {
    unseen_.clear();
    compares_ = false;
  }
  /// Throws LostRankError or TimeoutError that names the rank; if comparing, MismatchError and BadMessageError.
  void check() override;
  bool is_awaited() const override { return beside_ == nullptr || beside_->any_waits(); }
  /// This rank's part is done. If messages carry digests of the operation, and all ranks depend on all, that proves
  /// that all have come and agree. Otherwise ranks vote. `awaits_words`: all ranks have asked for the others' arrivals,
  /// so words will tell.
  void conclude(bool awaits_words);
  /// Looks at those not seen yet. Throws MismatchError.
  bool all_have_arrived();
  /// When each rank arrived; to be called once all have. False: nobody has been told.
  bool note_arrivals(ArrivalLog* log) const;
  /// Whether a rank has called for the next members; to be asked once the operation is over. The same on all ranks,
  /// whichever way each has learnt that all have come.
  bool is_called() const;

 private:
  bool messages_tell() const;
  void seek_words();
  void check_messages() const;
  void check_causes();
  std::optional<Cause> surrendered_over();
  void check_wire();
  std::int64_t last_sign_ns(Rank rank) const;
  [[noreturn]] void fail_for(const Cause& cause) const;
  void check_deadline() const;
  std::string operation() const;
  std::vector<Rank> absent_ranks() const;
  std::vector<Rank> stopped_ranks() const;
  std::string names_of(const std::vector<Rank>& ranks) const;

  const Members* members_;
  Roll* roll_;
  Pulse* pulse_;
  const Wire* wire_;
  const Callers* beside_ = nullptr;
  std::uint64_t number_ = 0;
  Signature signature_;
  double timeout_s_ = 0;
  std::int64_t begin_ns_ = 0;
  const std::function<void()>* interrupted_ = nullptr;
  std::vector<Rank> unseen_;
  bool compares_ = true;
  bool has_called_ = false;  ///< for the words of all
  Since wire_lost_;          ///< the wire has lost somebody
  Since given_up_after_;     ///< somebody has given up who was through with the operation
};

}  // namespace hemiola
