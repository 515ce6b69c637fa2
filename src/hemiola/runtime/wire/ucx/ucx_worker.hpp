// One place where messages leave and arrive: a context of UCX with its devices, and one worker. Used by one thread at a time.
#pragma once

#include <string>
#include <vector>

#include "hemiola/base/bytes.hpp"
#include "hemiola/runtime/wire/ucx/ucx_library.hpp"

namespace hemiola {

class UcxWorker {
 public:
  /// `transports` as for UCX_TLS; empty: what UCX's variables say. Throws ArgumentError where UCX cannot be started so, and
  /// in a child of a process that has used UCX.
  UcxWorker(const UcxLibrary& library, const std::string& transports);
  UcxWorker(const UcxWorker&) = delete;
  ~UcxWorker();

  const UcxLibrary& library() const { return library_; }
  const ucp::Functions& functions() const { return library_.functions(); }
  ucp::Worker* get() const { return worker_; }

  /// By which others reach it.
  Bytes address() const;
  /// The transports that it has, as "tcp/eth0", without what is for this process alone.
  std::vector<std::string> transports() const;

  /// Calls back whoever has messages, as long as there is something to do, but not forever.
  void progress();
  /// Once nothing is left to do: its descriptor can be read when there is. False: there is something already.
  bool arm();
  int descriptor() const { return descriptor_; }
  /// Sends what has been posted, for so long at most.
  void flush(double limit_s);

 private:
  const UcxLibrary& library_;
  ucp::Context* context_ = nullptr;
  ucp::Worker* worker_ = nullptr;
  int descriptor_ = -1;
};

}  // namespace hemiola
