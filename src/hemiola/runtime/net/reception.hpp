// SPDX-License-Identifier: Apache-2.0
// One listening socket for all doors of a process: a connecting process asks for a door by its number, and the door's
// owner is given the connection. So a process needs one port, however many communicators it has.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "hemiola/runtime/net/acceptor.hpp"

namespace hemiola {

class Door;

/// Any thread may call anything.
class Reception : public std::enable_shared_from_this<Reception> {
 public:
  using Door = hemiola::Door;

  /// Throws as Acceptor does.
  Reception(Descriptor listener, Credentials own, const AcceptorLimits& limits = {});

  const Endpoint& endpoint() const { return acceptor_.endpoint(); }
  const Credentials& credentials() const { return acceptor_.credentials(); }

  /// Throws a LostRankError if the system lacks descriptors or memory for a door.
  std::unique_ptr<Door> open();
  /// One whose number everybody knows; while it is closed, connections to it end.
  std::unique_ptr<Door> open(std::uint32_t number);
  /// The failures, as of Acceptor, and those that its users have noted.
  std::vector<std::string> take_complaints();
  void note(std::string complaint);

 private:
  friend Door;
  struct Box {
    std::vector<ProvedConnection> arrivals;
    int bell;  ///< an eventfd
  };

  std::unique_ptr<Door> open_locked(std::uint32_t number);
  std::vector<ProvedConnection> take(std::uint32_t door);
  void close(std::uint32_t door);
  void sort(std::uint32_t caller);

  std::mutex mutex_;  ///< guards the members below, but for constants
  Acceptor acceptor_;
  std::vector<std::string> noted_;
  std::map<std::uint32_t, Box> boxes_;
  std::uint32_t last_door_ = 0;
};

/// Closes when it goes; it keeps the reception.
class Door {
 public:
  Door(std::shared_ptr<Reception> reception, std::uint32_t number, Descriptor bell);
  ~Door();
  Door(const Door&) = delete;

  /// The purpose of a Handshake that connects here. `detail` is handed on to the owner.
  std::uint64_t purpose(std::uint32_t detail = 0) const { return purpose_of(number_, detail); }
  static std::uint64_t purpose_of(std::uint32_t door, std::uint32_t detail) {
    return std::uint64_t{door} << 32 | detail;
  }
  std::uint32_t number() const { return number_; }
  Reception& reception() const { return *reception_; }

  /// Lets everybody at the reception go on, and returns who has come to this door; `purpose` is the detail. To be called
  /// when a descriptor can be read, and every second or so even if none can.
  std::vector<ProvedConnection> take();
  /// The two that can be read when somebody has come; the bell's bytes mean nothing.
  int listener() const { return reception_->acceptor_.descriptor(); }
  int bell() const { return bell_.get(); }

 private:
  std::shared_ptr<Reception> reception_;
  std::uint32_t number_;
  Descriptor bell_;
};

}  // namespace hemiola
