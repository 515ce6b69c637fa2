// SPDX-License-Identifier: Apache-2.0
// The bytes of one connection, encrypted. OpenSSL reads and writes memory here, and this object the socket, so that several
// records go by one system call, and nothing blocks.
//
// Bytes count as sent once the kernel has the whole record that holds them. Those that are encrypted and not sent yet are
// kept; the caller offers them again, as for any socket that has taken a part, and they are left out then.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hemiola/runtime/net/tls/tls_context.hpp"

namespace hemiola {

/// Used by one thread at a time. The socket is its owner's, and does not block.
class TlsStream {
 public:
  enum class Role { connector, acceptor };
  /// A key of AES-GCM is good for 2^24 records [RFC 8446, §5.5].
  /// The longest record, before encryption.
  static constexpr std::size_t kRecordBytes = std::size_t{16} << 10;
  /// Encrypted, with its head and its check sum, and a little more. Nobody can read a part of a record.
  static constexpr std::size_t kLongestRecord = kRecordBytes + 64;
  static constexpr std::uint64_t kRecordsPerKey = std::uint64_t{1} << 23;

  /// Throws a LostRankError where there is no memory.
  TlsStream(std::shared_ptr<const TlsContext> context, int socket, Role role,
            std::uint64_t records_per_key = kRecordsPerKey);
  ~TlsStream();
  TlsStream(const TlsStream&) = delete;

  enum class Shaking { under_way, done, failed };
  /// Goes on with the handshake as far as it can now. Afterwards nothing has been read beyond it.
  Shaking shake_hands();
  /// The first byte of a peer that does not begin as TLS does; of it nothing has been read.
  std::optional<std::byte> plain_beginning() const { return plain_beginning_; }
  /// Where TLS has failed for another reason than the connection's end: why, to follow "the process at …".
  const std::string& complaint() const { return complaint_; }
  /// Whether bytes wait to be sent, an alert among them; and sends what it can.
  bool flush();
  bool wants_to_write() const { return sent_ < out_.size(); }

  /// From now on several records are read at once.
  void read_ahead() { reads_ahead_ = true; }
  /// As readv, sendmsg and recv with MSG_PEEK: a count, 0 at the end, −1 and errno. Fewer bytes than were asked for mean
  /// that there are no more now, but where `can_go_on` says otherwise.
  ssize_t receive(std::span<const iovec> parts);
  ssize_t send(std::span<const iovec> parts);
  ssize_t peek(void* into, std::size_t bytes);
  /// Whether the latest `receive`, or `send`, ended early for others' sake.
  bool can_go_on() const { return can_go_on_; }

  static int on_verification(int is_good, openssl::Verification* verification);

 private:
  struct Record {
    std::size_t end;    ///< in `out_`
    std::size_t bytes;  ///< before encryption
  };
  class Cursor;

  static int write_bio(openssl::Bio* bio, const char* data, int size);
  static int read_bio(openssl::Bio* bio, char* into, int size);
  static long control_bio(openssl::Bio* bio, int command, long, void*);
  static const openssl::BioMethod* bio_method(const openssl::Functions& functions);

  int take(char* into, int size);
  bool refill();
  bool begins_as_tls();
  ssize_t failed(int result);
  void explain();
  std::string refused_certificate(int alert) const;
  bool encrypt(Cursor* cursor);
  std::size_t take_sent();

  const std::shared_ptr<const TlsContext> context_;
  const openssl::Functions& f_;
  const int socket_;
  const std::uint64_t records_per_key_;
  openssl::Session* session_ = nullptr;
  openssl::Bio* bio_ = nullptr;

  bool has_begun_ = false;  ///< the other's first byte has been seen
  bool reads_ahead_ = false;
  bool can_go_on_ = false;
  std::optional<std::byte> plain_beginning_;
  std::string complaint_;
  std::optional<int> end_;  ///< errno of the connection's end; 0 where the other has ended it
  int socket_error_ = 0;    ///< the latest of the socket; EAGAIN where it only has nothing, or no room
  bool has_hung_up_ = false;

  std::vector<std::byte> in_;  ///< encrypted; the present bytes are those from `in_begin_` to `in_end_`
  std::size_t in_begin_ = 0, in_end_ = 0;
  int refills_left_ = 0;

  std::vector<std::byte> out_;  ///< encrypted
  std::size_t sent_ = 0;        ///< of it
  std::vector<Record> records_;
  std::size_t first_record_ = 0;  ///< that has not been sent
  std::uint64_t record_count_ = 0;
  std::vector<std::byte> gathered_;
};

}  // namespace hemiola
