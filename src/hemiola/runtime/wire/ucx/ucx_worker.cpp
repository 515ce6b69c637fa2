#include "hemiola/runtime/wire/ucx/ucx_worker.hpp"

#include <algorithm>

#include "hemiola/base/deadline.hpp"
#include "hemiola/base/error.hpp"
#include "hemiola/base/home_process.hpp"
#include "hemiola/runtime/wire/ucx/transport_names.hpp"

namespace hemiola {
namespace {

constexpr unsigned kApiMajor = 1, kApiMinor = 13;
/// Enough for a message's way through several of UCX's queues; whoever calls looks at other things in between.
constexpr int kMostRounds = 16;

void check(ucp::Status status, const UcxLibrary& library, const std::string& what) {
  if (status == ucp::Status::ok) return;
  throw ArgumentError("UCX " + library.version() + " (" + library.path() + ") cannot " + what + ": " +
                      library.text_of(status) + UcxLibrary::complaint() +
                      ". UCX's variables, such as UCX_TLS and UCX_NET_DEVICES, say what it may use");
}

/// What UCX has begun in the parent needs threads that a forked child does not have.
void check_process() {
  static const HomeProcess home;
  if (!home.is_here())
    throw ArgumentError(
        "UCX has been used in the process of which this one is a fork, and does not survive that; start "
        "ranks as "
        "processes of their own, or call init only after the fork");
}

ucp::Context* make_context(const UcxLibrary& library, const std::string& transports) {
  const ucp::Functions& ucx = library.functions();
  ucp::Config* config = nullptr;
  check(ucx.config_read(nullptr, nullptr, &config), library, "read its settings");
  ucp::Status status = ucp::Status::ok;
  if (!transports.empty()) status = ucx.config_modify(config, "TLS", transports.c_str());
  const ucp::ContextParams params{
      .field_mask = ucp::ContextParams::kFeatures,
      .features = ucp::ContextParams::kWakeup | ucp::ContextParams::kActiveMessages};
  ucp::Context* context = nullptr;
  if (status == ucp::Status::ok) status = ucx.init_version(kApiMajor, kApiMinor, &params, config, &context);
  ucx.config_release(config);
  check(status, library, "be started");
  return context;
}

}  // namespace

UcxWorker::UcxWorker(const UcxLibrary& library, const std::string& transports) : library_(library) {
  check_process();
  context_ = make_context(library, transports);
  const ucp::WorkerParams params{.field_mask = ucp::WorkerParams::kThreadMode,
                                 .thread_mode = ucp::WorkerParams::kSerialized};
  ucp::Status status = functions().worker_create(context_, &params, &worker_);
  if (status == ucp::Status::ok) {
    status = functions().worker_get_efd(worker_, &descriptor_);
    if (status != ucp::Status::ok) functions().worker_destroy(worker_);
  }
  if (status != ucp::Status::ok) functions().cleanup(context_);
  check(status, library_, "open its devices");
}

UcxWorker::~UcxWorker() {
  functions().worker_destroy(worker_);
  functions().cleanup(context_);
}

Bytes UcxWorker::address() const {
  ucp::Address* address = nullptr;
  std::size_t bytes = 0;
  check(functions().worker_get_address(worker_, &address, &bytes), library_, "tell its address");
  const auto* const begin = reinterpret_cast<const std::byte*>(address);
  Bytes copy(begin, begin + bytes);
  functions().worker_release_address(worker_, address);
  return copy;
}

std::vector<std::string> UcxWorker::transports() const {
  std::vector<std::string> names =
      transport_names([&](std::FILE* stream) { functions().context_print_info(context_, stream); });
  std::erase_if(names, [](const std::string& name) { return name.starts_with("self/"); });
  return names;
}

void UcxWorker::progress() {
  for (int round = 0; round < kMostRounds && functions().worker_progress(worker_) != 0; ++round) {
  }
}

bool UcxWorker::arm() {
  const ucp::Status status = functions().worker_arm(worker_);
  if (status != ucp::Status::busy) check(status, library_, "wait");
  return status == ucp::Status::ok;
}

void UcxWorker::flush(double limit_s) {
  const ucp::RequestParams params;
  const ucp::StatusPointer request = functions().worker_flush_nbx(worker_, &params);
  if (request == nullptr || ucp::is_error(request)) return;
  const Deadline deadline(limit_s);
  for (Pause pause(100);
       functions().request_check_status(request) == ucp::Status::in_progress && !deadline.passed();
       pause.wait())
    progress();
  functions().request_free(request);
}

}  // namespace hemiola
