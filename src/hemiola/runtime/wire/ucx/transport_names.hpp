// Names of UCX's transports: in what it prints about a context or an endpoint, since 1.13 tells of them in no other way, and in what it
// is told to use.
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

/// What UCX_TLS is in the settings that `print` prints; "all" where it is not among them.
std::string transports_set(const std::function<void(std::FILE*)>& print);

/// A value of UCX_TLS without CMA, unless that is asked for by its own name. Of what "shm" stands for are left memory of POSIX and
/// of System V.
std::string without_cma(const std::string& transports);

}  // namespace hemiola
