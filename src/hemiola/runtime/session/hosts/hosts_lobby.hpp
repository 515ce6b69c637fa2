// SPDX-License-Identifier: Apache-2.0
// The lobby of a running job on several hosts: a thread of one member that newcomers talk to. It waits in the system until
// somebody comes.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "hemiola/base/descriptor.hpp"
#include "hemiola/runtime/net/reception.hpp"
#include "hemiola/runtime/session/hosts/frames.hpp"
#include "hemiola/runtime/session/hosts/guest.hpp"
#include "hemiola/runtime/session/hosts/visit.hpp"
#include "hemiola/runtime/session/lobby_terms.hpp"

namespace hemiola {

class HostsLobby {
 public:
  struct Facts {
    std::function<std::vector<visit::Member>()> members;  ///< of the job
    /// The seat of a newcomer that was let in and has not heard of it.
    std::function<std::optional<Bytes>(std::uint64_t id)> seat_of;
  };
  struct Limits {
    std::chrono::milliseconds beat, silence;
  };

  /// `ready_count` has the number of those that are ready; it outlives the lobby.
  HostsLobby(const std::shared_ptr<Reception>& reception, LobbyTerms terms, Facts facts, Limits limits,
             std::atomic<int>* ready_count);
  ~HostsLobby();
  HostsLobby(const HostsLobby&) = delete;

  /// Those that are ready. Any thread may ask.
  std::vector<Guest> guests() const;
  /// Tells a newcomer that it is in; nothing where it has gone.
  void seat(std::uint64_t id, Bytes seat);

 private:
  using Clock = std::chrono::steady_clock;
  struct Visitor {
    FrameStream stream;
    Clock::time_point heard;
    Guest guest{};
    bool is_ready = false, is_over = false;
  };

  void run();
  void receive();
  void listen_to(Visitor* visitor);
  void heed(Visitor* visitor, const FrameHead& head, std::span<const std::byte> content);
  void heed_knock(Visitor* visitor, std::span<const std::byte> content);
  void look_after(Clock::time_point now);
  void wake();

  const LobbyTerms terms_;
  const Facts facts_;
  const Limits limits_;
  const std::unique_ptr<Door> door_;
  Descriptor wake_;
  Clock::time_point next_beat_{};  ///< of the thread
  std::atomic<int>* const ready_count_;
  std::atomic<bool> closing_ = false;
  mutable std::mutex mutex_;  ///< guards the visitors
  std::list<Visitor> visitors_;
  std::thread thread_;
};

}  // namespace hemiola
