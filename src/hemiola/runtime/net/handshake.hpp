// SPDX-License-Identifier: Apache-2.0
// Two processes find out here, over a new connection, that both are ranks of one job. Each proves that it knows the
// job's token, by an HMAC over fresh random numbers of both. Only then does the other look at its further words.
// Messages have fixed sizes. Where the job has certificates (credentials.hpp), TLS comes first, and encrypts all of it; a
// process that has them and one that has not tell each other so. Else later bytes are neither encrypted nor signed.
//
//   connector                                    acceptor
//   greeting: versions, random number  ───────▶
//                                      ◀───────  greeting
//   claim: job, rank, purpose, proof   ───────▶  checks
//                          checks      ◀───────  verdict; claim: job, rank, purpose, proof
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "hemiola/base/sha256.hpp"
#include "hemiola/runtime/net/byte_stream.hpp"
#include "hemiola/runtime/net/credentials.hpp"
#include "hemiola/runtime/net/endpoint.hpp"

namespace hemiola {

/// Why there is no connection.
enum class Refusal : std::uint32_t {
  none,
  token,        ///< the other does not know the token
  job,          ///< it does, and is of another job
  incarnation,  ///< it is of this job before or after a restart
  version,      ///< it runs another version of Hemiola
  other_rank,   ///< it is another rank than was expected
  stranger,     ///< it does not speak as a rank does
  hung_up,      ///< it has ended the connection; it may be tried again
  unreachable,  ///< there was none
  no_room,      ///< this process has none for it; it may be tried again
  encryption,   ///< one of both does not encrypt, or does not accept the other's certificate
};

/// One end of one connection. Never blocks. Its owner gives up on it when it takes too long.
class Handshake {
 public:
  enum class State { under_way, proved, refused };

  /// Connects to `to`, where `expected` should be, if somebody is. `purpose` is for the other to see. `own` outlives it.
  static Handshake connect(const Endpoint& to, const Credentials* own, std::uint64_t purpose,
                           std::optional<Rank> expected = {});
  /// With somebody from `from` who has connected to us.
  static Handshake accept(Descriptor socket, const Endpoint& from, const Credentials* own);

  /// Goes as far as it can now.
  State progress();

  /// For poll: the socket, and whether it waits to be written to (else to be read).
  int descriptor() const { return connection_.get(); }
  bool wants_to_write() const {
    return stage_ == Stage::connecting || sent_ < to_send_ ||
           (connection_.tls() != nullptr && connection_.tls()->wants_to_write());
  }

  const Endpoint& other() const { return other_; }
  /// Whether the other's system has not answered yet. Once it has, the other itself may still be late.
  bool is_connecting() const { return stage_ == Stage::connecting; }

  /// Once proved: the other's rank, its purpose, and the connection, from which nothing else has been read.
  Rank rank() const { return peer_rank_; }
  std::uint64_t purpose() const { return purpose_; }
  ByteStream take();

  /// Once refused: why, in one line that names the other's address.
  Refusal refusal() const { return refusal_; }
  const std::string& reason() const { return reason_; }
  /// Where the other could not be reached: the system's number for it.
  int error() const { return error_; }

 private:
  enum class Encryption : std::uint32_t { none, tls };
  struct Greeting {
    std::array<char, 8> magic;
    std::uint32_t protocol;
    Encryption encryption;
    std::array<char, 32> version;  ///< ends with a zero
    std::array<std::byte, 32> nonce;
  };
  struct Claim {
    Refusal verdict;  ///< of the other's claims
    std::uint32_t incarnation;
    std::int32_t rank;
    std::uint32_t unused;
    std::uint64_t purpose;
    std::uint64_t job_high, job_low;
    Sha256Digest proof;
  };
  enum class Role : std::uint8_t { connector = 'c', acceptor = 'a' };
  enum class Stage { connecting, securing, greeting, claim, last_words, lingering, over };
  using Clock = std::chrono::steady_clock;

  Handshake(Descriptor socket, const Endpoint& other, const Credentials* own, Role role);

  bool finish_connecting();
  bool secure();
  void begin_greeting();
  void refuse_for_tls();
  bool linger();
  bool flush();
  bool fill();
  void heed();
  void heed_greeting();
  void heed_claim();
  template <typename Message>
  void say(const Message& message);
  void expect(Stage stage, std::size_t bytes);
  void say_claim(Refusal verdict);
  Claim own_claim() const;
  Sha256Digest proof_of(Role role, const Claim& claim) const;
  Refusal judge(const Claim& claim) const;
  void refuse(Refusal refusal, const std::string& what);
  std::string text_of(Refusal refusal, const Claim& claim) const;
  void hung_up(const std::string& what);
  void fail(int error);

  ByteStream connection_;
  Endpoint other_;
  const Credentials* own_;
  Role role_;
  std::optional<Rank> expected_ = {};
  std::uint64_t purpose_ = 0;
  Stage stage_ = Stage::greeting;
  Refusal refusal_ = Refusal::none;
  std::string reason_ = {};
  int error_ = 0;
  Rank peer_rank_{0};
  Greeting own_greeting_{}, peer_greeting_{};
  std::array<std::byte, sizeof(Greeting) + sizeof(Claim)> outgoing_{};
  std::size_t to_send_ = 0, sent_ = 0;
  Clock::time_point lingers_until_{};
  std::array<std::byte, sizeof(Greeting)> incoming_{};
  std::size_t to_receive_ = 0, received_ = 0;
};

}  // namespace hemiola
