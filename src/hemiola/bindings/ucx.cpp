// SPDX-License-Identifier: Apache-2.0
// The UCX that this process finds, for questions before a job starts it.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <string>
#include <vector>

#include "hemiola/base/error.hpp"
#include "hemiola/bindings/bindings.hpp"
#include "hemiola/runtime/wire/ucx/transport_names.hpp"
#include "hemiola/runtime/wire/ucx/ucx_endpoint.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace hemiola::bindings {
namespace {

/// The link between two ranks of this host.
std::vector<std::string> within_host(const std::shared_ptr<const UcxContext>& context) {
  UcxWorker from(context);
  const UcxWorker to(UcxContext::open(context->library(), ""));
  const Bytes address = to.address();
  UcxEndpoint endpoint;
  endpoint.open(&from, address, [](void*, ucp::Endpoint*, ucp::Status) {}, nullptr);
  if (!endpoint.is_open()) throw ArgumentError(endpoint.why_not());
  return endpoint.transports();
}

nb::dict find_ucx(const std::vector<std::string>& packaged) {
  const UcxLibrary& library = UcxLibrary::open(packaged);
  nb::dict found;
  found["version"] = library.version();
  found["path"] = library.path();
  const auto context = UcxContext::open(library, "");
  const std::vector<std::string> transports = context->transports();
  found["transports"] = transports;
  found["rdma"] = std::ranges::any_of(transports, is_rdma);
  found["within_host"] = within_host(context);
  return found;
}

}  // namespace

void bind_ucx(nb::module_& m) {
  m.def("find_ucx", &find_ucx, "packaged"_a,
        "The UCX that a job would use here, loaded: version, path, transports, and those between ranks of "
        "this host.");
}

}  // namespace hemiola::bindings
