// SPDX-License-Identifier: Apache-2.0
// The error of a rank and a peer that cannot encrypt what they say to each other.
#pragma once

#include "hemiola/base/error.hpp"

namespace hemiola {

/// A peer does not encrypt as this rank does, or one does not accept the other's certificate.
struct EncryptionError : Error {
  using Error::Error;
};

}  // namespace hemiola
