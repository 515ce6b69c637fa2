// SPDX-License-Identifier: Apache-2.0
// The ranks of a job on several hosts: they find each other at rank 0's address, prove that they know the job's token, and
// keep a sideband between them. Those of one host share memory besides.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "hemiola/runtime/net/nic_addresses.hpp"
#include "hemiola/runtime/net/reception.hpp"
#include "hemiola/runtime/session/hosts/sideband.hpp"
#include "hemiola/runtime/session/hosts/visit.hpp"
#include "hemiola/runtime/session/session.hpp"

namespace hemiola {

class LocalSession;

struct HostsOptions {
  /// The address of this rank: made before it joins, so that rank 0 can publish it. Its first door is the session's.
  std::shared_ptr<Reception> reception = {};
  int rank_count = 1;
  /// At which of its addresses others should look for it, best first; the port is the reception's.
  std::vector<Endpoint> addresses = {};
  /// The NICs that wires are to use side by side, by the same numbers on all hosts; ports as above. None: one, at
  /// `addresses`.
  std::vector<NicAddresses> nics = {};
  std::vector<Endpoint> rank_zero = {};  ///< where rank 0 listens; unused by itself
  std::string name = {};                 ///< of the job, the same on all ranks
  double timeout_s = 60.0;
  double memory_timeout_s = 10.0;  ///< how long ranks of one host may take to open memory in common
  Deadline::Check check = {};
  SidebandLimits limits = {};
};

class HostsSession : public Session {
 public:
  /// Blocks until all ranks are here. Throws a TimeoutError that names the absent ranks and the refused ones, or a
  /// LostRankError if a rank dies meanwhile.
  static std::shared_ptr<HostsSession> join(const HostsOptions& options);

  /// A newcomer's part of a running job: it takes the seat that it was given. `options.rank_count` and `rank_zero` do not count.
  static std::shared_ptr<HostsSession> enter(const HostsOptions& options, const visit::Seat& seat,
                                             std::shared_ptr<LocalSession> neighbours);

  /// Says farewell to the others: this rank has done all it had to do. As often as one likes.
  virtual void leave() = 0;

  /// Where this rank is reached by others: for wires, too.
  virtual const std::shared_ptr<Reception>& reception() const = 0;
  virtual const std::vector<NicAddresses>& nics() const = 0;

  /// Remarks for the user about the meeting of the ranks, a sentence each; on one rank of those concerned.
  virtual const std::vector<std::string>& remarks() const = 0;
};

}  // namespace hemiola
