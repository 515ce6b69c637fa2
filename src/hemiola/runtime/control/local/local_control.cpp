// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/control/local/local_control.hpp"

#include "hemiola/base/error.hpp"
#include "hemiola/runtime/control/local/local_choices.hpp"
#include "hemiola/runtime/control/local/local_figures.hpp"
#include "hemiola/runtime/control/local/local_late_register.hpp"
#include "hemiola/runtime/control/local/local_pulse.hpp"
#include "hemiola/runtime/control/local/local_roll.hpp"

namespace hemiola {
namespace {

/// Hands out a region piece by piece, in whole pages.
class Pieces {
 public:
  explicit Pieces(std::span<std::byte> region) : left_(region) {}
  std::span<std::byte> next(std::size_t bytes) {
    const std::span<std::byte> piece = left_.first(Ground::bytes_of_piece(bytes));
    left_ = left_.subspan(piece.size());
    return piece;
  }

 private:
  std::span<std::byte> left_;
};

}  // namespace

std::size_t LocalControl::ground_bytes(const Members& members) const {
  const int ranks = members.count();
  std::size_t bytes = 0;
  for (std::size_t part :
       {LocalRoll::region_bytes(ranks), LocalPulse::region_bytes(ranks), LocalLateRegister::region_bytes(),
        LocalFigures::region_bytes(ranks), LocalChoices::region_bytes()})
    bytes += Ground::bytes_of_piece(part);
  return bytes;
}

Control LocalControl::connect(const Members& members, const Deadline& deadline) const {
  const int ranks = members.count();
  const std::shared_ptr<SharedRegion> region = members.shared(ground_bytes(members), deadline);
  if (!region)
    throw ArgumentError(
        "the control plane 'local' needs memory that all ranks share, and these ranks have none");
  Pieces pieces(region->bytes());
  const Session* clock = members.session.get();
  Control control;
  control.ground = region;
  control.roll =
      std::make_unique<LocalRoll>(pieces.next(LocalRoll::region_bytes(ranks)), members.self, ranks);
  control.pulse =
      std::make_unique<LocalPulse>(pieces.next(LocalPulse::region_bytes(ranks)), members.self, ranks, clock);
  control.late = std::make_unique<LocalLateRegister>(pieces.next(LocalLateRegister::region_bytes()));
  control.figures =
      std::make_unique<LocalFigures>(pieces.next(LocalFigures::region_bytes(ranks)), members.self, ranks);
  control.choices = std::make_unique<LocalChoices>(pieces.next(LocalChoices::region_bytes()), members.self,
                                                   members.count());
  return control;
}

}  // namespace hemiola
