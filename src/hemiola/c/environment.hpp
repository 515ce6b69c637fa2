// SPDX-License-Identifier: Apache-2.0
// The variables by which a launcher describes a job, and a user the network, as Python's `hemiola.init` reads them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "hemiola/runtime/net/credentials.hpp"
#include "hemiola/runtime/net/endpoint.hpp"
#include "hemiola/runtime/net/tls/tls_context.hpp"

namespace hemiola::c {

/// Looks a variable up; nothing where it is not set.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;

/// That of this process. An empty variable counts as one that is not set.
Environment process_environment();

/// A process's place in the job that a launcher has started.
struct Place {
  std::string launcher;
  int rank = 0;
  int rank_count = 1;
  std::string job = {};  ///< the job's name; empty where its ranks have none in common
  std::optional<int> host_rank_count = {};
  int incarnation = 0;  ///< how often the launcher has restarted the job

  /// A name to meet by that differs from the one before a restart.
  std::string meeting_name() const { return job.empty() ? "" : job + "-" + std::to_string(incarnation); }
  bool spans_hosts() const { return host_rank_count && *host_rank_count != rank_count; }
};

/// Throws ArgumentError where no launcher's variables are set, or where they do not hold numbers that fit together.
Place launched_place(const Environment& environment);

/// A user's wishes about the network and waiting.
struct Settings {
  std::string rendezvous = {};  ///< "host:port" where ranks of several hosts meet; empty: none was given
  std::optional<Token> token = {};
  std::optional<TlsFiles> tls = {};  ///< nothing: connections are not encrypted
  std::string interfaces = {};       ///< as HEMIOLA_INTERFACE says; empty: all that others may be told of
  PortRange ports = {};
  int ip_family = 0;  ///< 4 or 6; 0: both
  double timeout_s = 300;
  double silence_s = 1;
  std::string wires = "auto";

  bool needs_addresses() const;
};

/// Throws ArgumentError that names the variable and what it should hold.
Settings settings_of(const Environment& environment);

}  // namespace hemiola::c
