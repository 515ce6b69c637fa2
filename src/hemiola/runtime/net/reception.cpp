// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/net/reception.hpp"

#include <sys/eventfd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "hemiola/base/descriptor.hpp"
#include "hemiola/base/error.hpp"

namespace hemiola {

Reception::Reception(Descriptor listener, Credentials own, const AcceptorLimits& limits)
    : acceptor_(std::move(listener), std::move(own), limits) {}

std::unique_ptr<Door> Reception::open() {
  const std::lock_guard lock(mutex_);
  return open_locked(++last_door_);
}

std::unique_ptr<Door> Reception::open(std::uint32_t number) {
  const std::lock_guard lock(mutex_);
  return open_locked(number);
}

std::unique_ptr<Door> Reception::open_locked(std::uint32_t number) {
  Descriptor bell(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!bell)
    throw LostRankError(std::string("cannot wait for connections from other ranks: ") + std::strerror(errno) +
                        kRaiseFileLimit);
  boxes_[number].bell = bell.get();
  return std::make_unique<Door>(shared_from_this(), number, std::move(bell));
}

std::vector<std::string> Reception::take_complaints() {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> complaints = acceptor_.take_complaints();
  complaints.insert(complaints.end(), noted_.begin(), noted_.end());
  noted_.clear();
  return complaints;
}

void Reception::note(std::string complaint) {
  const std::lock_guard lock(mutex_);
  noted_.push_back(std::move(complaint));
}

std::vector<ProvedConnection> Reception::take(std::uint32_t door) {
  const std::lock_guard lock(mutex_);
  sort(door);
  return std::exchange(boxes_.at(door).arrivals, {});
}

/// A connection to a closed door is ended.
void Reception::sort(std::uint32_t caller) {
  for (ProvedConnection& arrival : acceptor_.poll()) {
    const auto number = static_cast<std::uint32_t>(arrival.purpose >> 32);
    const auto box = boxes_.find(number);
    if (box == boxes_.end()) continue;
    arrival.purpose = static_cast<std::uint32_t>(arrival.purpose);
    box->second.arrivals.push_back(std::move(arrival));
    if (number != caller) ::eventfd_write(box->second.bell, 1);
  }
}

void Reception::close(std::uint32_t door) {
  const std::lock_guard lock(mutex_);
  boxes_.erase(door);
}

Door::Door(std::shared_ptr<Reception> reception, std::uint32_t number, Descriptor bell)
    : reception_(std::move(reception)), number_(number), bell_(std::move(bell)) {}

Door::~Door() {
  reception_->close(number_);
}

std::vector<ProvedConnection> Door::take() {
  eventfd_t rings;
  ::eventfd_read(bell_.get(), &rings);
  return reception_->take(number_);
}

}  // namespace hemiola
