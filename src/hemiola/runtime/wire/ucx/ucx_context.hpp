// SPDX-License-Identifier: Apache-2.0
// UCX's devices, opened by one of its contexts, for workers that one thread uses.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "hemiola/runtime/wire/ucx/ucx_library.hpp"

namespace hemiola {

class UcxContext {
 public:
  /// `transports` as for UCX_TLS; empty: as UCX's variables say. Throws ArgumentError where UCX cannot be started so,
  /// and in a child of a process that has used UCX.
  static std::shared_ptr<const UcxContext> open(const UcxLibrary& library, const std::string& transports) {
    return std::shared_ptr<const UcxContext>(new UcxContext(library, transports));
  }
  UcxContext(const UcxContext&) = delete;
  ~UcxContext() { functions().cleanup(context_); }

  const UcxLibrary& library() const { return library_; }
  const ucp::Functions& functions() const { return library_.functions(); }
  ucp::Context* get() const { return context_; }
  /// The transports that it has, as "tcp/eth0", without those for this process alone.
  std::vector<std::string> transports() const;
  /// Throws ArgumentError, where it is not ok, that this UCX cannot do `what`, and why.
  void check(ucp::Status status, const std::string& what) const;

 private:
  UcxContext(const UcxLibrary& library, const std::string& transports);

  const UcxLibrary& library_;
  ucp::Context* context_ = nullptr;
};

}  // namespace hemiola
