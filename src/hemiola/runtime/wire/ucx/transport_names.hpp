// SPDX-License-Identifier: Apache-2.0
// Names of UCX's transports: in its descriptions of a context or an endpoint, since 1.13 names them in no other way,
// and in its settings.
#pragma once

#include <cstdio>
#include <functional>
#include <string>
#include <vector>

namespace hemiola {

/// As "tcp/eth0", each once, in the order in which `print` names them.
std::vector<std::string> transport_names(const std::function<void(std::FILE*)>& print);

/// Whether one moves data by the network card, past the processor: InfiniBand, RoCE, EFA.
bool is_rdma(const std::string& transport);

/// The value of UCX_TLS in the settings that `print` prints; "all" where it is not among them.
std::string transports_set(const std::function<void(std::FILE*)>& print);

/// A value of UCX_TLS without CMA, unless that is asked for by its own name. Of the transports behind "shm", memory of
/// POSIX and of System V is left.
std::string without_cma(const std::string& transports);

}  // namespace hemiola
