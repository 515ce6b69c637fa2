// SPDX-License-Identifier: Apache-2.0
// A NIC of a host as other ranks see it: the addresses that lead there. A value.
#pragma once

#include <cstdint>
#include <vector>

#include "hemiola/runtime/net/endpoint.hpp"

namespace hemiola {

struct NicAddresses {
  std::vector<Endpoint> endpoints;  ///< by which it is reached, best first
  std::uint32_t speed = 1;          ///< beside the host's other NICs: in Mbit/s where the system knows it
};

}  // namespace hemiola
