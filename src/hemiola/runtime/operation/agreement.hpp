// Whether two ranks do the same operation, and if not, what to say about it.
#pragma once

#include <cstdint>

#include "hemiola/base/index.hpp"
#include "hemiola/runtime/control/roll.hpp"
#include "hemiola/runtime/session/members.hpp"
#include "hemiola/runtime/wire/wire.hpp"

namespace hemiola {

/// Throws MismatchError, naming both ranks and both values, unless what `rank` has said about operation `number` is what
/// this rank says, and no complaint.
void check_agreement(std::uint64_t number, const Members& members, Rank rank, const Roll::Entry& said,
                     const Signature& own);

/// What messages of operation `number` carry for a rank that says this.
OperationTag tag_of(std::uint64_t number, const Signature& signature);

}  // namespace hemiola
