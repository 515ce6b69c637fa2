// SPDX-License-Identifier: Apache-2.0
// The errors that the core throws, and the check for our own bugs. Each message says what was expected, what was found,
// where, and what to do. The bindings turn each type into a Python exception of the same name.
#pragma once

#include <stdexcept>
#include <string>

namespace hemiola {

struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};
/// An argument is outside its legal range (Python: a ValueError).
struct ArgumentError : Error {
  using Error::Error;
};
/// A file or text is malformed; the message names line or offset (Python: a ValueError).
struct FormatError : Error {
  using Error::Error;
};
/// Ranks disagree about an operation: size, dtype, op, order or schedule (Python: a ValueError).
struct MismatchError : Error {
  using Error::Error;
};
/// A rank died while others needed it.
struct LostRankError : Error {
  using Error::Error;
};
/// A rank did not arrive in time.
struct TimeoutError : Error {
  using Error::Error;
};
/// The operations of a budget (base/interrupt.hpp) are used up.
struct BudgetSpentError : Error {
  using Error::Error;
};
/// A bug in Hemiola itself.
struct InternalError : Error {
  using Error::Error;
};

[[noreturn]] void fail_check(const char* condition, const char* file, int line, const std::string& message);

}  // namespace hemiola

/// Guards an invariant of our own; on in release builds, so keep it off the innermost loops.
#define HEMIOLA_CHECK(condition, message)                               \
  do {                                                                  \
    if (!(condition)) [[unlikely]]                                      \
      ::hemiola::fail_check(#condition, __FILE__, __LINE__, (message)); \
  } while (false)
