// SPDX-License-Identifier: Apache-2.0
// The system's OpenSSL, opened at run time once something is to be encrypted, and never before.
#pragma once

#include <string>

#include "hemiola/runtime/net/tls/openssl_abi.hpp"

namespace hemiola {

class OpensslLibrary {
 public:
  /// The first call opens it, for the process. Throws an ArgumentError that says what was tried, and how to install it.
  static const OpensslLibrary& open();

  const openssl::Functions& functions() const { return functions_; }
  /// "OpenSSL 3.0.19 27 Jan 2026"
  const std::string& version() const { return version_; }

  /// The latest error of this thread in OpenSSL's words; forgets all of them.
  std::string take_error() const;

 private:
  explicit OpensslLibrary(void* handle);

  openssl::Functions functions_ = {};
  std::string version_;
};

}  // namespace hemiola
