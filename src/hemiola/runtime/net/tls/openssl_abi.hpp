// SPDX-License-Identifier: Apache-2.0
// The part of OpenSSL's interface that this library calls, declared here so that neither a header nor a library of it is
// needed to build. The names and numbers are those of OpenSSL 3, which keeps them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>

namespace hemiola::openssl {

struct Context;       ///< SSL_CTX
struct Session;       ///< SSL
struct Method;        ///< SSL_METHOD
struct Bio;           ///< BIO
struct BioMethod;     ///< BIO_METHOD
struct Certificate;   ///< X509
struct Name;          ///< X509_NAME
struct Time;          ///< ASN1_TIME
struct Verification;  ///< X509_STORE_CTX

using VerifyCallback = int (*)(int is_good, Verification*);
using PasswordCallback = int (*)(char* into, int size, int is_writing, void* user);

enum : int { kFileTypePem = 1 };                                      // SSL_FILETYPE_PEM
enum : int { kVerifyPeer = 1, kFailIfNoPeerCertificate = 2 };         // SSL_VERIFY_*
enum : int { kSetMinProtoVersion = 123, kSetSessionCacheMode = 44 };  // SSL_CTRL_*
enum : long { kTls13 = 0x0304 };                                      // TLS1_3_VERSION
enum : int { kErrorWantRead = 2, kErrorWantWrite = 3 };               // SSL_ERROR_*
enum : int { kBioFlush = 11 };                                        // BIO_CTRL_FLUSH
enum : int { kBioRead = 1, kBioWrite = 2, kBioRetry = 8 };            // BIO_FLAGS_*
enum : int { kBioType = 100 | 0x400 };                                // of a source and sink of our own
enum : int { kNotYetValid = 9, kExpired = 10, kWrongPurpose = 26 };   // X509_V_ERR_*
/// The reason of an error that is an alert of the other end: this, and the alert's number.
enum : unsigned long {
  kAlertReasons = 1000,
  kReasonMask = 0x7fffff
};  // SSL_AD_REASON_OFFSET, ERR_REASON_MASK
enum : unsigned long { kSystemFlag = 0x80000000 };  // ERR_SYSTEM_FLAG

struct Functions {
  const char* (*version)(int what);
  unsigned long (*version_number)();

  const Method* (*tls_method)();
  Context* (*context_new)(const Method*);
  void (*context_free)(Context*);
  long (*context_control)(Context*, int command, long number, void* pointer);
  int (*context_set_ciphersuites)(Context*, const char*);
  int (*context_set_num_tickets)(Context*, std::size_t);
  void (*context_set_verify)(Context*, int mode, VerifyCallback);
  void (*context_set_password_callback)(Context*, PasswordCallback);
  int (*context_load_authority)(Context*, const char* file, const char* folder);
  int (*context_use_certificate)(Context*, const char* file);
  int (*context_use_key)(Context*, const char* file, int type);
  Certificate* (*context_certificate)(const Context*);

  Session* (*session_new)(Context*);
  void (*session_free)(Session*);
  void (*session_set_bio)(Session*, Bio* in, Bio* out);
  void (*session_connect)(Session*);
  void (*session_accept)(Session*);
  int (*session_handshake)(Session*);
  int (*session_read)(Session*, void*, int);
  int (*session_peek)(Session*, void*, int);
  int (*session_write)(Session*, const void*, int);
  int (*session_error)(const Session*, int result);
  int (*session_key_update)(Session*, int type);
  int (*session_set_data)(Session*, int index, void*);
  void* (*session_data)(const Session*, int index);
  int (*session_index)();

  BioMethod* (*bio_method_new)(int type, const char* name);
  int (*bio_method_set_write)(BioMethod*, int (*)(Bio*, const char*, int));
  int (*bio_method_set_read)(BioMethod*, int (*)(Bio*, char*, int));
  int (*bio_method_set_control)(BioMethod*, long (*)(Bio*, int, long, void*));
  Bio* (*bio_new)(const BioMethod*);
  void (*bio_set_data)(Bio*, void*);
  void* (*bio_data)(Bio*);
  void (*bio_set_init)(Bio*, int);
  void (*bio_set_flags)(Bio*, int);
  void (*bio_clear_flags)(Bio*, int);

  int (*verification_error)(const Verification*);
  Certificate* (*verification_certificate)(const Verification*);  ///< of the chain, that which is refused
  Certificate* (*verification_leaf)(const Verification*);
  void* (*verification_data)(const Verification*, int index);
  const char* (*verification_text)(long error);
  Name* (*certificate_subject)(const Certificate*);
  Name* (*certificate_issuer)(const Certificate*);
  const Time* (*certificate_begin)(const Certificate*);
  const Time* (*certificate_end)(const Certificate*);
  char* (*name_text)(const Name*, char* into, int size);
  int (*time_fields)(const Time*, std::tm*);

  unsigned long (*error_latest)();
  void (*error_clear)();
  const char* (*error_text)(unsigned long);
};

}  // namespace hemiola::openssl
