// SPDX-License-Identifier: Apache-2.0
// What a message's way takes, and the processor's time for a GiB, by one way between two processes and by another: rounds of
// both are interleaved; medians, with the ratio of each round's two. The processes are on loopback, or each in a network
// namespace: then the processor's time is that of the whole machine, since the kernel carries packets in anybody's name.
#pragma once

#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "hemiola/base/bytes.hpp"
#include "hemiola/runtime/net/reception.hpp"
#include "hemiola/runtime/net/tcp_socket.hpp"
#include "hemiola/runtime/wire/tcp/tcp_wire.hpp"
#include "hemiola/runtime/wire/wire.hpp"

namespace hemiola::benchmarks {

/// Sends so many bytes to the other, and receives so many.
using Exchange = std::function<void(std::size_t out, std::size_t in)>;

struct Buffers {
  Bytes out = Bytes(1 << 20, std::byte{1}), in = Bytes(1 << 20, std::byte{2});
};

inline Exchange over_wire(Wire* wire, Rank other, Buffers* buffers) {
  return [=](std::size_t out, std::size_t in) {
    std::vector<Request> requests;
    if (out > 0) requests.push_back(wire->send(other, buffers->out.data(), out, Source::settled));
    if (in > 0) requests.push_back(wire->receive(other, {.dst = buffers->in.data()}, in));
    for (const Request request : requests)
      while (!wire->done(request))
        if (!wire->progress()) wire->wait(5000);
  };
}

/// Where one of the two processes is.
struct Place {
  std::string network;  ///< the path of a network namespace; empty: this one
  Endpoint address;

  void enter() const {
    if (network.empty()) return;
    const int file = ::open(network.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0 || ::setns(file, CLONE_NEWNET) != 0) std::perror(network.c_str()), std::exit(2);
    ::close(file);
  }
};

/// Of the arguments "--between NETWORK ADDRESS NETWORK ADDRESS", which are taken off the end; else both are on loopback.
inline std::array<Place, 2> places(int* argc, char** argv) {
  const Endpoint loopback = Endpoint::parse("127.0.0.1");
  if (*argc < 6 || std::string(argv[*argc - 5]) != "--between")
    return {Place{"", loopback}, Place{"", loopback}};
  *argc -= 5;
  const auto place = [&](int at) { return Place{argv[*argc + at], Endpoint::parse(argv[*argc + at + 1])}; };
  return {place(1), place(3)};
}

/// The two processes from here on, each in its place, with a pair of sockets between them.
struct Ends {
  explicit Ends(const std::array<Place, 2>& places) {
    int sockets[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets) != 0) std::perror("socketpair"), std::exit(2);
    is_first = ::fork() != 0;
    self = Rank{is_first ? 0 : 1};
    other = Rank{1 - self};
    socket = sockets[is_first ? 0 : 1];
    ::close(sockets[is_first ? 1 : 0]);  // so that the end of either process ends the other's waiting
    place = places[static_cast<std::size_t>(self)];
    place.enter();
  }

  /// What the other says, for what this one says.
  std::string trade(const std::string& own) const {
    ::send(socket, own.data(), own.size(), MSG_NOSIGNAL);
    std::string others(64 << 10, '\0');
    const ssize_t bytes = ::recv(socket, others.data(), others.size(), 0);
    if (bytes <= 0) std::puts("the other process has gone"), std::exit(2);
    others.resize(static_cast<std::size_t>(bytes));
    return others;
  }

  /// Returns what the program is to end with; the second process ends here.
  int end() const {
    if (!is_first) ::_exit(0);
    ::wait(nullptr);
    return 0;
  }

  bool is_first;
  Rank self{0}, other{0};
  Place place;
  int socket;
};

