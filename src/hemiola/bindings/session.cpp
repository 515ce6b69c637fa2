// SPDX-License-Identifier: Apache-2.0
// How the processes of a job come together.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "hemiola/base/deadline.hpp"
#include "hemiola/base/error.hpp"
#include "hemiola/bindings/bindings.hpp"
#include "hemiola/bindings/bytes.hpp"
#include "hemiola/bindings/cause.hpp"
#include "hemiola/bindings/gil.hpp"
#include "hemiola/bindings/signals.hpp"
#include "hemiola/runtime/net/tcp_socket.hpp"
#include "hemiola/runtime/net/tls/tls_context.hpp"
#include "hemiola/runtime/session/hosts/hosts_session.hpp"
#include "hemiola/runtime/session/hosts/visitor.hpp"
#include "hemiola/runtime/session/local/local_session.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace hemiola::bindings {
namespace {

/// A socket at which a rank is found, before it joins.
struct Listener {
  Listener(const std::string& at, int first_port, int last_port)
      : socket(listen_at(at.empty() ? Endpoint::any() : Endpoint::parse(at),
                         {static_cast<std::uint16_t>(first_port), static_cast<std::uint16_t>(last_port)})),
        port(local_endpoint(socket).port()) {}

  Descriptor socket;
  std::uint16_t port;
};

std::vector<nb::bytes> exchange(Session& session, const std::vector<int>& members, const std::string& key,
                                const nb::bytes& own, double timeout_s) {
  const std::vector<Rank> ranks(members.begin(), members.end());
  std::vector<Bytes> all;
  const Bytes bytes = bytes_of(own);
  {
    const GilReleased release;
    all = session.exchange(ranks, key, bytes, Deadline(timeout_s, raise_signals));
  }
  std::vector<nb::bytes> told;
  for (const Bytes& one : all) told.push_back(to_python(one));
  return told;
}

std::vector<int> next_members(Session& session, const std::vector<int>& members, const std::string& name,
                              bool leaves, bool admits, double timeout_s) {
  const std::vector<Rank> ranks(members.begin(), members.end());
  const GilReleased release;
  const std::vector<Rank> next = session.next_members(ranks, name, {.leaves = leaves, .admits = admits},
                                                      Deadline(timeout_s, raise_signals));
  return {next.begin(), next.end()};
}

std::pair<std::string, std::vector<int>> await_seat(LocalSession& session, double timeout_s) {
  const GilReleased release;
  const LocalSession::Seat seat = session.await_seat(Deadline(timeout_s, raise_signals));
  return {seat.agreement, {seat.members.begin(), seat.members.end()}};
}

Token token_of(const nb::bytes& secret) {
  if (secret.size() != Token::kBytes)
    throw ArgumentError("expected a token of " + std::to_string(Token::kBytes) + " bytes, found " +
                        std::to_string(secret.size()));
  constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  for (const std::byte byte : bytes_of(secret)) {
    hex += kDigits[std::to_integer<unsigned>(byte) >> 4];
    hex += kDigits[std::to_integer<unsigned>(byte) & 15];
  }
  return Token::from_hex(hex);
}

std::vector<Endpoint> endpoints_of(const std::vector<std::string>& texts) {
  std::vector<Endpoint> endpoints;
  for (const std::string& text : texts) {
    const std::vector<Endpoint> found = resolve(text);
    endpoints.insert(endpoints.end(), found.begin(), found.end());
  }
  return endpoints;
}

std::vector<Endpoint> addresses_of(const std::vector<std::string>& texts) {
  std::vector<Endpoint> addresses;
  for (const std::string& text : texts) addresses.push_back(Endpoint::parse(text));
  return addresses;
}

std::vector<NicAddresses> nics_of(const std::vector<std::pair<int, std::vector<std::string>>>& told) {
  std::vector<NicAddresses> nics;
  for (const auto& [speed, addresses] : told)
    nics.push_back(
        {.endpoints = addresses_of(addresses), .speed = static_cast<std::uint32_t>(std::max(speed, 1))});
  return nics;
}

std::shared_ptr<const TlsContext> context_of(
    const std::optional<std::tuple<std::string, std::string, std::string>>& files) {
  if (!files) return nullptr;
  const auto& [certificate, key, authority] = *files;
  return std::make_shared<TlsContext>(TlsFiles{certificate, key, authority});
}

/// The words by which a process of a job on several hosts is known and found.
struct HostsIdentity {
  std::string name;
  int incarnation = 0;
  nb::bytes token;
  std::string version;
  std::vector<std::string> addresses;
  std::vector<std::pair<int, std::vector<std::string>>> nics;
  double silence_s = 1.0;
  std::shared_ptr<const TlsContext> tls;  ///< null: nothing is encrypted

  Credentials credentials(Rank rank) const {
    Hasher hasher;
    hasher.add_bytes(std::as_bytes(std::span(name)));
    return {token_of(token), hasher.finish(), static_cast<std::uint32_t>(incarnation), rank, version, tls};
  }
  /// Ranks of a host do not meet those of before a restart.
  std::string job() const { return name + "-" + std::to_string(incarnation); }

