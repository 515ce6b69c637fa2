// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/net/acceptor.hpp"

#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "hemiola/base/descriptor.hpp"
#include "hemiola/base/error.hpp"
#include "hemiola/runtime/net/tcp_socket.hpp"

namespace hemiola {
namespace {

constexpr std::size_t kMostComplaints = 16;
/// While there is no room for more, those who come wait in the kernel's queue.
constexpr auto kRest = std::chrono::milliseconds(50);
/// So long everybody may take, however many wait behind.
constexpr auto kGrace = std::chrono::milliseconds(200);

void watch(const Descriptor& events, int descriptor) {
  epoll_event event{};
  event.events = EPOLLIN;
  ::epoll_ctl(events.get(), EPOLL_CTL_ADD, descriptor, &event);
}

void forget(const Descriptor& events, int descriptor) {
  ::epoll_ctl(events.get(), EPOLL_CTL_DEL, descriptor, nullptr);
}

}  // namespace

Acceptor::Acceptor(Descriptor listener, Credentials own, const AcceptorLimits& limits)
    : listener_(std::move(listener)),
      own_(std::move(own)),
      limits_(limits),
      endpoint_(local_endpoint(listener_)),
      events_(::epoll_create1(EPOLL_CLOEXEC)) {
  if (!events_)
    throw LostRankError(std::string("cannot watch for connections from other ranks: ") +
                        std::strerror(errno) + kRaiseFileLimit);
  watch(events_, listener_.get());
}

std::vector<ProvedConnection> Acceptor::poll() {
  std::vector<ProvedConnection> arrivals;
  epoll_event event;
  const bool has_news = ::epoll_wait(events_.get(), &event, 1, 0) > 0;
  if (is_resting_ && Clock::now() >= rests_until_) stop_resting();
  if (has_news && !is_resting_) accept_all();
  if (has_news || !unproved_.empty()) go_on(&arrivals);
  return arrivals;
}

void Acceptor::accept_all() {
  while (true) {
    if (!has_place()) return rest();
    Accepted guest = accept_guest(listener_);
    if (guest.socket) {
      watch(events_, guest.socket.get());
      unproved_.push_back({Handshake::accept(std::move(guest.socket), guest.from, &own_), Clock::now()});
    } else if (is_for_lack_of_room(guest.error)) {
      complain(lack_of_room("further connections", guest.error));
      return rest();
    } else if (guest.error == EAGAIN) {
      return;
    }
    // Anything else befell somebody who came, and has gone: the next one.
  }
}

/// Whether one more may come in, for which the oldest goes if it has had some time.
bool Acceptor::has_place() {
  if (unproved_.size() < static_cast<std::size_t>(limits_.most_unproved)) return true;
  if (unproved_.front().since > Clock::now() - std::min<Clock::duration>(kGrace, limits_.patience))
    return false;
  complain("the process at " + unproved_.front().handshake.other().text() +
           " has not said who it is, and others wait");
  unproved_.pop_front();
  return true;
}

void Acceptor::rest() {
  forget(events_, listener_.get());
  is_resting_ = true;
  rests_until_ = Clock::now() + kRest;
}

void Acceptor::stop_resting() {
  is_resting_ = false;
  watch(events_, listener_.get());
}

/// First everybody may go on, then those leave who have had their time: this rank may have looked away for long.
void Acceptor::go_on(std::vector<ProvedConnection>* arrivals) {
  const Clock::time_point latest = Clock::now() - limits_.patience;
  for (auto guest = unproved_.begin(); guest != unproved_.end();) {
    Handshake& handshake = guest->handshake;
    const Handshake::State state = handshake.progress();
    if (state == Handshake::State::proved) {
      forget(events_, handshake.descriptor());
      const Rank rank = handshake.rank();
      arrivals->push_back({handshake.take(), rank, handshake.purpose()});
    } else if (state == Handshake::State::refused) {
      complain(handshake.reason());
    } else if (guest->since > latest) {
      ++guest;
      continue;
    } else {
      complain(handshake.refusal() != Refusal::none
                   ? handshake.reason()
                   : "the process at " + handshake.other().text() + " has not said who it is in time");
    }
    guest = unproved_.erase(guest);
    if (is_resting_) stop_resting();  // this has made room
  }
}

void Acceptor::complain(const std::string& text) {
  if (complaints_.size() < kMostComplaints)
    complaints_.push_back(text);
  else
    ++unsaid_;
}

std::vector<std::string> Acceptor::take_complaints() {
  if (unsaid_ > 0) complaints_.push_back("and " + std::to_string(unsaid_) + " more like these");
  unsaid_ = 0;
  return std::exchange(complaints_, {});
}

}  // namespace hemiola
