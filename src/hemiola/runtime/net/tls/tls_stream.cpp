// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/net/tls/tls_stream.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>

#include "hemiola/base/error.hpp"

namespace hemiola {
namespace {

/// Records that go by one system call. More fall out of the cache between encryption and the kernel.
constexpr std::size_t kRecordsTogether = 4;
constexpr std::size_t kAheadBytes = kRecordsTogether * TlsStream::kLongestRecord;
/// So often one call reads from the socket, or writes to it: a rank sends and receives in turn.
constexpr int kTurns = 4;

constexpr std::byte kHandshakeRecord{0x16}, kAlertRecord{0x15};

/// Alerts by which the other refuses a certificate, or misses it.
constexpr int kLeastOfCertificates = 42, kMostOfCertificates = 48, kCertificateRequired = 116;

int limited(std::size_t bytes) {
  return static_cast<int>(std::min<std::size_t>(bytes, std::numeric_limits<int>::max()));
}

ssize_t would_block() {
  errno = EAGAIN;
  return -1;
}

}  // namespace

/// A place in the bytes that are to be sent.
class TlsStream::Cursor {
 public:
  explicit Cursor(std::span<const iovec> parts) : parts_(parts) { settle(); }

  bool at_end() const { return parts_.empty(); }

  void skip(std::size_t bytes) {
    while (bytes > 0 && !at_end()) bytes -= step(bytes);
  }

  /// The next bytes, a record's worth at most: where they lie, or gathered.
  std::span<const std::byte> next(std::vector<std::byte>* gathered) {
    const std::size_t here = parts_.front().iov_len - done_;
    if (here >= kRecordBytes || parts_.size() == 1) {
      const std::span bytes(place(), std::min(here, kRecordBytes));
      step(bytes.size());
      return bytes;
    }
    gathered->clear();
    while (!at_end() && gathered->size() < kRecordBytes) {
      const std::size_t bytes = std::min(parts_.front().iov_len - done_, kRecordBytes - gathered->size());
      gathered->insert(gathered->end(), place(), place() + bytes);
      step(bytes);
    }
    return *gathered;
  }

 private:
  const std::byte* place() const { return static_cast<const std::byte*>(parts_.front().iov_base) + done_; }

  std::size_t step(std::size_t bytes) {
    const std::size_t stepped = std::min(bytes, parts_.front().iov_len - done_);
    done_ += stepped;
    settle();
    return stepped;
  }

  void settle() {
    while (!parts_.empty() && done_ == parts_.front().iov_len) {
      parts_ = parts_.subspan(1);
      done_ = 0;
    }
  }

