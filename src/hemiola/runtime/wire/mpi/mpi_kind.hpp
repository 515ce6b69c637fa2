// SPDX-License-Identifier: Apache-2.0
// Joins ranks by the MPI that has started them.
#pragma once

#include <memory>
#include <string>

#include "hemiola/runtime/wire/mpi/mpi_world.hpp"
#include "hemiola/runtime/wire/wire_kind.hpp"

namespace hemiola {

class MpiKind final : public WireKind {
 public:
  explicit MpiKind(std::shared_ptr<MpiWorld> world) : world_(std::move(world)) {}

  std::string name() const override { return "mpi"; }
  bool reaches(const Session&, Rank) const override { return true; }
  Bytes card(const Members& members) override;
  /// The first of a process initializes MPI, where nobody has, for which all ranks of the job must come.
  std::unique_ptr<Wire> connect(const Members& members, std::span<const Bytes> cards,
                                const Deadline& deadline) override;

 private:
  std::shared_ptr<MpiWorld> world_;
  std::int32_t tag_ = 0;  ///< on the last card
};

}  // namespace hemiola
