// The TCP wire beside a raw loop of send, recv and poll, two processes over loopback.
//   cmake --build build/<folder> --target tcp_wire_benchmark && build/<folder>/tcp_wire_benchmark [rounds]
#include "hemiola/runtime/wire/tcp/tcp_wire.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <vector>

#include "hemiola/runtime/net/tcp_socket.hpp"
#include "two_ways.hpp"

namespace {

using namespace hemiola;
using namespace hemiola::benchmarks;

Exchange over_socket(int socket, Buffers* buffers) {
  return [=](std::size_t out, std::size_t in) {
    std::size_t sent = 0, received = 0;
    while (sent < out || received < in) {
      bool moved = false;
      if (received < in) {
        const ssize_t count = ::recv(socket, buffers->in.data() + received, in - received, 0);
        if (count > 0) received += static_cast<std::size_t>(count), moved = true;
      }
      if (sent < out) {
        const ssize_t count = ::send(socket, buffers->out.data() + sent, out - sent, MSG_NOSIGNAL);
        if (count > 0) sent += static_cast<std::size_t>(count), moved = true;
      }
      if (moved) continue;
      pollfd waiting{socket, short((received < in ? POLLIN : 0) | (sent < out ? POLLOUT : 0)), 0};
      ::poll(&waiting, 1, -1);
    }
  };
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 11;
  const Endpoint loopback = Endpoint::parse("127.0.0.1");
  const Token token = Token::random();
  std::vector<std::shared_ptr<Reception>> receptions;
  std::vector<std::unique_ptr<Door>> doors;
  std::vector<TcpPeer> peers;
  for (Rank rank : indices<Rank>(2)) {
    receptions.push_back(
        std::make_shared<Reception>(listen_at(loopback), Credentials{.token = token, .rank = rank}));
    doors.push_back(receptions.back()->open());
    peers.push_back({rank, doors.back()->number(), {receptions.back()->endpoint()}});
  }
  const Descriptor listener = listen_at(loopback);
  const bool is_first = ::fork() != 0;
  const Rank self{is_first ? 0 : 1}, other{1 - self};
  TcpWire wire(std::move(doors[static_cast<std::size_t>(self)]), self, peers, 1);
  Descriptor socket;
  if (is_first)
    while (!socket) socket = accept_guest(listener).socket;
  else
    socket = start_connecting(local_endpoint(listener)).socket;
  Buffers buffers;
  measure({"wire", over_wire(&wire, other, &buffers), "raw loop", over_socket(socket.get(), &buffers)},
          &buffers, is_first, rounds);
  if (!is_first) ::_exit(0);
  ::wait(nullptr);
  return 0;
}
