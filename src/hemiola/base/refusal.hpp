/// What to say where the system refuses something: the reason, which limit it is, and how to lift it.
#pragma once

#include <string>

namespace hemiola {

/// "WHAT: REASON. LIMIT AND ADVICE", for an error number.
std::string refusal(const std::string& what, int error);

}  // namespace hemiola
