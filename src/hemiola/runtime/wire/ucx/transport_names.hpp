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

/// What UCX_TLS says, or null where it is not set, without CMA, unless that is asked for by its own name.
std::string without_cma(const char* transports);

}  // namespace hemiola
