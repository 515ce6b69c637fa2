// SPDX-License-Identifier: Apache-2.0
// Recognizes programs so short that the engine runs them without an account of their tasks.
#pragma once

#include <optional>

#include "hemiola/runtime/executor/program/program.hpp"

namespace hemiola {

/// The program's messages, where there is one at most in each direction and nothing else to do. Nothing of a program with
/// staged or coded messages, or with more tasks.
std::optional<Exchange> exchange_of(const Program& program);

}  // namespace hemiola
