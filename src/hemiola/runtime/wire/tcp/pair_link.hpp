// SPDX-License-Identifier: Apache-2.0
// The way of two ranks to one connection, at the first need of either, and again after every reset.
//
// Either connects when it has something to send. Where both do at the same time, the connection that the lower rank has
// begun is used; the higher one uses one that it has begun itself only once the lower one has said so. On every connection
// the connector first says in which epoch it is. A rank that is behind keeps a newer connection until it comes there; one
// that is ahead keeps the old ones open until it has a new one, so that the end of a connection always means that the
// other has left, and not that it has reset.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hemiola/runtime/net/handshake.hpp"
#include "hemiola/runtime/wire/tcp/poller.hpp"
#include "hemiola/runtime/wire/tcp/stream_socket.hpp"

namespace hemiola {

class PairLink {
 public:
  /// An address at which a rank listens, and the number of its NIC there.
  struct Place {
    Endpoint endpoint;
    std::size_t nic = 0;
  };
  struct Route {
    bool is_lower = false;      ///< this rank is the lower one of the two
    Rank expected{0};           ///< the other, as its credentials name it
    std::vector<Place> places;  ///< where it listens, best first
    std::uint64_t purpose = 0;
    const Credentials* own = nullptr;
    std::vector<Place> own_places = {};  ///< of this rank
  };

  /// News of its sockets bear `key`. `poller` outlives it.
  PairLink(Route route, Poller* poller, std::uint32_t key);

  /// Usable only where it is one.
  StreamSocket* socket() { return &socket_; }

  /// Somebody who has proved to be the other; epoch unknown.
  void arrive(ByteStream socket);
  /// Goes on with the open connection, and connects if one is `wanted` and there is none.
  void progress(bool wanted);
  /// Whether something is under way that may go on without news from the kernel.
  bool is_connecting() const { return attempt_ || unanswered_ || retries_ > 0; }
  void reset(std::uint64_t epoch);
  std::uint64_t epoch() const { return epoch_; }
  /// The highest of the epochs below `limit` that the other has come with, if it is above the present one; else 0.
  std::uint64_t later_epoch(std::uint64_t limit) const;
  /// Whether the way over which it is connected is cut, as far as the kernel knows.
  bool is_cut() const;
  /// Lets go of the open connection.
  StreamSocket take();
  /// Keeps one open for the other's sake until there is a new one.
  void keep_open(StreamSocket socket);
  /// The places of this NIC are tried last from now on. How it is called at the other's end.
  Endpoint shun(std::size_t nic);
  /// The NIC of the latest connection.
  std::size_t nic() const { return nic_; }
  /// Closes the connection, over which the other has sent impossible bytes.
  void hang_up();
  /// As StreamSocket::bound_queue, for every connection from now on.
  void bound_queue(double bytes_per_ns);

  /// It could not be reached, or has refused.
  bool is_given_up() const { return !lost_.empty(); }
  /// Why nothing more will come from the other; empty while it may.
  std::string lost() const;
  /// Whether that is because this process has no room for a connection, and not the other's fault.
  bool lacks_room() const { return lacks_room_; }

 private:
  using Clock = std::chrono::steady_clock;

  struct OfEpoch {
    ByteStream socket;
    std::uint64_t epoch;
  };

  void heed_arrivals();
  void place(ByteStream socket, std::uint64_t epoch);
  void heed_attempt();
  void heed_failure();
  void heed_answer();
  void use_accepted(ByteStream socket);
  void use_kept();
  void start();
  void use(ByteStream socket);
  void retry_later();
  void close(ByteStream socket);
  void abandon_attempt();
  std::chrono::seconds answer_limit() const;
  std::size_t own_nic(const ByteStream& socket) const;

  Route route_;
  Poller* poller_;
  std::uint32_t key_;
  std::uint64_t epoch_ = 0;
  StreamSocket socket_;
  double queue_bytes_per_ns_ = 0;     ///< 0: not bounded
  std::vector<ByteStream> arrivals_;  ///< that have not said their epoch yet
  std::vector<OfEpoch> kept_;  ///< of this epoch, while an attempt of our own is under way, or of a later one
  std::vector<ByteStream> old_;  ///< open for the other's sake
  std::string lost_;
  bool lacks_room_ = false;

  std::optional<Handshake> attempt_;
  Clock::time_point attempted_at_{};
  ByteStream unanswered_;  ///< proved, and the lower rank has not said yet that it is used
  std::size_t place_ = 0;  ///< of the present attempt
  std::size_t nic_ = 0;
  bool all_have_refused_ = true;  ///< each place of this round
  int retries_ = 0;               ///< since something was wanted
  Clock::time_point first_failure_{};
  Clock::time_point retry_at_{};
};

}  // namespace hemiola