  hemiola::HostsOptions options(Listener& listener, Rank rank, int rank_count) const {
    hemiola::HostsOptions options{.reception = std::make_shared<Reception>(
                                      std::move(listener.socket), credentials(rank),
                                      AcceptorLimits{.most_unproved = std::max(128, 2 * rank_count)}),
                                  .rank_count = rank_count};
    options.addresses = addresses_of(addresses);
    options.nics = nics_of(nics);
    options.name = job();
    options.check = raise_signals;
    options.limits.silence = std::chrono::milliseconds(std::max(1L, std::lround(silence_s * 1e3)));
    options.limits.beat = std::min(options.limits.beat, options.limits.silence / 8);
    return options;
  }
};

std::shared_ptr<HostsSession> join_hosts(Listener& listener, int rank, int rank_count,
                                         const HostsIdentity& identity,
                                         const std::vector<std::string>& rank_zero, double timeout_s) {
  hemiola::HostsOptions options = identity.options(listener, Rank{rank}, rank_count);
  options.timeout_s = timeout_s;
  const GilReleased release;
  options.rank_zero = endpoints_of(rank_zero);
  return HostsSession::join(options);
}

/// A process on its way into a running job on several hosts.
struct HostsVisitor {
  HostsVisitor(Listener& listener, HostsIdentity own, const std::vector<std::string>& members,
               double welcome_s, double timeout_s)
      : identity(std::move(own)), door(&listener) {
    Visitor::Options options{.credentials = identity.credentials(kNewcomer),
                             .job = identity.job(),
                             .own = addresses_of(identity.addresses),
                             .members = {}};
    for (Endpoint& endpoint : options.own) endpoint = endpoint.with_port(listener.port);
    options.silence = std::chrono::milliseconds(std::max(1L, std::lround(identity.silence_s * 1e3)));
    options.beat = std::min(options.beat, options.silence / 8);
    const GilReleased release;
    options.members = endpoints_of(members);
    visitor.emplace(std::move(options));
    visitor->knock(Deadline(welcome_s, raise_signals));
    visitor->prepare(Deadline(timeout_s, raise_signals));
  }

  std::tuple<std::shared_ptr<HostsSession>, std::string, std::vector<int>> await_seat(double timeout_s) {
    std::optional<visit::Seat> seat;
    {
      const GilReleased release;
      seat = visitor->await_seat(Deadline(timeout_s, raise_signals));
    }
    hemiola::HostsOptions options = identity.options(*door, seat->number, seat->rank_count);
    options.timeout_s = timeout_s;
    std::vector<int> members;
    for (const visit::Member& member : seat->members) members.push_back(member.rank);
    const GilReleased release;
    return {HostsSession::enter(options, *seat, visitor->neighbours()), seat->agreement, members};
  }

  HostsIdentity identity;
  Listener* door;
  std::optional<Visitor> visitor;
};

void bind_local_session(nb::module_& m) {
  nb::class_<LocalSession, Session>(m, "LocalSession", "The ranks of one machine.")
      .def_static(
          "join",
          [](int rank, int rank_count, std::string name, double timeout_s) {
            GilReleased release;
            return LocalSession::join({Rank{rank}, rank_count, std::move(name), timeout_s, raise_signals});
          },
          "rank"_a, "rank_count"_a, "name"_a, "timeout_s"_a = 60.0)
      .def_static(
          "enter",
          [](std::string name, std::string version, double timeout_s) {
            GilReleased release;
            return LocalSession::enter({std::move(name), std::move(version), timeout_s, raise_signals});
          },
          "name"_a, "version"_a, "timeout_s"_a, "A newcomer's part of a running session.")
      .def_prop_ro("invitation", &LocalSession::invitation, "What members have told this newcomer.")
      .def("await_seat", &await_seat, "timeout_s"_a,
           "The name and the answer of the agreement that lets this newcomer in.")
      .def_static(
          "status_of",
          [](const std::string& name, const std::string& version, double timeout_s) {
            const GilReleased release;
            return Lobby::status_of(name, version, Deadline(timeout_s, raise_signals));
          },
          "name"_a, "version"_a, "timeout_s"_a,
          "The status of a job; None where none of that name tells it now.");
}

void bind_hosts_session(nb::module_& m) {
  nb::class_<Listener>(m, "Listener", "Where a rank is found by those of other hosts.")
      .def(nb::init<const std::string&, int, int>(), "at"_a, "first_port"_a = 0, "last_port"_a = 0)
      .def_ro("port", &Listener::port);

  nb::class_<HostsIdentity>(m, "HostsIdentity", "The words by which a process of several hosts is known.")
      .def(
          "__init__",
          [](HostsIdentity* self, std::string name, int incarnation, nb::bytes token, std::string version,
             std::vector<std::string> addresses, std::vector<std::pair<int, std::vector<std::string>>> nics,
             double silence_s, const std::optional<std::tuple<std::string, std::string, std::string>>& tls) {
            new (self)
                HostsIdentity{std::move(name),      incarnation,     std::move(token), std::move(version),
                              std::move(addresses), std::move(nics), silence_s,        context_of(tls)};
          },
          nb::kw_only(), "name"_a, "incarnation"_a, "token"_a, "version"_a, "addresses"_a, "nics"_a,
          "silence_s"_a, "tls"_a.none() = nb::none());

  nb::class_<HostsVisitor>(m, "HostsVisitor", "A newcomer on its way into a job on several hosts.")
      .def(nb::init<Listener&, HostsIdentity, const std::vector<std::string>&, double, double>(),
           "listener"_a, "identity"_a, "members"_a, "welcome_s"_a, "timeout_s"_a, nb::keep_alive<1, 2>(),
           "Knock at the members' lobby, of whom at least one is found at `members`.")
      .def_prop_ro(
          "invitation", [](const HostsVisitor& v) { return v.visitor->invitation(); },
          "What members have told this newcomer.")
      .def("await_seat", &HostsVisitor::await_seat, "timeout_s"_a,
           "The session, and the name and the answer of the agreement that lets this newcomer in.");

  nb::class_<HostsSession, Session>(m, "HostsSession", "The ranks of several hosts.")
      .def_static("join", &join_hosts, "listener"_a, nb::kw_only(), "rank"_a, "rank_count"_a, "identity"_a,
                  "rank_zero"_a, "timeout_s"_a)
      .def("leave", &HostsSession::leave, nb::call_guard<GilReleased>())
      .def_prop_ro("remarks", &HostsSession::remarks,
                   "Remarks for a user on how the ranks came together, a sentence each.");
}

}  // namespace

