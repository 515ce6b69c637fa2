// SPDX-License-Identifier: Apache-2.0
// What a rank needs to encrypt its connections: its certificate and key, and the authority whose signature it accepts.
#pragma once

#include <memory>
#include <string>

#include "hemiola/runtime/net/tls/openssl_library.hpp"

namespace hemiola {

/// Paths of files in PEM form.
struct TlsFiles {
  std::string certificate;  ///< of this rank, and of the authorities between it and the common one
  std::string key;          ///< of the certificate; without a password
  std::string authority;    ///< certificates whose signatures are accepted
};

/// TLS 1.3, both ends with a certificate. Any thread may begin connections with it.
class TlsContext {
 public:
  /// Throws an ArgumentError that names the file which cannot be used, or says that there is no OpenSSL.
  explicit TlsContext(TlsFiles files);
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;

  const TlsFiles& files() const { return files_; }
  const OpensslLibrary& library() const { return library_; }
  openssl::Context* get() const { return context_; }
  /// This rank's certificate in words.
  std::string own_certificate() const;

 private:
  void load();

  TlsFiles files_;
  const OpensslLibrary& library_;
  openssl::Context* context_;
};

/// A certificate's owner, signer and last day, as in "'/CN=node7' of '/CN=our authority', valid until 2030-01-31 12:00 UTC".
std::string text_of(const openssl::Functions& functions, const openssl::Certificate* certificate);

}  // namespace hemiola
