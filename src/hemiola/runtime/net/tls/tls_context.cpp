// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/net/tls/tls_context.hpp"

#include <fcntl.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "hemiola/base/descriptor.hpp"
#include "hemiola/base/error.hpp"
#include "hemiola/runtime/net/tls/tls_stream.hpp"

namespace hemiola {
namespace {

/// AES with 128 bits is the fastest where processors have instructions for it, as servers do.
constexpr const char* kCiphers = "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256";

/// OpenSSL would ask at the terminal.
int no_password(char*, int, int, void*) {
  return -1;
}

[[noreturn]] void refuse(const std::string& what, const std::string& path, const std::string& why) {
  throw ArgumentError("HEMIOLA_TLS: expected " + what + " in PEM form at '" + path + "', found " + why +
                      "; docs/how-to/tls.md makes all three files");
}

/// The system's reason is clearer than OpenSSL's.
void check_readable(const std::string& what, const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) refuse(what, path, std::string("none that can be read (") + std::strerror(errno) + ")");
}

std::string text_of(const openssl::Functions& functions, const openssl::Name* name) {
  std::array<char, 200> text{};
  return functions.name_text(name, text.data(), static_cast<int>(text.size())) != nullptr ? text.data() : "?";
}

std::string text_of(const openssl::Functions& functions, const openssl::Time* time) {
  std::tm fields{};
  std::array<char, 40> text{};
  if (functions.time_fields(time, &fields) != 1) return "?";
  std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M UTC", &fields);
  return text.data();
}

}  // namespace

std::string text_of(const openssl::Functions& functions, const openssl::Certificate* certificate) {
  return "'" + text_of(functions, functions.certificate_subject(certificate)) + "' of '" +
         text_of(functions, functions.certificate_issuer(certificate)) + "', valid from " +
         text_of(functions, functions.certificate_begin(certificate)) + " until " +
         text_of(functions, functions.certificate_end(certificate));
}

TlsContext::TlsContext(TlsFiles files)
    : files_(std::move(files)),
      library_(OpensslLibrary::open()),
      context_(library_.functions().context_new(library_.functions().tls_method())) {
  if (context_ == nullptr)
    throw ArgumentError("HEMIOLA_TLS: " + library_.version() + " cannot begin: " + library_.take_error());
  try {
    load();
  } catch (...) {
    library_.functions().context_free(context_);
    throw;
  }
}

TlsContext::~TlsContext() {
  library_.functions().context_free(context_);
}

/// No tickets: a session is never resumed, and nothing follows the handshake that nobody reads.
void TlsContext::load() {
  const openssl::Functions& f = library_.functions();
  f.error_clear();
  const bool has_tls_1_3 =
      f.context_control(context_, openssl::kSetMinProtoVersion, openssl::kTls13, nullptr) == 1 &&
      f.context_set_ciphersuites(context_, kCiphers) == 1 && f.context_set_num_tickets(context_, 0) == 1;
  if (!has_tls_1_3)
    throw ArgumentError("HEMIOLA_TLS: expected TLS 1.3 of " + library_.version() + ", found " +
                        library_.take_error());
  f.context_control(context_, openssl::kSetSessionCacheMode, 0, nullptr);
  f.context_set_password_callback(context_, no_password);
  const std::string certificate = "this rank's certificate", key = "its private key, without a password",
                    authority = "the authority's certificate";
  check_readable(certificate, files_.certificate);
  if (f.context_use_certificate(context_, files_.certificate.c_str()) != 1)
    refuse(certificate, files_.certificate, "something else: " + library_.take_error());
  check_readable(key, files_.key);
  if (f.context_use_key(context_, files_.key.c_str(), openssl::kFileTypePem) != 1)
    refuse(key, files_.key, "something else: " + library_.take_error());
  check_readable(authority, files_.authority);
  if (f.context_load_authority(context_, files_.authority.c_str(), nullptr) != 1)
    refuse(authority, files_.authority, "something else: " + library_.take_error());
  f.context_set_verify(context_, openssl::kVerifyPeer | openssl::kFailIfNoPeerCertificate,
                       &TlsStream::on_verification);
}

std::string TlsContext::own_certificate() const {
  const openssl::Functions& f = library_.functions();
  return text_of(f, f.context_certificate(context_));
}

}  // namespace hemiola
