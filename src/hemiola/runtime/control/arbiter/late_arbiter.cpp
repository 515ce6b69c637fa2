#include "hemiola/runtime/control/arbiter/late_arbiter.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "hemiola/base/error.hpp"
#include "hemiola/runtime/control/late_word.hpp"

namespace hemiola {
namespace {

/// Connections that have not greeted yet, at most.
constexpr std::size_t kStrangers = 16;
constexpr int kGlance_ms = 5;

/// On the wire everything is a row of big-endian 64-bit numbers.
template <typename Message>
using Raw = std::array<std::uint64_t, sizeof(Message) / sizeof(std::uint64_t)>;

template <typename Message>
Message swapped(const Message& message) {
  auto raw = std::bit_cast<Raw<Message>>(message);
  for (std::uint64_t& number : raw) number = htobe64(number);  // its own inverse
  return std::bit_cast<Message>(raw);
}

/// Messages are shorter than any socket's buffer, and a rank sends none before the last is answered: one call takes
/// all.
template <typename Message>
bool send_to(const Descriptor& socket, const Message& message) {
  const Message raw = swapped(message);
  return ::send(socket.get(), &raw, sizeof raw, MSG_NOSIGNAL) == ssize_t{sizeof raw};
}

sockaddr_in socket_address(const std::string& host, std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  if (::inet_pton(AF_INET, host.c_str(), &address.sin_addr) != 1)
    throw ArgumentError("arbiter of late ranks: expected a numeric IPv4 address, found '" + host + "'");
  return address;
}

Descriptor stream_socket() {
  return Descriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

void send_at_once(const Descriptor& socket) {
  const int yes = 1;
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

[[noreturn]] void refused(const std::string& what) {
  throw LostRankError("arbiter of late ranks: cannot " + what + ": " + std::strerror(errno));
}

}  // namespace

LateArbiter::LateArbiter(const std::string& host, int rank_count)
    : most_guests_(static_cast<std::size_t>(rank_count) + kStrangers) {
  sockaddr_in at = socket_address(host, 0);
  auto* const generic = reinterpret_cast<sockaddr*>(&at);
  socklen_t length = sizeof at;
  listener_ = stream_socket();
  closing_ = Descriptor(::eventfd(0, EFD_CLOEXEC));
  if (!listener_ || !closing_ || ::bind(listener_.get(), generic, length) != 0 ||
      ::listen(listener_.get(), SOMAXCONN) != 0 || ::getsockname(listener_.get(), generic, &length) != 0)
    refused("listen on " + host);
  if (::getrandom(&address_.token, sizeof address_.token, 0) != ssize_t{sizeof address_.token})
    refused("draw a random token");
  address_.port = ntohs(at.sin_port);
  thread_ = std::thread([this] { serve(); });
}

LateArbiter::~LateArbiter() {
  ::eventfd_write(closing_.get(), 1);
  thread_.join();
  for (Guest& guest : guests_)
    if (guest.is_known) answer(guest, LateAnswer::Kind::farewell, 0);
}

void LateArbiter::serve() {
  while (true) {
    std::vector<pollfd> waiting{{closing_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
    for (const Guest& guest : guests_) waiting.push_back({guest.socket.get(), POLLIN, 0});
    if (::poll(waiting.data(), waiting.size(), -1) < 0) continue;  // a signal
    if (waiting[0].revents != 0) return;
    std::vector<Guest> staying;
    for (std::size_t i = 0; i < guests_.size(); ++i)
      if (waiting[i + 2].revents == 0 || read(&guests_[i])) staying.push_back(std::move(guests_[i]));
    guests_ = std::move(staying);
    std::erase_if(guests_, [&](Guest& guest) {
      if (!guest.waits || !is_due(guest.waits_for)) return false;
      guest.waits = false;
      return !answer(guest, LateAnswer::Kind::word, guest.waits_for.number);
    });
    if (waiting[1].revents != 0) admit();
  }
}

void LateArbiter::admit() {
  Guest guest;
  guest.socket = Descriptor(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!guest.socket) return;
  if (guests_.size() >= most_guests_)  // strangers that do not greet must not keep ranks out
    guests_.erase(std::ranges::find(guests_, false, &Guest::is_known));
  send_at_once(guest.socket);
  guests_.push_back(std::move(guest));
}

/// False: the guest has gone, or is none of ours.
bool LateArbiter::read(Guest* guest) {
  const ssize_t bytes = ::recv(guest->socket.get(), guest->bytes.data() + guest->filled,
                               guest->bytes.size() - guest->filled, 0);
  if (bytes < 0) return errno == EAGAIN || errno == EINTR;
  if (bytes == 0) return false;
  guest->filled += static_cast<std::size_t>(bytes);
  if (guest->filled < guest->bytes.size()) return true;
  guest->filled = 0;
  return handle(guest);
}

bool LateArbiter::handle(Guest* guest) {
  const auto request = swapped(std::bit_cast<LateRequest>(guest->bytes));
  if (!guest->is_known) {
    guest->is_known = request.kind == LateRequest::Kind::greeting && request.operation == address_.token;
    return guest->is_known && answer(*guest, LateAnswer::Kind::word, request.number);
  }
  guest->waits = request.kind == LateRequest::Kind::await_arrivals;
  guest->waits_for = request;
  if (guest->waits) return true;
  if (request.kind != LateRequest::Kind::exchange) return false;
  std::uint64_t& word = words_[request.operation % 2];
  const bool is_answered = answer(*guest, LateAnswer::Kind::word, request.number);  // what it was
  if (word == request.expected) word = request.desired;
  return is_answered;
}

bool LateArbiter::answer(const Guest& guest, LateAnswer::Kind kind, std::uint64_t number) {
  return send_to(guest.socket, LateAnswer{kind, number, words_});
}

bool LateArbiter::is_due(const LateRequest& request) const {
  const LateWord word(words_[request.operation % 2], request.operation);
  return static_cast<std::uint64_t>(word.arrivals()) >= request.expected;
}

LateClient::LateClient(const std::string& host, const LateAddress& address, const Deadline& deadline) {
  const sockaddr_in at = socket_address(host, address.port);
  Pause pause;
  while (true) {
    socket_ = stream_socket();
    if (!socket_) refused("open a socket");
    if (::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0) break;
    if (deadline.passed())
      throw TimeoutError("the arbiter of late ranks at " + host + ":" + std::to_string(address.port) +
                         " cannot be reached: " + std::strerror(errno));
    pause.wait();
  }
  send_at_once(socket_);
  ask(LateRequest::Kind::greeting, address.token, 0, 0, [&] {
    if (deadline.passed())
      throw TimeoutError("the arbiter of late ranks at " + host + ":" + std::to_string(address.port) +
                         " does not answer");
  });
}

std::uint64_t LateClient::load(std::uint64_t operation, const Check& check) {
  return ask(LateRequest::Kind::exchange, operation, 0, 0, check);
}

bool LateClient::compare_exchange(std::uint64_t operation, std::uint64_t& expected, std::uint64_t desired,
                                  const Check& check) {
  const std::uint64_t found = ask(LateRequest::Kind::exchange, operation, expected, desired, check);
  const bool has_changed = found == expected && !has_farewell_;
  expected = found;
  return has_changed;
}

void LateClient::await_arrivals(std::uint64_t operation, int count, const Check& check) {
  ask(LateRequest::Kind::await_arrivals, operation, static_cast<std::uint64_t>(count), 0, check);
}

std::uint64_t LateClient::ask(LateRequest::Kind kind, std::uint64_t operation, std::uint64_t expected,
                              std::uint64_t desired, const Check& check) {
  ++asked_;
  if (!has_farewell_) send_to(socket_, LateRequest{kind, asked_, operation, expected, desired});
  return receive(check).words[operation % 2];
}

/// The answer to the latest request. One before it may have been given up, and answered late.
LateAnswer LateClient::receive(const Check& check) {
  while (!has_farewell_) {
    const LateAnswer answer = receive_next(check);
    if (answer.kind == LateAnswer::Kind::word && answer.number == asked_) return answer;
    if (answer.kind == LateAnswer::Kind::word) continue;
    has_farewell_ = true;
    farewell_ = answer;
    return farewell_;
  }
  check();  // where not all had come, nothing can happen any more but this
  return farewell_;
}

LateAnswer LateClient::receive_next(const Check& check) {
  while (filled_ < sizeof(LateAnswer)) {
    pollfd waiting{socket_.get(), POLLIN, 0};
    if (::poll(&waiting, 1, kGlance_ms) <= 0) {
      check();
      continue;
    }
    const ssize_t bytes = ::recv(socket_.get(), bytes_.data() + filled_, sizeof(LateAnswer) - filled_, 0);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes <= 0) {
      check();  // which may know better what has happened
      throw LostRankError("the rank that keeps the arbiter of late ranks has closed its communicator");
    }
    filled_ += static_cast<std::size_t>(bytes);
  }
  filled_ = 0;
  return swapped(std::bit_cast<LateAnswer>(bytes_));
}

}  // namespace hemiola
