// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/net/tls/openssl_library.hpp"

#include <dlfcn.h>

#include <cstring>
#include <mutex>
#include <type_traits>

#include "hemiola/base/error.hpp"

namespace hemiola {
namespace {

constexpr const char* kName = "libssl.so.3";
constexpr unsigned long kLeastVersion = 0x30000000;
constexpr const char* kHowToInstall =
    ". Install it ('apt install libssl3' or 'dnf install openssl-libs'), or unset HEMIOLA_TLS on all ranks";

void* opened() {
  if (void* const handle = ::dlopen(kName, RTLD_NOW | RTLD_LOCAL)) return handle;
  const char* const why = ::dlerror();
  throw ArgumentError(std::string("HEMIOLA_TLS: expected OpenSSL 3 on this system, found none: ") +
                      (why != nullptr ? why : kName) + kHowToInstall);
}

}  // namespace

/// The library's own dependency, libcrypto, is searched as well.
OpensslLibrary::OpensslLibrary(void* handle) {
  const auto find = [&](const char* name, auto* function) {
    void* const symbol = ::dlsym(handle, name);
    if (symbol == nullptr)
      throw ArgumentError(std::string("HEMIOLA_TLS: expected OpenSSL 3, found a ") + kName +
                          " without the function " + name + kHowToInstall);
    *function = reinterpret_cast<std::remove_pointer_t<decltype(function)>>(symbol);
  };
  openssl::Functions& f = functions_;
  find("OpenSSL_version", &f.version);
  find("OpenSSL_version_num", &f.version_number);
  find("TLS_method", &f.tls_method);
  find("SSL_CTX_new", &f.context_new);
  find("SSL_CTX_free", &f.context_free);
  find("SSL_CTX_ctrl", &f.context_control);
  find("SSL_CTX_set_ciphersuites", &f.context_set_ciphersuites);
  find("SSL_CTX_set_num_tickets", &f.context_set_num_tickets);
  find("SSL_CTX_set_verify", &f.context_set_verify);
  find("SSL_CTX_set_default_passwd_cb", &f.context_set_password_callback);
  find("SSL_CTX_load_verify_locations", &f.context_load_authority);
  find("SSL_CTX_use_certificate_chain_file", &f.context_use_certificate);
  find("SSL_CTX_use_PrivateKey_file", &f.context_use_key);
  find("SSL_CTX_get0_certificate", &f.context_certificate);
  find("SSL_new", &f.session_new);
  find("SSL_free", &f.session_free);
  find("SSL_set_bio", &f.session_set_bio);
  find("SSL_set_connect_state", &f.session_connect);
  find("SSL_set_accept_state", &f.session_accept);
  find("SSL_do_handshake", &f.session_handshake);
  find("SSL_read", &f.session_read);
  find("SSL_peek", &f.session_peek);
  find("SSL_write", &f.session_write);
  find("SSL_get_error", &f.session_error);
  find("SSL_key_update", &f.session_key_update);
  find("SSL_set_ex_data", &f.session_set_data);
  find("SSL_get_ex_data", &f.session_data);
  find("SSL_get_ex_data_X509_STORE_CTX_idx", &f.session_index);
  find("BIO_meth_new", &f.bio_method_new);
  find("BIO_meth_set_write", &f.bio_method_set_write);
  find("BIO_meth_set_read", &f.bio_method_set_read);
  find("BIO_meth_set_ctrl", &f.bio_method_set_control);
  find("BIO_new", &f.bio_new);
  find("BIO_set_data", &f.bio_set_data);
  find("BIO_get_data", &f.bio_data);
  find("BIO_set_init", &f.bio_set_init);
  find("BIO_set_flags", &f.bio_set_flags);
  find("BIO_clear_flags", &f.bio_clear_flags);
  find("X509_STORE_CTX_get_error", &f.verification_error);
  find("X509_STORE_CTX_get_current_cert", &f.verification_certificate);
  find("X509_STORE_CTX_get0_cert", &f.verification_leaf);
  find("X509_STORE_CTX_get_ex_data", &f.verification_data);
  find("X509_verify_cert_error_string", &f.verification_text);
  find("X509_get_subject_name", &f.certificate_subject);
  find("X509_get_issuer_name", &f.certificate_issuer);
  find("X509_get0_notBefore", &f.certificate_begin);
  find("X509_get0_notAfter", &f.certificate_end);
  find("X509_NAME_oneline", &f.name_text);
  find("ASN1_TIME_to_tm", &f.time_fields);
  find("ERR_peek_last_error", &f.error_latest);
  find("ERR_clear_error", &f.error_clear);
  find("ERR_reason_error_string", &f.error_text);
  version_ = f.version(0);
  if (f.version_number() < kLeastVersion)
    throw ArgumentError("HEMIOLA_TLS: expected OpenSSL 3, found " + version_ + kHowToInstall);
}

const OpensslLibrary& OpensslLibrary::open() {
  static std::mutex mutex;
  static const OpensslLibrary* found =
      nullptr;  // never closed: it has handlers that run when the process ends
  const std::lock_guard lock(mutex);
  if (found == nullptr) found = new OpensslLibrary(opened());
  return *found;
}

std::string OpensslLibrary::take_error() const {
  const unsigned long error = functions_.error_latest();
  functions_.error_clear();
  if (error == 0) return "no reason given";
  if ((error & openssl::kSystemFlag) != 0)
    return std::strerror(static_cast<int>(error & ~openssl::kSystemFlag));
  const char* const text = functions_.error_text(error);
  return text != nullptr ? text : "error " + std::to_string(error);
}

}  // namespace hemiola