inline std::unique_ptr<TcpWire> connect_tcp(const Ends& ends, const Token& token) {
  const auto reception = std::make_shared<Reception>(listen_at(ends.place.address),
                                                     Credentials{.token = token, .rank = ends.self});
  auto door = reception->open();
  std::vector<TcpPeer> peers(2);
  peers[static_cast<std::size_t>(ends.self)] = {
      ends.self, door->number(), {{.endpoints = {reception->endpoint()}}}};
  const std::string others = ends.trade(std::to_string(door->number()) + " " + reception->endpoint().text());
  const std::size_t space = others.find(' ');
  peers[static_cast<std::size_t>(ends.other)] = {
      ends.other,
      static_cast<std::uint32_t>(std::stoul(others)),
      {{.endpoints = {Endpoint::parse(others.substr(space + 1))}}}};
  return std::make_unique<TcpWire>(std::move(door), ends.self, peers);
}

/// Of all processors since the machine has started, whoever worked on them.
inline double machine_cpu_s() {
  std::ifstream file("/proc/stat");
  std::string name;
  double user = 0, nice = 0, system = 0, idle = 0, io_wait = 0, interrupts = 0, soft_interrupts = 0;
  file >> name >> user >> nice >> system >> idle >> io_wait >> interrupts >> soft_interrupts;
  return (user + nice + system + interrupts + soft_interrupts) / double(::sysconf(_SC_CLK_TCK));
}

inline double own_cpu_s() {
  rusage used;
  ::getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) { return double(t.tv_sec) + 1e-6 * double(t.tv_usec); };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

inline double now_s() {
  timespec now;
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return double(now.tv_sec) + 1e-9 * double(now.tv_nsec);
}

inline double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

/// Half a round trip, median of many, in microseconds.
inline double latency_us(const Exchange& exchange, bool is_first, std::size_t bytes) {
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

/// `counts_machine`: then the first process counts for both.
inline Stream stream(const Exchange& exchange, const Exchange& tell, Buffers* buffers, bool both_ways,
                     bool is_first, bool counts_machine) {
  constexpr int kMessages = 300;
  constexpr std::size_t kBytes = 1 << 20;
  const auto cpu_s = [&] { return !counts_machine ? own_cpu_s() : is_first ? machine_cpu_s() : 0; };
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

/// Two ways between the same two processes: what is measured, and what it is measured by.
struct Contest {
  const char* name;
  Exchange exchange;
  const char* beside;
  Exchange other;
  bool counts_machine = false;
};

struct Row {
  const char* name;
  std::vector<double> own, others;
};

/// Prints in the first process; both call it.
inline void measure(const Contest& contest, Buffers* buffers, bool is_first, int rounds) {
  std::vector<Row> rows{{"8 B, us", {}, {}},
                        {"4 KiB, us", {}, {}},
                        {"64 KiB, us", {}, {}},
                        {"1 MiB one way, CPU s/GiB", {}, {}},
                        {"1 MiB one way, GiB/s", {}, {}},
                        {"1 MiB both ways, CPU s/GiB", {}, {}},
                        {"1 MiB both ways, GiB/s", {}, {}}};
  for (int round = 0; round < rounds; ++round)
    for (const bool is_own : {round % 2 == 0, round % 2 != 0}) {
      const Exchange& exchange = is_own ? contest.exchange : contest.other;
      std::size_t row = 0;
      const auto note = [&](double value) {
        (is_own ? rows[row].own : rows[row].others).push_back(value);
        ++row;
      };
      for (const std::size_t bytes : {8u, 4096u, 65536u}) note(latency_us(exchange, is_first, bytes));
      for (const bool both_ways : {false, true}) {
        const Stream found =
            stream(exchange, contest.other, buffers, both_ways, is_first, contest.counts_machine);
        note(found.cpu_s_per_gib);
        note(found.gib_per_s);
      }
    }
  if (!is_first) return;
  std::printf("%-28s %9s %9s %8s (medians of %d rounds; the ratio's quartiles)\n", "", contest.name,
              contest.beside, "ratio", rounds);
  for (const Row& row : rows) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < row.own.size(); ++i) ratios.push_back(row.own[i] / row.others[i]);
    std::ranges::sort(ratios);
    std::printf("%-28s %9.3f %9.3f %8.2f (%.2f to %.2f)\n", row.name, median(row.own), median(row.others),
                median(ratios), ratios[ratios.size() / 4], ratios[3 * ratios.size() / 4]);
  }
}

}  // namespace hemiola::benchmarks
