// SPDX-License-Identifier: Apache-2.0
#include "hemiola/c/meeting.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <span>
#include <utility>

#include "hemiola/base/error.hpp"
#include "hemiola/base/hash.hpp"
#include "hemiola/c/addresses.hpp"
#include "hemiola/runtime/net/tcp_socket.hpp"
#include "hemiola/runtime/session/hosts/hosts_session.hpp"
#include "hemiola/runtime/session/hosts/visitor.hpp"
#include "hemiola/runtime/session/local/local_session.hpp"

namespace hemiola::c {
namespace {

/// How long a newcomer knocks at one place before it looks where the job is now.
constexpr double kBetweenLooks_s = 1.0;

/// The end of "host:port" behind the last colon.
bool ends_in_port(const std::string& text) {
  const auto colon = text.rfind(':');
  return colon != std::string::npos && colon > 0 && colon + 1 < text.size() &&
         text.find_first_not_of("0123456789", colon + 1) == std::string::npos;
}

std::uint16_t port_of(const std::string& address) {
  const PortRange port = PortRange::parse(address.substr(address.rfind(':') + 1));
  return port.first;
}

/// Where this process is found by ranks of other hosts.
class Doorway {
 public:
  Doorway(const MeetingPlace& place, const Settings& settings, std::uint16_t port)
      : place_(place), settings_(settings) {
    const auto reached = reachable(local_addresses(), settings.interfaces, settings.ip_family);
    if (settings.tls) tls_ = std::make_shared<const TlsContext>(*settings.tls);
    for (const LocalAddress& local : reached) addresses_.push_back(local.address);
    nics_ = side_by_side(reached, settings.interfaces);
    const Endpoint at = settings.ip_family == 4 ? Endpoint::parse("0.0.0.0") : Endpoint::any();
    listener_ = listen_at(at, port != 0 ? PortRange{port, port} : settings.ports);
    port_ = local_endpoint(listener_).port();
  }

  HostsOptions options(Rank rank, int rank_count, double timeout_s) {
    HostsOptions options{.reception = std::make_shared<Reception>(
                             std::move(listener_), credentials(rank),
                             AcceptorLimits{.most_unproved = std::max(128, 2 * rank_count)}),
                         .rank_count = rank_count};
    options.addresses = addresses_;
    options.nics = nics_;
    options.name = job();
    options.timeout_s = timeout_s;
    options.limits.silence = silence();
    options.limits.beat = std::min(options.limits.beat, silence() / 8);
    return options;
  }

  Visitor::Options visit() const {
    Visitor::Options options{
        .credentials = credentials(kNewcomer), .job = job(), .own = addresses_, .members = {}};
    for (Endpoint& endpoint : options.own) endpoint = endpoint.with_port(port_);
    options.silence = silence();
    options.beat = std::min(options.beat, silence() / 8);
    options.members = resolve(place_.address);
    return options;
  }

 private:
  /// Ranks of a host do not meet those of before a restart.
  std::string job() const { return place_.name + "-" + std::to_string(place_.incarnation); }
  std::chrono::milliseconds silence() const {
    return std::chrono::milliseconds(std::max(1L, std::lround(settings_.silence_s * 1e3)));
  }
  Credentials credentials(Rank rank) const {
    if (!settings_.token)
      throw ArgumentError(
          "ranks on several hosts prove to each other that they know a secret: set HEMIOLA_TOKEN to the same "
          "64 "
          "hexadecimal digits on all of them, such as `openssl rand -hex 32` makes");
    Hasher hasher;
    hasher.add_bytes(std::as_bytes(std::span(place_.name)));
    return {*settings_.token,
            hasher.finish(),
            static_cast<std::uint32_t>(place_.incarnation),
            rank,
            version(),
            tls_};
  }

  MeetingPlace place_;
  Settings settings_;
  std::shared_ptr<const TlsContext> tls_;  ///< null: nothing is encrypted
  std::vector<Endpoint> addresses_;
  std::vector<NicAddresses> nics_;
  Descriptor listener_;
  std::uint16_t port_ = 0;
};

/// Knocks again and again: another member may be the first by now, and about to listen there.
std::unique_ptr<Visitor> welcomed(const Doorway& doorway, const Deadline& deadline) {
  for (;;) {
    auto visitor = std::make_unique<Visitor>(doorway.visit());
    try {
      visitor->knock(Deadline(std::min(deadline.seconds_left(), kBetweenLooks_s)));
      visitor->prepare(Deadline(deadline.seconds_left()));
      return visitor;
    } catch (const TimeoutError&) {
      if (deadline.passed()) throw;
    }
  }
}

Seated enter_at_address(const MeetingPlace& place, const Settings& settings, const Deadline& deadline) {
  Doorway doorway(place, settings, 0);
  const auto visitor = welcomed(doorway, deadline);
  const visit::Seat seat = visitor->await_seat(Deadline(deadline.seconds_left()));
  const HostsOptions options = doorway.options(seat.number, seat.rank_count, settings.timeout_s);
  Seated seated{.session = HostsSession::enter(options, seat, visitor->neighbours()),
                .invitation = visitor->invitation(),
                .agreement = seat.agreement,
                .members = {}};
  for (const visit::Member& member : seat.members) seated.members.push_back(member.rank);
  return seated;
}

}  // namespace

std::string version() {
  return HEMIOLA_VERSION;
}

MeetingPlace MeetingPlace::of(const std::string& told) {
  return {.name = told, .address = ends_in_port(told) ? told : ""};
}

MeetingPlace place_of(const Place& launched, const Settings& settings) {
  const bool at_address =
      launched.spans_hosts() || !settings.rendezvous.empty() || settings.needs_addresses();
  if (!at_address) return {launched.meeting_name(), "", launched.incarnation};
  if (settings.rendezvous.empty() || !ends_in_port(settings.rendezvous))
    throw ArgumentError(
        launched.launcher +
        ": ranks on several hosts meet at an address: set HEMIOLA_RENDEZVOUS=host:port, where rank 0 "
        "can listen, and the same HEMIOLA_TOKEN on all of them");
  const std::string name = launched.job.empty() ? settings.rendezvous : launched.job;
  return {name, settings.rendezvous, launched.incarnation};
}

std::shared_ptr<Session> meet(const MeetingPlace& place, Rank rank, int rank_count,
                              const Settings& settings) {
  if (place.address.empty()) return LocalSession::join({rank, rank_count, place.name, settings.timeout_s});
  Doorway doorway(place, settings, rank == 0 ? port_of(place.address) : 0);
  HostsOptions options = doorway.options(rank, rank_count, settings.timeout_s);
  options.rank_zero = resolve(place.address);
  return HostsSession::join(options);
}

Seated enter(const MeetingPlace& place, const Settings& settings) {
  const Deadline deadline(settings.timeout_s);
  if (!place.address.empty()) return enter_at_address(place, settings, deadline);
  const auto session = LocalSession::enter({place.name, version(), settings.timeout_s});
  const LocalSession::Seat seat = session->await_seat(Deadline(deadline.seconds_left()));
  return {session, session->invitation(), seat.agreement, seat.members};
}

void say_farewell(Session& session) {
  if (auto* hosts = dynamic_cast<HostsSession*>(&session)) hosts->leave();
}

}  // namespace hemiola::c
