// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/net/handshake.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>

#include "hemiola/runtime/net/random_bytes.hpp"
#include "hemiola/runtime/net/tcp_socket.hpp"

namespace hemiola {
namespace {

constexpr std::array<char, 8> kMagic{'h', 'e', 'm', 'i', 'o', 'l', 'a', '\n'};
constexpr std::uint32_t kProtocol = 1;
/// The first byte of TLS.
constexpr std::byte kTlsBeginning{0x16};
/// So long the other may take to read why it is refused.
constexpr auto kLinger = std::chrono::seconds(1);
constexpr const char* kAllOrNone = "; set HEMIOLA_TLS on all ranks, or on none";

/// Only printable characters, since the text is a stranger's.
std::string version_text(const std::array<char, 32>& version, std::uint32_t protocol) {
  std::string text;
  for (const char c : version) {
    if (c == 0) break;
    text += std::isgraph(static_cast<unsigned char>(c)) != 0 ? c : '?';
  }
  return text + " (protocol " + std::to_string(protocol) + ")";
}

std::string restarts(std::uint32_t count) {
  return std::to_string(count) + (count == 1 ? " restart" : " restarts");
}

}  // namespace

Handshake::Handshake(Descriptor socket, const Endpoint& other, const Credentials* own, Role role)
    : connection_(std::move(socket)), other_(other), own_(own), role_(role) {
  own_greeting_.magic = kMagic;
  own_greeting_.protocol = kProtocol;
  own_->version.copy(own_greeting_.version.data(), own_greeting_.version.size() - 1);
  fill_randomly(own_greeting_.nonce);
}

Handshake Handshake::connect(const Endpoint& to, const Credentials* own, std::uint64_t purpose,
                             std::optional<Rank> expected) {
  Attempt attempt = start_connecting(to);
  const int error = attempt.error;
  Handshake handshake(std::move(attempt.socket), to, own, Role::connector);
  handshake.expected_ = expected;
  handshake.purpose_ = purpose;
  handshake.stage_ = Stage::connecting;
  if (error != 0) handshake.fail(error);
  return handshake;
}

Handshake Handshake::accept(Descriptor socket, const Endpoint& from, const Credentials* own) {
  Handshake handshake(std::move(socket), from, own, Role::acceptor);
  if (own->tls) {
    handshake.connection_.encrypt(own->tls, TlsStream::Role::acceptor);
    handshake.stage_ = Stage::securing;
  } else {
    handshake.expect(Stage::greeting, sizeof(Greeting));
  }
  return handshake;
}

Handshake::State Handshake::progress() {
  while (stage_ != Stage::over) {
    if (stage_ == Stage::connecting && !finish_connecting()) break;
    if (stage_ == Stage::securing && !secure()) break;
    if (stage_ == Stage::lingering && !linger()) break;
    if (!flush()) break;
    if (stage_ == Stage::last_words) {
      if (refusal_ != Refusal::encryption) {
        stage_ = Stage::over;
        break;
      }
      connection_.shut();
      stage_ = Stage::lingering;
      continue;
    }
    if (!fill()) break;
    heed();
  }
  if (stage_ != Stage::over) return State::under_way;
  return refusal_ == Refusal::none ? State::proved : State::refused;
}

bool Handshake::finish_connecting() {
  int error = 0;
  switch (has_connected(connection_.socket(), &error)) {
    case Reached::not_yet:
      return false;
    case Reached::no:
      fail(error);
      return false;
    case Reached::yes:
      break;
  }
  if (own_->tls) {
    connection_.encrypt(own_->tls, TlsStream::Role::connector);
    stage_ = Stage::securing;
  } else {
    begin_greeting();
  }
  return true;
}

void Handshake::begin_greeting() {
  if (role_ == Role::connector) say(own_greeting_);
  expect(Stage::greeting, sizeof(Greeting));
}

/// Whether the connection is encrypted now. A connector learns only afterwards whether its certificate was accepted.
bool Handshake::secure() {
  TlsStream* const tls = connection_.tls();
  switch (tls->shake_hands()) {
    case TlsStream::Shaking::under_way:
      return false;
    case TlsStream::Shaking::done:
      begin_greeting();
      return true;
    case TlsStream::Shaking::failed:
      break;
  }
  if (const auto first = tls->plain_beginning()) {
    const bool is_rank = *first == static_cast<std::byte>(kMagic[0]);
    connection_.stop_encrypting();
    if (!is_rank) {
      refuse(Refusal::stranger, "does not speak as a rank does");
      return false;
    }
    if (role_ == Role::acceptor)
      say(Greeting{
          .magic = kMagic, .protocol = kProtocol, .encryption = Encryption::tls, .version = {}, .nonce = {}});
    refuse(Refusal::encryption,
           std::string("does not encrypt, and this rank does: expected TLS, found plain TCP") + kAllOrNone);
    return stage_ != Stage::over;
  }
  if (tls->complaint().empty())
    refuse(Refusal::hung_up, "has ended the connection before it was proved");
  else
    refuse_for_tls();
  return stage_ != Stage::over;
}

/// Its alert is on the way.
void Handshake::refuse_for_tls() {
  refuse(Refusal::encryption, connection_.tls()->complaint());
  stage_ = Stage::last_words;
  to_send_ = sent_ = 0;
}

/// Whether that is over: a socket that is closed with something unread takes back what the other has not read yet.
bool Handshake::linger() {
  std::array<std::byte, 4096> unread;
  if (lingers_until_ == Clock::time_point{}) lingers_until_ = Clock::now() + kLinger;
  while (Clock::now() < lingers_until_) {
    const ssize_t count = ::recv(connection_.get(), unread.data(), unread.size(), MSG_DONTWAIT);
    if (count > 0 || (count < 0 && errno == EINTR)) continue;
    if (count < 0 && errno == EAGAIN) return false;
    break;
  }
  stage_ = Stage::over;
  return false;
}

ByteStream Handshake::take() {
  if (TlsStream* const tls = connection_.tls()) tls->read_ahead();
  return std::move(connection_);
}

/// Whether everything has been sent.
bool Handshake::flush() {
  if (stage_ == Stage::last_words && connection_.tls() != nullptr && !connection_.tls()->flush() &&
      errno == EAGAIN)
    return false;
  while (sent_ < to_send_) {
    const ssize_t count = connection_.send(outgoing_.data() + sent_, to_send_ - sent_);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return false;
    if (count < 0) {
      hung_up("has ended the connection");
      return false;
    }
    sent_ += static_cast<std::size_t>(count);
  }
  return true;
}

/// Whether everything that is expected has come. Reads nothing beyond it.
bool Handshake::fill() {
  while (received_ < to_receive_) {
    const ssize_t count = connection_.receive(incoming_.data() + received_, to_receive_ - received_);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return false;
    if (count <= 0) {
      hung_up("has ended the connection before it was proved");
      return false;
    }
    received_ += static_cast<std::size_t>(count);
  }
  return true;
}

void Handshake::heed() {
  if (stage_ == Stage::greeting)
    heed_greeting();
  else
    heed_claim();
}

void Handshake::heed_greeting() {
  std::memcpy(&peer_greeting_, incoming_.data(), sizeof peer_greeting_);
  if (!own_->tls && incoming_[0] == kTlsBeginning) {
    say(own_greeting_);
    return refuse(
        Refusal::encryption,
        std::string("encrypts, and this rank does not: expected plain TCP, found TLS") + kAllOrNone);
  }
  if (peer_greeting_.magic != kMagic) return refuse(Refusal::stranger, "does not speak as a rank does");
  if (!own_->tls && peer_greeting_.encryption != Encryption::none)
    return refuse(
        Refusal::encryption,
        std::string("encrypts, and this rank does not: expected plain TCP, found TLS") + kAllOrNone);
  // An acceptor answers before it refuses, so that the other, too, can name both versions.
  if (role_ == Role::acceptor) say(own_greeting_);
  if (peer_greeting_.protocol != kProtocol || peer_greeting_.version != own_greeting_.version) {
    refuse(Refusal::version, "runs Hemiola " + version_text(peer_greeting_.version, peer_greeting_.protocol) +
                                 ", this rank " + version_text(own_greeting_.version, kProtocol) +
                                 "; install one version for all ranks");
    return;
  }
  if (role_ == Role::connector) say_claim(Refusal::none);
  expect(Stage::claim, sizeof(Claim));
}

void Handshake::heed_claim() {
  Claim claim;
  std::memcpy(&claim, incoming_.data(), sizeof claim);
  const bool was_refused = role_ == Role::connector && claim.verdict != Refusal::none;
  const Refusal verdict = was_refused ? std::min(claim.verdict, Refusal::stranger) : judge(claim);
  if (role_ == Role::acceptor) {
    purpose_ = claim.purpose;
    say_claim(verdict);
  }
  if (verdict != Refusal::none) return refuse(verdict, text_of(verdict, claim));
  peer_rank_ = Rank{claim.rank};
  stage_ = Stage::last_words;
}

Refusal Handshake::judge(const Claim& claim) const {
  const Role other = role_ == Role::connector ? Role::acceptor : Role::connector;
  if (!equal_in_constant_time(claim.proof, proof_of(other, claim))) return Refusal::token;
  if (Hash128{claim.job_high, claim.job_low} != own_->job) return Refusal::job;
  if (claim.incarnation != own_->incarnation) return Refusal::incarnation;
  if (claim.rank < 0 || (expected_ && Rank{claim.rank} != *expected_)) return Refusal::other_rank;
  if (role_ == Role::connector && claim.purpose != purpose_) return Refusal::stranger;
  return Refusal::none;
}

/// A refused process learns the reason, and nothing that would help it to come in.
void Handshake::say_claim(Refusal verdict) {
  Claim claim{};
  if (verdict == Refusal::none) claim = own_claim();
  claim.verdict = verdict;
  if (verdict == Refusal::incarnation) claim.incarnation = own_->incarnation;
  say(claim);
}

Handshake::Claim Handshake::own_claim() const {
  Claim claim{};
  claim.incarnation = own_->incarnation;
  claim.rank = own_->rank;
  claim.purpose = purpose_;
  claim.job_high = own_->job.high;
  claim.job_low = own_->job.low;
  claim.proof = proof_of(role_, claim);
  return claim;
}

/// Both greetings are part of it, with the random numbers in them: a greeting is worth nothing another time.
Sha256Digest Handshake::proof_of(Role role, const Claim& claim) const {
  const bool own_first = role_ == Role::connector;
  const Greeting& connectors = own_first ? own_greeting_ : peer_greeting_;
  const Greeting& acceptors = own_first ? peer_greeting_ : own_greeting_;
  const auto claimed = std::as_bytes(std::span(&claim, 1)).first(offsetof(Claim, proof));
  return hmac_sha256(own_->token.secret(),
                     {std::as_bytes(std::span(&role, 1)), std::as_bytes(std::span(&connectors, 1)),
                      std::as_bytes(std::span(&acceptors, 1)), claimed});
}

template <typename Message>
void Handshake::say(const Message& message) {
  if (sent_ == to_send_) sent_ = to_send_ = 0;
  std::memcpy(outgoing_.data() + to_send_, &message, sizeof message);
  to_send_ += sizeof message;
}

void Handshake::expect(Stage stage, std::size_t bytes) {
  stage_ = stage;
  to_receive_ = bytes;
  received_ = 0;
}

std::string Handshake::text_of(Refusal refusal, const Claim& claim) const {
  const bool by_other = role_ == Role::connector && claim.verdict != Refusal::none;
  // Unproved where the token differs, so it is the other's claim.
  const std::string says =
      role_ == Role::acceptor ? "(it says that it is rank " + std::to_string(claim.rank) + ") " : "";
  switch (refusal) {
    case Refusal::token:
      return says + "and this rank do not have one token: it is of another job, or a stranger";
    case Refusal::job:
      return says + "is of another job; start all ranks with one job's name";
    case Refusal::incarnation:
      return "is of this job after " + restarts(claim.incarnation) + ", this rank after " +
             restarts(own_->incarnation);
    case Refusal::other_rank:
      return by_other ? "has expected another rank"
                      : "is rank " + std::to_string(claim.rank) +
                            (expected_ ? ", and rank " + std::to_string(*expected_) + " was expected" : "");
    default:
      return "has refused the connection";
  }
}

/// The end may have a reason that TLS knows: the other's alert comes before it.
void Handshake::hung_up(const std::string& what) {
  if (refusal_ != Refusal::none) {  // it does not read why
    stage_ = Stage::over;
    return;
  }
  const TlsStream* const tls = connection_.tls();
  if (tls != nullptr && !tls->complaint().empty())
    refuse(Refusal::encryption, tls->complaint());
  else
    refuse(Refusal::hung_up, what);
  stage_ = Stage::over;
}

void Handshake::refuse(Refusal refusal, const std::string& what) {
  refusal_ = refusal;
  reason_ = "the process at " + other_.text() + " ";
  if (refusal == Refusal::encryption && expected_ && *expected_ != kNewcomer)
    reason_ += "(rank " + std::to_string(*expected_) + " was expected there) ";
  reason_ += what;
  stage_ = sent_ < to_send_ && refusal != Refusal::hung_up ? Stage::last_words : Stage::over;
}

void Handshake::fail(int error) {
  error_ = error;
  const bool has_room = !is_for_lack_of_room(error);
  refusal_ = has_room ? Refusal::unreachable : Refusal::no_room;
  reason_ = has_room ? other_.text() + " cannot be reached: " + std::strerror(error)
                     : lack_of_room("a connection to " + other_.text(), error);
  stage_ = Stage::over;
}

}  // namespace hemiola
