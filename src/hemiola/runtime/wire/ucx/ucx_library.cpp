// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/wire/ucx/ucx_library.hpp"

#include <dlfcn.h>
#include <link.h>

#include <array>
#include <cstdarg>
#include <cstdio>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "hemiola/base/error.hpp"

namespace hemiola {
namespace {

constexpr const char* kSystems = "libucp.so.0";
/// The oldest that this wire has been tested with.
constexpr unsigned kMajor = 1, kLeastMinor = 13;
constexpr const char* kHowToInstall =
    "Install it with 'pip install libucx-cu12' (no GPU is needed) or 'apt install libucx0'; UCX 1.13 or "
    "newer "
    "is needed";

/// The form in which UCX hands out its messages (ucs/debug/log_def.h); levels from 0, fatal, 1, error, 2, warning.
using LogHandler = int (*)(const char* file, unsigned line, const char* function, int level,
                           const void* component, const char* format, std::va_list arguments);
enum : int { kStop = 0, kContinue = 1 };
enum : int { kFatal = 0, kWarning = 2 };

/// Never taken apart: UCX's own threads may speak until the process ends.
struct Complaint {
  std::mutex mutex;
  std::string latest;
};
Complaint& complaint_of_ucx() {
  static auto* const complaint = new Complaint;
  return *complaint;
}

/// UCX prints to the standard output, where results belong. Its complaints go into our errors instead.
int keep_complaint(const char*, unsigned, const char*, int level, const void*, const char* format,
                   std::va_list arguments) {
  if (level == kFatal || level > kWarning) return kContinue;
  std::array<char, 300> text;
  std::vsnprintf(text.data(), text.size(), format, arguments);
  Complaint& complaint = complaint_of_ucx();
  const std::lock_guard lock(complaint.mutex);
  complaint.latest = text.data();
  return kStop;
}

struct LoadedUcx {
  std::string ucp;    ///< the path of the first libucp
  std::string other;  ///< of another library of UCX, where there is no libucp
};

int note_loaded(dl_phdr_info* info, std::size_t, void* into) {
  auto* const loaded = static_cast<LoadedUcx*>(into);
  const std::string path = info->dlpi_name != nullptr ? info->dlpi_name : "";
  const std::string name = path.substr(path.rfind('/') + 1);
  if (loaded->ucp.empty() && name.starts_with("libucp")) loaded->ucp = path;
  if (name.starts_with("libucs") && !name.starts_with("libucs_signal")) loaded->other = path;
  return 0;
}

std::string path_of(const void* function) {
  Dl_info info{};
  return ::dladdr(const_cast<void*>(function), &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : "";
}

std::string why_not_opened() {
  const char* const text = ::dlerror();
  return text != nullptr ? text : "no reason given";
}

}  // namespace

UcxLibrary::UcxLibrary(void* handle, std::string path) : path_(std::move(path)) {
  look_up(handle);
  version_ = functions_.get_version_string();
  check_version();
}

void UcxLibrary::look_up(void* handle) {
  const auto find = [&](const char* name, auto* function) {
    void* const symbol = ::dlsym(handle, name);
    if (symbol == nullptr)
      throw ArgumentError("expected a UCX of version 1.13 or newer, found " + path_ +
                          " without the function " + name + ". " + kHowToInstall);
    *function = reinterpret_cast<std::remove_pointer_t<decltype(function)>>(symbol);
  };
  find("ucp_get_version", &functions_.get_version);
  find("ucp_get_version_string", &functions_.get_version_string);
  find("ucp_config_read", &functions_.config_read);
  find("ucp_config_modify", &functions_.config_modify);
  find("ucp_config_print", &functions_.config_print);
  find("ucp_config_release", &functions_.config_release);
  find("ucp_init_version", &functions_.init_version);
  find("ucp_cleanup", &functions_.cleanup);
  find("ucp_context_print_info", &functions_.context_print_info);
  find("ucp_worker_create", &functions_.worker_create);
  find("ucp_worker_destroy", &functions_.worker_destroy);
  find("ucp_worker_get_address", &functions_.worker_get_address);
  find("ucp_worker_release_address", &functions_.worker_release_address);
  find("ucp_worker_get_efd", &functions_.worker_get_efd);
  find("ucp_worker_arm", &functions_.worker_arm);
  find("ucp_worker_progress", &functions_.worker_progress);
  find("ucp_worker_flush_nbx", &functions_.worker_flush_nbx);
  find("ucp_worker_set_am_recv_handler", &functions_.worker_set_am_recv_handler);
  find("ucp_ep_create", &functions_.ep_create);
  find("ucp_ep_close_nbx", &functions_.ep_close_nbx);
  find("ucp_ep_print_info", &functions_.ep_print_info);
  find("ucp_am_send_nbx", &functions_.am_send_nbx);
  find("ucp_am_recv_data_nbx", &functions_.am_recv_data_nbx);
  find("ucp_am_data_release", &functions_.am_data_release);
  find("ucp_request_check_status", &functions_.request_check_status);
  find("ucp_request_free", &functions_.request_free);
  find("ucs_status_string", &functions_.status_string);
}

void UcxLibrary::check_version() {
  unsigned major = 0, minor = 0, release = 0;
  functions_.get_version(&major, &minor, &release);
  is_newer_than_1_13_ = minor > kLeastMinor;
  if (major == kMajor && minor >= kLeastMinor) return;
  throw ArgumentError("expected UCX 1.13 or a newer 1.x, found " + version_ + " at " + path_ + ". " +
                      kHowToInstall);
}

/// A library that is loaded already counts. One is loaded only if there is none.
UcxLibrary UcxLibrary::find(const std::vector<std::string>& packaged) {
  LoadedUcx loaded;
  ::dl_iterate_phdr(note_loaded, &loaded);
  if (!loaded.ucp.empty()) {
    if (void* const handle = ::dlopen(loaded.ucp.c_str(), RTLD_NOW | RTLD_NOLOAD))
      return {handle, loaded.ucp};
    throw ArgumentError("this process has loaded " + loaded.ucp +
                        ", which cannot be used: " + why_not_opened());
  }
  if (!loaded.other.empty())
    throw ArgumentError(
        "this process has loaded a part of UCX, " + loaded.other +
        ", without its libucp; a second UCX beside it would not work. Use a process without it, "
        "or load its libucp first");
  std::string tried = "nothing that this process has loaded";
  std::vector<std::string> places{kSystems};
  places.insert(places.end(), packaged.begin(), packaged.end());
  for (const std::string& place : places) {
    if (void* const handle = ::dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL)) {
      if (void* const push = ::dlsym(handle, "ucs_log_push_handler"))
        reinterpret_cast<void (*)(LogHandler)>(push)(keep_complaint);
      return {handle, path_of(::dlsym(handle, "ucp_get_version"))};
    }
    tried += "; " + place + " (" + why_not_opened() + ")";
  }
  if (packaged.empty()) tried += "; no package libucx-cu12 or libucx-cu13 in this Python";
  throw ArgumentError("the wire 'ucx' needs UCX, of which none was found: " + tried + ". " + kHowToInstall);
}

const UcxLibrary& UcxLibrary::open(const std::vector<std::string>& packaged) {
  static std::mutex mutex;
  static const UcxLibrary* found = nullptr;  // never closed: UCX has threads and hooks that outlive its users
  const std::lock_guard lock(mutex);
  if (found == nullptr) found = new UcxLibrary(find(packaged));
  return *found;
}

std::string UcxLibrary::text_of(ucp::Status status) const {
  return functions_.status_string(status);
}

std::string UcxLibrary::complaint() {
  Complaint& complaint = complaint_of_ucx();
  const std::lock_guard lock(complaint.mutex);
  return complaint.latest.empty() ? "" : " (UCX says: " + complaint.latest + ")";
}

}  // namespace hemiola