  std::span<const iovec> parts_;
  std::size_t done_ = 0;
};

TlsStream::TlsStream(std::shared_ptr<const TlsContext> context, int socket, Role role,
                     std::uint64_t records_per_key)
    : context_(std::move(context)),
      f_(context_->library().functions()),
      socket_(socket),
      records_per_key_(records_per_key),
      session_(f_.session_new(context_->get())),
      bio_(f_.bio_new(bio_method(f_))) {
  if (session_ == nullptr || bio_ == nullptr)
    throw LostRankError("no memory to encrypt a connection: " + context_->library().take_error());
  f_.bio_set_data(bio_, this);
  f_.bio_set_init(bio_, 1);
  f_.session_set_bio(session_, bio_, bio_);  // which frees it in the end
  f_.session_set_data(session_, 0, this);
  if (role == Role::connector)
    f_.session_connect(session_);
  else
    f_.session_accept(session_);
}

TlsStream::~TlsStream() {
  f_.session_free(session_);
}

// ---- OpenSSL's side ----

const openssl::BioMethod* TlsStream::bio_method(const openssl::Functions& functions) {
  static const openssl::BioMethod* const method = [&] {
    openssl::BioMethod* const made = functions.bio_method_new(openssl::kBioType, "hemiola");
    HEMIOLA_CHECK(made != nullptr, "no memory for a method of OpenSSL's");
    functions.bio_method_set_write(made, &TlsStream::write_bio);
    functions.bio_method_set_read(made, &TlsStream::read_bio);
    functions.bio_method_set_control(made, &TlsStream::control_bio);
    return made;
  }();
  return method;
}

long TlsStream::control_bio(openssl::Bio*, int command, long, void*) {
  return command == openssl::kBioFlush ? 1 : 0;
}

int TlsStream::write_bio(openssl::Bio* bio, const char* data, int size) {
  auto* const self = static_cast<TlsStream*>(OpensslLibrary::open().functions().bio_data(bio));
  const auto* const bytes = reinterpret_cast<const std::byte*>(data);
  self->out_.insert(self->out_.end(), bytes, bytes + size);
  return size;
}

int TlsStream::read_bio(openssl::Bio* bio, char* into, int size) {
  const openssl::Functions& f = OpensslLibrary::open().functions();
  auto* const self = static_cast<TlsStream*>(f.bio_data(bio));
  f.bio_clear_flags(bio, openssl::kBioRead | openssl::kBioWrite | openssl::kBioRetry);
  const int count = self->take(into, size);
  if (count < 0 && self->socket_error_ == EAGAIN)
    f.bio_set_flags(bio, openssl::kBioRead | openssl::kBioRetry);
  return count;
}

/// During the handshake no byte beyond it is read, so that poll tells of those that follow.
int TlsStream::take(char* into, int size) {
  if (!has_begun_ && !begins_as_tls()) return -1;
  if (reads_ahead_) {
    if (in_begin_ == in_end_ && !refill()) return has_hung_up_ ? 0 : -1;
    const auto count = std::min(static_cast<std::size_t>(size), in_end_ - in_begin_);
    std::memcpy(into, in_.data() + in_begin_, count);
    in_begin_ += count;
    return static_cast<int>(count);
  }
  ssize_t count = 0;
  do {
    count = ::recv(socket_, into, static_cast<std::size_t>(size), 0);
  } while (count < 0 && errno == EINTR);
  socket_error_ = count < 0 ? errno : 0;
  has_hung_up_ = count == 0;
  return static_cast<int>(count);
}

bool TlsStream::refill() {
  if (refills_left_ == 0) {
    can_go_on_ = true;
    socket_error_ = EAGAIN;
    return false;
  }
  --refills_left_;
  in_.resize(kAheadBytes);
  ssize_t count = 0;
  do {
    count = ::recv(socket_, in_.data(), in_.size(), 0);
  } while (count < 0 && errno == EINTR);
  socket_error_ = count < 0 ? errno : 0;
  has_hung_up_ = count == 0;
  in_begin_ = 0;
  in_end_ = count > 0 ? static_cast<std::size_t>(count) : 0;
  return count > 0;
}

/// Before OpenSSL sees anything of a peer that does not encrypt.
bool TlsStream::begins_as_tls() {
  std::byte first{};
  ssize_t count = 0;
  do {
    count = ::recv(socket_, &first, 1, MSG_PEEK);
  } while (count < 0 && errno == EINTR);
  socket_error_ = count < 0 ? errno : 0;
  has_hung_up_ = count == 0;
  if (count <= 0) return false;
  has_begun_ = true;
  if (first == kHandshakeRecord || first == kAlertRecord) return true;
  plain_beginning_ = first;
  return false;
}

/// The first objection is the reason; later ones follow from it.
int TlsStream::on_verification(int is_good, openssl::Verification* verification) {
  if (is_good == 1) return 1;
  const openssl::Functions& f = OpensslLibrary::open().functions();
  auto* const session = static_cast<openssl::Session*>(f.verification_data(verification, f.session_index()));
  auto* const self = static_cast<TlsStream*>(f.session_data(session, 0));
  if (!self->complaint_.empty()) return 0;
  const openssl::Certificate* shown = f.verification_leaf(verification);
  const int error = f.verification_error(verification);
  std::string expected = "one that is signed by the authority in '" + self->context_->files().authority + "'";
  std::string advice = "give all ranks certificates of one authority";
  if (error == openssl::kExpired || error == openssl::kNotYetValid) {
    expected = "one that is valid now";
    shown = f.verification_certificate(verification);
    advice = error == openssl::kExpired ? "renew it" : "check the clocks of both hosts";
  } else if (error == openssl::kWrongPurpose) {
    expected = "one for servers and for clients, since a rank is both";
    advice = "leave out extendedKeyUsage, or name serverAuth and clientAuth";
  }
  self->complaint_ = "has a certificate that this rank does not accept: expected " + expected + ", found " +
                     (shown != nullptr ? text_of(f, shown) : "none") + " (" + f.verification_text(error) +
                     "); " + advice;
  return 0;
}

// ---- the handshake ----

TlsStream::Shaking TlsStream::shake_hands() {
  if (end_) return Shaking::failed;
  f_.error_clear();
  const int result = f_.session_handshake(session_);
  const bool is_under_way = result != 1 && failed(result) < 0 && errno == EAGAIN;
  flush();
  if (is_under_way) return Shaking::under_way;
  if (result != 1) return Shaking::failed;
  return wants_to_write() ? Shaking::under_way : Shaking::done;
}

/// What OpenSSL's refusal to go on means to the caller: as of receive.
ssize_t TlsStream::failed(int result) {
  const int error = f_.session_error(session_, result);
  if (error == openssl::kErrorWantRead || error == openssl::kErrorWantWrite) return would_block();
  if (has_hung_up_) {
    end_ = 0;
  } else if (socket_error_ != 0 && socket_error_ != EAGAIN) {
    end_ = socket_error_;
  } else {
    end_ = EPROTO;
    if (!plain_beginning_) explain();
  }
  f_.error_clear();
  errno = *end_;
  return *end_ == 0 ? 0 : -1;
}

void TlsStream::explain() {
  const unsigned long latest = f_.error_latest();
  const auto reason = latest & openssl::kReasonMask;
  const int alert = reason >= openssl::kAlertReasons ? static_cast<int>(reason - openssl::kAlertReasons) : -1;
  const bool is_of_certificate =
      (alert >= kLeastOfCertificates && alert <= kMostOfCertificates) || alert == kCertificateRequired;
  if (!complaint_.empty()) return;
  const std::string said = context_->library().take_error();
  if (is_of_certificate)
    complaint_ =
        "does not accept this rank's certificate in '" + context_->files().certificate + "', which is " +
        context_->own_certificate() + "; it says '" + said +
        "'. Expected one that is valid now and signed by the authority of all ranks; renew it, or give all "
        "ranks certificates of one authority";
  else
    complaint_ = "and this rank have found no way to encrypt: expected TLS 1.3, found '" + said + "'";
}

bool TlsStream::flush() {
  while (sent_ < out_.size()) {
    const ssize_t count = ::send(socket_, out_.data() + sent_, out_.size() - sent_, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      socket_error_ = errno;
      return false;
    }
    sent_ += static_cast<std::size_t>(count);
  }
  return true;
}

// ---- the stream ----

ssize_t TlsStream::receive(std::span<const iovec> parts) {
  can_go_on_ = false;
  refills_left_ = kTurns;
  std::size_t received = 0;
  for (const iovec& part : parts) {
    auto* const to = static_cast<std::byte*>(part.iov_base);
    for (std::size_t filled = 0; filled < part.iov_len;) {
      if (end_ && received > 0) return static_cast<ssize_t>(received);
      if (end_) {
        errno = *end_;
        return *end_ == 0 ? 0 : -1;
      }
      f_.error_clear();
      const int count = f_.session_read(session_, to + filled, limited(part.iov_len - filled));
      if (count <= 0) {
        const ssize_t why = failed(count);
        return received > 0 ? static_cast<ssize_t>(received) : why;
      }
      filled += static_cast<std::size_t>(count);
      received += static_cast<std::size_t>(count);
    }
  }
  return static_cast<ssize_t>(received);
}

ssize_t TlsStream::peek(void* into, std::size_t bytes) {
  refills_left_ = kTurns;
  if (end_) {
    errno = *end_;
    return *end_ == 0 ? 0 : -1;
  }
  f_.error_clear();
  const int count = f_.session_peek(session_, into, limited(bytes));
  return count > 0 ? count : failed(count);
}

ssize_t TlsStream::send(std::span<const iovec> parts) {
  can_go_on_ = false;
  bool has_room = flush();
  std::size_t sent = take_sent();
  Cursor cursor(parts);
  cursor.skip(sent);
  for (int turn = 0; has_room && !cursor.at_end(); ++turn) {
    can_go_on_ = turn == kTurns;
    if (can_go_on_) break;
    if (!encrypt(&cursor)) return -1;
    has_room = flush();
    sent += take_sent();
  }
  if (sent > 0 || has_room) return static_cast<ssize_t>(sent);
  errno = socket_error_;
  return -1;
}

/// A few records. OpenSSL writes to memory, so that it never takes a part of one.
bool TlsStream::encrypt(Cursor* cursor) {
  out_.reserve(kAheadBytes);
  for (std::size_t i = 0; i < kRecordsTogether && !cursor->at_end(); ++i) {
    f_.error_clear();
    if (++record_count_ % records_per_key_ == 0) f_.session_key_update(session_, 0);
    const std::span<const std::byte> bytes = cursor->next(&gathered_);
    if (f_.session_write(session_, bytes.data(), limited(bytes.size())) != limited(bytes.size())) {
      end_ = errno = EPROTO;
      return false;
    }
    records_.push_back({out_.size(), bytes.size()});
  }
  return true;
}

/// Of the records that the kernel has by now.
std::size_t TlsStream::take_sent() {
  std::size_t bytes = 0;
  while (first_record_ < records_.size() && records_[first_record_].end <= sent_)
    bytes += records_[first_record_++].bytes;
  if (sent_ == out_.size()) {
    out_.clear();
    records_.clear();
    sent_ = first_record_ = 0;
  }
  return bytes;
}

}  // namespace hemiola
