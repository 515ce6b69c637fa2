// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/wire/ucx/ucx_context.hpp"

#include "hemiola/base/error.hpp"
#include "hemiola/base/home_process.hpp"
#include "hemiola/runtime/wire/ucx/transport_names.hpp"

namespace hemiola {
namespace {

constexpr unsigned kApiMajor = 1, kApiMinor = 13;

/// UCX's state from the parent needs threads that a forked child does not have.
void check_process() {
  static const HomeProcess home;
  if (!home.is_here())
    throw ArgumentError(
        "UCX has been used in the process of which this one is a fork, and does not survive that; start "
        "ranks as "
        "processes of their own, or call init only after the fork");
}

}  // namespace

UcxContext::UcxContext(const UcxLibrary& library, const std::string& transports) : library_(library) {
  check_process();
  ucp::Config* config = nullptr;
  check(functions().config_read(nullptr, nullptr, &config), "read its settings");
  ucp::Status status = ucp::Status::ok;
  std::string used = transports;
  if (!library.survives_cma()) {
    const auto print = [&](std::FILE* stream) {
      functions().config_print(config, stream, nullptr, ucp::kPrintConfig);
    };
    used = without_cma(used.empty() ? transports_set(print) : used);
  }
  if (!used.empty()) status = functions().config_modify(config, "TLS", used.c_str());
  const ucp::ContextParams params{
      .field_mask = ucp::ContextParams::kFeatures,
      .features = ucp::ContextParams::kWakeup | ucp::ContextParams::kActiveMessages};
  if (status == ucp::Status::ok)
    status = functions().init_version(kApiMajor, kApiMinor, &params, config, &context_);
  functions().config_release(config);
  check(status, "be started");
}

std::vector<std::string> UcxContext::transports() const {
  std::vector<std::string> names =
      transport_names([&](std::FILE* stream) { functions().context_print_info(context_, stream); });
  std::erase_if(names, [](const std::string& name) { return name.starts_with("self/"); });
  return names;
}

void UcxContext::check(ucp::Status status, const std::string& what) const {
  if (status == ucp::Status::ok) return;
  throw ArgumentError(
      "UCX " + library_.version() + " (" + library_.path() + ") cannot " + what + ": " +
      library_.text_of(status) + UcxLibrary::complaint() +
      ". UCX's variables, such as UCX_TLS and UCX_NET_DEVICES, choose its transports and devices");
}

}  // namespace hemiola
