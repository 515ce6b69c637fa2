#include "hemiola/runtime/wire/tcp/stream_socket.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>
#include <span>

namespace hemiola {
namespace {

std::size_t total(std::span<const iovec> parts) {
  std::size_t bytes = 0;
  for (const iovec& part : parts) bytes += part.iov_len;
  return bytes;
}

}  // namespace

void StreamSocket::note(std::uint32_t events) {
  const bool is_ending = (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
  if ((events & EPOLLIN) != 0 || is_ending) readable_ = !ended_;
  if ((events & EPOLLOUT) != 0) writable_ = true;
  if (is_ending) to_the_last_ = true;
}

std::size_t StreamSocket::read(iovec* parts, int count) {
  ssize_t bytes = 0;
  do {
    bytes = ::readv(get(), parts, count);
  } while (bytes < 0 && errno == EINTR);
  if (bytes > 0) {
    // Less than there was room for: that was all, and more will be told.
    readable_ = to_the_last_ || static_cast<std::size_t>(bytes) == total({parts, std::size_t(count)});
    return static_cast<std::size_t>(bytes);
  }
  ended_ = bytes == 0 || errno != EAGAIN;
  readable_ = to_the_last_ = false;
  return 0;
}

/// A connection that has broken is found so by reading, behind what had come before.
std::size_t StreamSocket::write(iovec* parts, int count) {
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = static_cast<std::size_t>(count);
  ssize_t bytes = 0;
  do {
    bytes = ::sendmsg(get(), &message, MSG_NOSIGNAL);
  } while (bytes < 0 && errno == EINTR);
  writable_ = bytes >= 0 && static_cast<std::size_t>(bytes) == total({parts, std::size_t(count)});
  return bytes > 0 ? static_cast<std::size_t>(bytes) : 0;
}

}  // namespace hemiola
