// SPDX-License-Identifier: Apache-2.0
// Whether two ranks do the same operation, and if not, the error that says so.
#pragma once

#include <cstdint>
#include <optional>

#include "hemiola/base/index.hpp"
#include "hemiola/runtime/control/roll.hpp"
#include "hemiola/runtime/session/members.hpp"
#include "hemiola/runtime/wire/wire.hpp"

namespace hemiola {

/// Throws MismatchError, naming both ranks and both values, unless `rank` has made this rank's statement about
/// operation `number`, and no complaint.
void check_agreement(std::uint64_t number, const Members& members, Rank rank, const Roll::Entry& said,
                     const Signature& own);

/// The tags on messages of a rank's operations. Keeps the latest digest, because most calls come again.
class Tags {
 public:
  OperationTag of(std::uint64_t number, const Signature& signature);

 private:
  std::optional<Signature::Common> latest_;
  std::uint64_t digest_ = 0;
};

}  // namespace hemiola
