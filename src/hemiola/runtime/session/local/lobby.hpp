// SPDX-License-Identifier: Apache-2.0
// The lobby of a running job on one machine: a thread of one member hands newcomers the job's memory. It waits in the
// system until somebody comes.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "hemiola/base/deadline.hpp"
#include "hemiola/base/descriptor.hpp"
#include "hemiola/base/home_process.hpp"
#include "hemiola/base/index.hpp"

namespace hemiola {

/// What a newcomer must know of a job, and the job of it.
struct LobbyTerms {
  std::string version;     ///< the same on both sides
  std::string invitation;  ///< for the newcomer: its options
  std::string refusal;     ///< why nobody may come; empty: they may
};

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

  /// The newcomer's side: waits until there is a lobby. Throws TimeoutError where none opens, and the lobby's refusal: an
  /// ArgumentError, or MismatchError for another version.
  static Admission enter(const std::string& session, const std::string& version, const Deadline& deadline);

 private:
  void run();
  void receive_guest(const Descriptor& listener);

  const HomeProcess home_;
  const std::string session_;
  const Descriptor& memory_;
  const LobbyTerms terms_;
  const TakeNumber take_number_;
  Descriptor closing_;
  std::thread thread_;
};

}  // namespace hemiola