void bind_session(nb::module_& m) {
  nb::class_<Session>(m, "Session", "The processes of a job that have found each other.")
      .def("exchange", &exchange, "members"_a, "key"_a, "own"_a, "timeout_s"_a,
           "The bytes of all members, each of which calls this.")
      .def("next_members", &next_members, "members"_a, "name"_a, nb::kw_only(), "leaves"_a, "admits"_a,
           "timeout_s"_a, "Those that go on, as all of them agree.")
      .def(
          "host_of", [](const Session& s, int rank) { return s.host_of(Rank{rank}); }, "rank"_a)
      .def(
          "living",
          [](const Session& s, std::vector<int> members) {
            const std::vector<LostRank> lost = s.lost();
            std::erase_if(members, [&](int member) { return is_among(Rank{member}, lost); });
            return members;
          },
          "members"_a, "Those that are not lost, as far as is known here.")
      .def(
          "has_taken_leave", [](const Session& s, int rank) { return s.has_taken_leave(Rank{rank}); },
          "rank"_a, "Whether a rank that is no member any more has said that it leaves.")
      .def(
          "losses",
          [](const Session& s) {
            nb::dict causes;
            for (const LostRank& lost : s.lost())
              causes[nb::int_(static_cast<int>(lost.rank))] = to_python_cause(lost.cause());
            return causes;
          },
          nb::sig("def losses(self) -> dict[int, object]"), "Why ranks are lost, as far as is known here.")
      .def_prop_ro(
          "misses_somebody",
          [](const Session& s) {
            return std::ranges::any_of(s.lost(), [](const LostRank& lost) { return !lost.has_left(); });
          },
          "Whether a rank has been lost that did not leave in good order.")
      .def(
          "tell_cause",
          [](Session& s, const std::string& reason) {
            s.tell_cause({.rank = s.rank(), .reason = reason, .at_ns = s.clock().now_ns});
          },
          "reason"_a, "Say why this rank ends: others that find it gone learn the cause.")
      .def_prop_ro(
          "told_cause",
          [](const Session& s) -> nb::object {
            const std::optional<Cause> told = s.told_cause();
            return told ? to_python_cause(*told) : nb::none();
          },
          "Why this rank has given up, or ends; None where it has not.")
      .def_prop_ro("rank", [](const Session& s) { return static_cast<int>(s.rank()); })
      .def(
          "open_lobby",
          [](Session& s, const std::vector<int>& members, std::string version, std::string invitation,
             std::string refusal, std::string status) {
            const std::vector<Rank> ranks(members.begin(), members.end());
            const GilReleased release;
            s.open_lobby(ranks,
                         {std::move(version), std::move(invitation), std::move(refusal), std::move(status)});
          },
          "members"_a, "version"_a, "invitation"_a, "refusal"_a, "status"_a,
          "Let newcomers come to the first of these, and tell the status; again: it has changed.")
      .def(
          "process_of", [](const Session& s, int rank) { return s.process_of(Rank{rank}); }, "rank"_a,
          "The number of a rank's process in the system; 0 where it is not known.")
      .def("close_lobby", &Session::close_lobby, nb::call_guard<GilReleased>())
      .def_prop_ro("rank_count", &Session::rank_count);

  bind_local_session(m);
  bind_hosts_session(m);
}

}  // namespace hemiola::bindings
