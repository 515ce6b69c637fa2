// SPDX-License-Identifier: Apache-2.0
// The part of UCP's binary interface that this wire uses, declared by hand so that building needs no headers of UCX:
// the same in its versions 1.13 and 1.22. Types whose ends differ between versions end here where 1.13's do: UCX reads
// and writes only the fields that their masks name. docs/decisions/0014 says how that was checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>

namespace hemiola::ucp {

static_assert(sizeof(void*) == 8, "the layouts are those of 64-bit machines");

/// One byte, as UCX packs it.
enum class Status : std::int8_t {
  ok = 0,
  in_progress = 1,
  unreachable = -6,
  busy = -15,
  canceled = -16,
  last = -100,  ///< errors are -1 to -100
};

/// The result of a function that may go on by itself: null where it is done, a small negative number for an error, else
/// a request, to be freed.
using StatusPointer = void*;
inline bool is_error(StatusPointer pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer) >= static_cast<std::uintptr_t>(std::intptr_t{-100});
}
inline bool is_over(StatusPointer pointer) {
  return pointer == nullptr || is_error(pointer);
}
/// The status of a finished request.
inline Status status_of(StatusPointer over) {
  return static_cast<Status>(reinterpret_cast<std::intptr_t>(over));
}

struct Config;
struct Context;
struct Worker;
struct Endpoint;
struct Address;

struct ContextParams {
  enum : std::uint64_t { kFeatures = 1 << 0 };                          // of field_mask
  enum : std::uint64_t { kWakeup = 1 << 4, kActiveMessages = 1 << 6 };  // of features
  std::uint64_t field_mask = 0;
  std::uint64_t features = 0;
  std::uint64_t unused[8] = {};
};
static_assert(sizeof(ContextParams) == 80);

struct WorkerParams {
  enum : std::uint64_t { kThreadMode = 1 << 0 };
  enum : std::uint32_t { kSerialized = 1 };  // of thread_mode: any thread, one at a time
  std::uint64_t field_mask = 0;
  std::uint32_t thread_mode = 0;
  std::uint64_t unused[23] = {};
};
static_assert(sizeof(WorkerParams) == 200);

struct ActiveMessageParams {
  std::uint64_t attributes;  ///< kReplyEndpoint, kMayBeKept, kRendezvous
  Endpoint* reply_endpoint;
  enum : std::uint64_t {
    kMayBeKept = 1 << 16,   ///< the data, beyond the callback, if that returns in_progress
    kRendezvous = 1 << 17,  ///< the data is still with the sender; a descriptor stands for it
  };
};
static_assert(sizeof(ActiveMessageParams) == 16);

using ActiveMessageCallback = Status (*)(void* argument, const void* header, std::size_t header_bytes,
                                         void* data, std::size_t bytes, const ActiveMessageParams* params);

struct HandlerParams {
  enum : std::uint64_t { kId = 1 << 0, kFlags = 1 << 1, kCallback = 1 << 2, kArgument = 1 << 3 };
  enum : std::uint32_t { kWholeMessages = 1 << 0 };
  std::uint64_t field_mask = 0;
  std::uint32_t id = 0;
  std::uint32_t flags = 0;
  ActiveMessageCallback callback = nullptr;
  void* argument = nullptr;
};
static_assert(sizeof(HandlerParams) == 32);

struct EndpointParams {
  enum : std::uint64_t { kAddress = 1 << 0, kErrorMode = 1 << 1, kErrorHandler = 1 << 2 };
  enum : std::uint32_t { kPeerErrors = 1 };  // of error_mode: a peer's end is told, and ends requests
  std::uint64_t field_mask = 0;
  const Address* address = nullptr;
  std::uint32_t error_mode = 0;
  void (*error_callback)(void* argument, Endpoint* endpoint, Status status) = nullptr;
  void* error_argument = nullptr;
  std::uint64_t unused[8] = {};
};
static_assert(sizeof(EndpointParams) == 104 && offsetof(EndpointParams, error_callback) == 24);

/// `length` is given for receives only.
using SendCallback = void (*)(void* request, Status status, void* user_data);
using ReceiveCallback = void (*)(void* request, Status status, std::size_t length, void* user_data);

struct RequestParams {
  enum : std::uint32_t { kCallback = 1 << 1, kUserData = 1 << 2, kFlags = 1 << 4 };
  enum : std::uint32_t { kForce = 1 };  // of flags, when an endpoint is closed
  std::uint32_t fields = 0;
  std::uint32_t flags = 0;
  void* request = nullptr;
  union {
    SendCallback sent;
    ReceiveCallback received;
  } callback = {};
  std::uint64_t datatype = 0;
  void* user_data = nullptr;
  std::uint64_t unused[4] = {};
};
static_assert(sizeof(RequestParams) == 72 && offsetof(RequestParams, user_data) == 32);

/// Of `config_print`: names and values.
constexpr int kPrintConfig = 1;

/// By the names they have in UCX, without the "ucp_".
struct Functions {
  void (*get_version)(unsigned* major, unsigned* minor, unsigned* release);
  const char* (*get_version_string)();
  Status (*config_read)(const char* environment_prefix, const char* file, Config** config);
  Status (*config_modify)(Config* config, const char* name, const char* value);
  void (*config_print)(const Config* config, std::FILE* stream, const char* title, int flags);
  void (*config_release)(Config* config);
  Status (*init_version)(unsigned major, unsigned minor, const ContextParams* params, const Config* config,
                         Context** context);
  void (*cleanup)(Context* context);
  void (*context_print_info)(const Context* context, std::FILE* stream);
  Status (*worker_create)(Context* context, const WorkerParams* params, Worker** worker);
  void (*worker_destroy)(Worker* worker);
  Status (*worker_get_address)(Worker* worker, Address** address, std::size_t* bytes);
  void (*worker_release_address)(Worker* worker, Address* address);
  Status (*worker_get_efd)(Worker* worker, int* descriptor);
  Status (*worker_arm)(Worker* worker);
  unsigned (*worker_progress)(Worker* worker);
  StatusPointer (*worker_flush_nbx)(Worker* worker, const RequestParams* params);
  Status (*worker_set_am_recv_handler)(Worker* worker, const HandlerParams* params);
  Status (*ep_create)(Worker* worker, const EndpointParams* params, Endpoint** endpoint);
  StatusPointer (*ep_close_nbx)(Endpoint* endpoint, const RequestParams* params);
  void (*ep_print_info)(Endpoint* endpoint, std::FILE* stream);
  StatusPointer (*am_send_nbx)(Endpoint* endpoint, unsigned id, const void* header, std::size_t header_bytes,
                               const void* data, std::size_t bytes, const RequestParams* params);
  StatusPointer (*am_recv_data_nbx)(Worker* worker, void* data, void* to, std::size_t bytes,
                                    const RequestParams* params);
  void (*am_data_release)(Worker* worker, void* data);
  Status (*request_check_status)(void* request);
  void (*request_free)(void* request);
  const char* (*status_string)(Status status);  ///< libucs's ucs_status_string
};

}  // namespace hemiola::ucp
