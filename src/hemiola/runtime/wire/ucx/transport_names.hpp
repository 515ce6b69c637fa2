// The transports in what UCX prints about a context or an endpoint: 1.13 tells of them in no other way.
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

}  // namespace hemiola
