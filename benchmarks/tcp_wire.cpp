// SPDX-License-Identifier: Apache-2.0
// The TCP wire beside a raw loop of send, recv and poll, two processes over loopback or between two networks.
//   cmake --build build/<folder> --target tcp_wire_benchmark
//   build/<folder>/tcp_wire_benchmark [rounds] [--between NETWORK ADDRESS NETWORK ADDRESS]
#include <poll.h>
#include <sys/socket.h>

#include <cstdlib>

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
  const auto where = places(&argc, argv);
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 11;
  const Token token = Token::random();
  const Ends ends(where);
  const auto wire = connect_tcp(ends, token);
  const Descriptor listener = listen_at(ends.place.address);
  const Endpoint others = Endpoint::parse(ends.trade(local_endpoint(listener).text()));
  Descriptor socket;
  if (ends.is_first)
    while (!socket) socket = accept_guest(listener).socket;
  else
    socket = start_connecting(others).socket;
  Buffers buffers;
  const Contest contest{"wire", over_wire(wire.get(), ends.other, &buffers), "raw loop",
                        over_socket(socket.get(), &buffers), !ends.place.network.empty()};
  measure(contest, &buffers, ends.is_first, rounds);
  return ends.end();
}
