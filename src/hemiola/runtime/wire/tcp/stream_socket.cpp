// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/wire/tcp/stream_socket.hpp"

#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <span>

namespace hemiola {
namespace {

/// The kernel's bytes of one connection keep the port busy for so long, beyond a round trip. A process that the
/// scheduler keeps from its core for a slice or less loses nothing by it.
constexpr double kQueued_ns = 0.7e6;
/// A message's header and some small ones; below, system calls cost more than order brings.
constexpr double kLeastQueued_bytes = 8 << 10;
/// Most that every system lets a process ask for (net.core.wmem_max as kernels come).
constexpr double kMostQueued_bytes = 208 << 10;

/// States of a connection, as the kernel numbers them.
constexpr std::uint8_t kEstablished = 1, kCloseWait = 8;

/// So little is sooner copied here than the kernel has read a list of its places.
constexpr std::size_t kGathered_bytes = 256;

/// Repetitions without an answer after which a way counts as cut: at 0.2 s and 0.6 s. A short break has one.
constexpr int kUnanswered = 2;

/// All zero where there is no connection.
tcp_info info_of(int descriptor) {
  tcp_info info{};
  socklen_t size = sizeof info;
  ::getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &size);
  return info;
}

/// The shortest that the kernel has seen on a connection; 0 where it has seen none.
double round_trip_ns(int descriptor) {
  const tcp_info info = info_of(descriptor);
  return info.tcpi_min_rtt == ~0U ? 0 : info.tcpi_min_rtt * 1e3;
}

std::size_t total(std::span<const iovec> parts) {
  std::size_t bytes = 0;
  for (const iovec& part : parts) bytes += part.iov_len;
  return bytes;
}

void gather(std::span<const iovec> parts, std::byte* to) {
  for (const iovec& part : parts)
    to = std::copy_n(static_cast<const std::byte*>(part.iov_base), part.iov_len, to);
}

}  // namespace

void StreamSocket::note(std::uint32_t events) {
  const bool is_ending = (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
  if ((events & EPOLLIN) != 0 || is_ending) readable_ = !ended_;
  if ((events & EPOLLOUT) != 0) writable_ = true;
  if (is_ending) to_the_last_ = true;
}

void StreamSocket::bound_queue(double bytes_per_ns) {
  const double wanted = bytes_per_ns * (kQueued_ns + round_trip_ns(get()));
  if (wanted > kMostQueued_bytes) return;
  const int bytes =
      static_cast<int>(std::max(wanted, kLeastQueued_bytes));  // the kernel takes twice as much, for its own
  ::setsockopt(get(), SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
}

ssize_t StreamSocket::read_once(iovec* parts, int count) {
  if (TlsStream* const tls = connection_.tls()) [[unlikely]]
    return tls->receive({parts, static_cast<std::size_t>(count)});
  return count == 1 ? ::recv(get(), parts->iov_base, parts->iov_len, 0) : ::readv(get(), parts, count);
}

std::size_t StreamSocket::read(iovec* parts, int count) {
  ssize_t bytes = 0;
  do {
    bytes = read_once(parts, count);
  } while (bytes < 0 && errno == EINTR);
  if (bytes > 0) {
    // Less than there was room for: that was all, and more will be told.
    readable_ = to_the_last_ || static_cast<std::size_t>(bytes) == total({parts, std::size_t(count)}) ||
                (connection_.tls() != nullptr && connection_.tls()->can_go_on());
    return static_cast<std::size_t>(bytes);
  }
  ended_ = bytes == 0 || errno != EAGAIN;
  failed_ = ended_ && bytes < 0 && errno != ECONNRESET;
  readable_ = to_the_last_ = false;
  return 0;
}

/// A connection that has broken is found so by reading, behind the earlier bytes.
std::size_t StreamSocket::write(iovec* parts, int count) {
  const std::span<const iovec> all(parts, static_cast<std::size_t>(count));
  const std::size_t wanted = total(all);
  if (TlsStream* const tls = connection_.tls()) [[unlikely]] {
    const ssize_t bytes = tls->send(all);
    writable_ = bytes >= 0 && (static_cast<std::size_t>(bytes) == wanted || tls->can_go_on());
    return bytes > 0 ? static_cast<std::size_t>(bytes) : 0;
  }
  std::array<std::byte, kGathered_bytes> gathered;
  const bool gathers = wanted <= gathered.size();
  if (gathers) gather(all, gathered.data());
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = all.size();
  ssize_t bytes = 0;
  do {
    bytes = gathers ? ::send(get(), gathered.data(), wanted, MSG_NOSIGNAL)
                    : ::sendmsg(get(), &message, MSG_NOSIGNAL);
  } while (bytes < 0 && errno == EINTR);
  writable_ = bytes >= 0 && static_cast<std::size_t>(bytes) == wanted;
  return bytes > 0 ? static_cast<std::size_t>(bytes) : 0;
}

std::size_t StreamSocket::unacknowledged() const {
  int bytes = 0;
  if (::ioctl(get(), SIOCOUTQ, &bytes) != 0 || bytes <= 0) return 0;
  const std::size_t behind_a_record = connection_.tls() != nullptr ? TlsStream::kLongestRecord : 0;
  return static_cast<std::size_t>(bytes) + behind_a_record;
}

bool StreamSocket::is_open() const {
  const auto state = info_of(get()).tcpi_state;
  return state == kEstablished || state == kCloseWait;
}

bool StreamSocket::is_way_cut(int descriptor) {
  const tcp_info info = info_of(descriptor);
  return info.tcpi_retransmits >= kUnanswered || info.tcpi_probes >= kUnanswered;
}

}  // namespace hemiola
