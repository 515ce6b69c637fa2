// SPDX-License-Identifier: Apache-2.0
// The UCX wire beside the TCP wire, two processes over loopback or between two networks, with UCX's TCP transport or with
// those given.
//   cmake --build build/<folder> --target ucx_wire_benchmark
//   build/<folder>/ucx_wire_benchmark [rounds [transports [path of libucp.so.0, else the system's]]]
//       [--between NETWORK ADDRESS NETWORK ADDRESS]
#include "hemiola/runtime/wire/ucx/ucx_wire.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

#include "two_ways.hpp"

namespace {

using namespace hemiola;
using namespace hemiola::benchmarks;

std::unique_ptr<UcxWire> connect_ucx(const Ends& ends, const char* transports) {
  UcxPlace place(UcxContext::open(UcxLibrary::open({}), transports));
  const Bytes own = place.worker->address();
  const std::string others = ends.trade({reinterpret_cast<const char*>(own.data()), own.size()});
  const auto* const address = reinterpret_cast<const std::byte*>(others.data());
  std::vector<UcxPeer> peers(2);
  peers[static_cast<std::size_t>(ends.other)] = {
      .key = 0, .desk = {}, .worker = {address, address + others.size()}};
  return std::make_unique<UcxWire>(std::move(place), ends.self, std::move(peers));
}

}  // namespace

int main(int argc, char** argv) {
  const auto where = places(&argc, argv);
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 11;
  const char* const transports = argc > 2 ? argv[2] : "tcp";
  if (argc > 3 && ::dlopen(argv[3], RTLD_NOW) == nullptr) return std::puts(::dlerror()), 2;
  const Token token = Token::random();
  const Ends ends(where);
  const auto tcp = connect_tcp(ends, token);
  const auto ucx = connect_ucx(ends, transports);
  Buffers buffers;
  const Exchange by_ucx = over_wire(ucx.get(), ends.other, &buffers);
  by_ucx(8, 8);
  if (ends.is_first)
    std::printf("UCX %s, %s, %s\n", UcxLibrary::open({}).version().c_str(),
                UcxLibrary::open({}).path().c_str(), ucx->carrier(ends.other).c_str());
  const Contest contest{"UCX", by_ucx, "TCP", over_wire(tcp.get(), ends.other, &buffers),
                        !ends.place.network.empty()};
  measure(contest, &buffers, ends.is_first, rounds);
  return ends.end();
}
