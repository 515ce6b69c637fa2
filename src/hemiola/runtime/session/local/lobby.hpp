// SPDX-License-Identifier: Apache-2.0
// The lobby of a running job on one machine: a thread of one member hands newcomers the job's memory, and tells the
// job's status to those that ask. It waits in the system until somebody comes.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "hemiola/base/deadline.hpp"
#include "hemiola/base/descriptor.hpp"
#include "hemiola/base/home_process.hpp"
#include "hemiola/base/index.hpp"
#include "hemiola/runtime/session/lobby_terms.hpp"

namespace hemiola {

/// A newcomer's way in.
struct Admission {
  Descriptor memory;  ///< the session's
  Rank number{0};
  std::string invitation;
};

class Lobby {
 public:
  /// Gives out the next number; nothing where there are no more.
  using TakeNumber = std::function<std::optional<Rank>()>;

  /// `memory` outlives it. Where an earlier lobby of that name is still open, it opens once that one has closed.
  Lobby(std::string session, const Descriptor& memory, LobbyTerms terms, TakeNumber take_number);
  ~Lobby();
  Lobby(const Lobby&) = delete;

  /// From now on this is the job's status.
  void tell(std::string status);

  /// The newcomer's side: waits until there is a lobby. Throws TimeoutError where none opens, and the lobby's refusal: an
  /// ArgumentError, or MismatchError for another version.
  static Admission enter(const std::string& session, const std::string& version, const Deadline& deadline);
  static bool is_open(const std::string& session);

  /// The status of a job; nothing where none of that name has a lobby now. Throws TimeoutError where it does not answer,
  /// and MismatchError for another version.
  static std::optional<std::string> status_of(const std::string& session, const std::string& version,
                                              const Deadline& deadline);

 private:
  void run();
  void receive_guest(const Descriptor& listener);
  std::string status();

  const HomeProcess home_;
  const std::string session_;
  const Descriptor& memory_;
  const LobbyTerms terms_;
  std::mutex status_mutex_;  ///< guards the next
  std::string status_;
  const TakeNumber take_number_;
  Descriptor closing_;
  std::thread thread_;
};

}  // namespace hemiola
