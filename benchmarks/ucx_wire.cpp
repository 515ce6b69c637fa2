// The UCX wire beside the TCP wire, two processes over loopback, with UCX's TCP transport or with those given.
//   cmake --build build/<folder> --target ucx_wire_benchmark
//   build/<folder>/ucx_wire_benchmark [rounds [transports [path of libucp.so.0, else the system's]]]
#include "hemiola/runtime/wire/ucx/ucx_wire.hpp"

#include <dlfcn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "hemiola/base/error.hpp"
#include "hemiola/runtime/net/tcp_socket.hpp"
#include "hemiola/runtime/wire/tcp/tcp_wire.hpp"
#include "two_ways.hpp"

namespace {

using namespace hemiola;
using namespace hemiola::benchmarks;

/// By a pair of sockets that the processes have had since they were one.
std::unique_ptr<UcxWire> connect_ucx(int socket, Rank self, const char* transports) {
  UcxPlace place(UcxContext::open(UcxLibrary::open({}), transports));
  const Bytes own = place.worker->address();
  ::send(socket, own.data(), own.size(), 0);
  Bytes others(64 << 10);
  const ssize_t bytes = ::recv(socket, others.data(), others.size(), 0);
  HEMIOLA_CHECK(bytes > 0, "the other process has gone");
  others.resize(static_cast<std::size_t>(bytes));
  std::vector<UcxPeer> peers(2);
  peers[static_cast<std::size_t>(1 - self)] = {.key = 0, .desk = {}, .worker = std::move(others)};
  return std::make_unique<UcxWire>(std::move(place), self, std::move(peers));
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 11;
  const char* const transports = argc > 2 ? argv[2] : "tcp";
  if (argc > 3 && ::dlopen(argv[3], RTLD_NOW) == nullptr) return std::puts(::dlerror()), 2;
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
  int sockets[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets) != 0) return 1;
  const bool is_first = ::fork() != 0;
  const Rank self{is_first ? 0 : 1}, other{1 - self};
  TcpWire tcp(std::move(doors[static_cast<std::size_t>(self)]), self, peers, 1);
  const auto ucx = connect_ucx(sockets[self], self, transports);
  Buffers buffers;
  const Exchange by_ucx = over_wire(ucx.get(), other, &buffers);
  by_ucx(8, 8);
  if (is_first)
    std::printf("UCX %s, %s, %s\n", UcxLibrary::open({}).version().c_str(),
                UcxLibrary::open({}).path().c_str(), ucx->carrier(other).c_str());
  measure({"UCX", by_ucx, "TCP", over_wire(&tcp, other, &buffers)}, &buffers, is_first, rounds);
  if (!is_first) ::_exit(0);
  ::wait(nullptr);
  return 0;
}
