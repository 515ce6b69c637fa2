// The TCP wire beside a raw loop of send, recv and poll, two processes over loopback: what a message's way takes, and the
// processor's time for a GiB. Rounds of both are interleaved; medians, with the ratio of each round's two.
//   cmake --build build/<folder> --target tcp_wire_benchmark && build/<folder>/tcp_wire_benchmark [rounds]
#include "hemiola/runtime/wire/tcp/tcp_wire.hpp"

#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include "hemiola/base/bytes.hpp"
#include "hemiola/runtime/net/tcp_socket.hpp"

namespace {

using namespace hemiola;

/// Sends so many bytes to the other, and receives so many.
using Exchange = std::function<void(std::size_t out, std::size_t in)>;

struct Buffers {
  Bytes out = Bytes(1 << 20, std::byte{1}), in = Bytes(1 << 20, std::byte{2});
};

Exchange over_wire(TcpWire* wire, Rank other, Buffers* buffers) {
  return [=](std::size_t out, std::size_t in) {
    std::vector<Request> requests;
    if (out > 0) requests.push_back(wire->send(other, buffers->out.data(), out, Source::settled));
    if (in > 0) requests.push_back(wire->receive(other, {.dst = buffers->in.data()}, in));
    for (const Request request : requests)
      while (!wire->done(request))
        if (!wire->progress()) wire->wait(5000);
  };
}

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

double cpu_s() {
  rusage used;
  ::getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) { return double(t.tv_sec) + 1e-6 * double(t.tv_usec); };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

double now_s() {
  timespec now;
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return double(now.tv_sec) + 1e-9 * double(now.tv_nsec);
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

/// Half a round trip, median of many, in microseconds.
double latency_us(const Exchange& exchange, bool is_first, std::size_t bytes) {
  std::vector<double> trips;
  for (int i = 0; i < 500; ++i) {
    const double began = now_s();
    if (is_first) exchange(bytes, 0);
    exchange(0, bytes);
    if (!is_first) exchange(bytes, 0);
    trips.push_back((now_s() - began) / 2 * 1e6);
  }
  return median(trips);
}

struct Stream {
  double cpu_s_per_gib;  ///< of both ends
  double gib_per_s;
};

Stream stream(const Exchange& exchange, const Exchange& tell, Buffers* buffers, bool both_ways,
              bool is_first) {
  constexpr int kMessages = 300;
  constexpr std::size_t kBytes = 1 << 20;
  tell(8, 8);
  const double cpu_before = cpu_s(), began = now_s();
  for (int i = 0; i < kMessages; ++i)
    exchange(both_ways || is_first ? kBytes : 0, both_ways || !is_first ? kBytes : 0);
  tell(8, 8);
  const double own = cpu_s() - cpu_before, took = now_s() - began;
  std::memcpy(buffers->out.data(), &own, sizeof own);
  tell(8, 8);
  double others = 0;
  std::memcpy(&others, buffers->in.data(), sizeof others);
  const double gib = kMessages * (both_ways ? 2 : 1) * double(kBytes) / double(1 << 30);
  return {(own + others) / gib, gib / took};
}

struct Row {
  const char* name;
  std::vector<double> wire, raw;
};

void measure(const Exchange& wire, const Exchange& raw, Buffers* buffers, bool is_first, int rounds) {
  std::vector<Row> rows{{"8 B, us", {}, {}},
                        {"4 KiB, us", {}, {}},
                        {"64 KiB, us", {}, {}},
                        {"1 MiB one way, CPU s/GiB", {}, {}},
                        {"1 MiB one way, GiB/s", {}, {}},
                        {"1 MiB both ways, CPU s/GiB", {}, {}},
                        {"1 MiB both ways, GiB/s", {}, {}}};
  for (int round = 0; round < rounds; ++round)
    for (const bool is_wire : {round % 2 == 0, round % 2 != 0}) {
      const Exchange& exchange = is_wire ? wire : raw;
      std::size_t row = 0;
      const auto note = [&](double value) {
        (is_wire ? rows[row].wire : rows[row].raw).push_back(value);
        ++row;
      };
      for (const std::size_t bytes : {8u, 4096u, 65536u}) note(latency_us(exchange, is_first, bytes));
      for (const bool both_ways : {false, true}) {
        const Stream found = stream(exchange, raw, buffers, both_ways, is_first);
        note(found.cpu_s_per_gib);
        note(found.gib_per_s);
      }
    }
  if (!is_first) return;
  std::printf("%-28s %9s %9s %8s (medians of %d rounds; the ratio's quartiles)\n", "", "wire", "raw loop",
              "ratio", rounds);
  for (const Row& row : rows) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < row.wire.size(); ++i) ratios.push_back(row.wire[i] / row.raw[i]);
    std::ranges::sort(ratios);
    std::printf("%-28s %9.3f %9.3f %8.2f (%.2f to %.2f)\n", row.name, median(row.wire), median(row.raw),
                median(ratios), ratios[ratios.size() / 4], ratios[3 * ratios.size() / 4]);
  }
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
  measure(over_wire(&wire, other, &buffers), over_socket(socket.get(), &buffers), &buffers, is_first, rounds);
  if (!is_first) ::_exit(0);
  ::wait(nullptr);
  return 0;
}
