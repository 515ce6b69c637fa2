// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/session/hosts/hosts_session.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "hemiola/base/error.hpp"
#include "hemiola/base/hash.hpp"
#include "hemiola/base/head.hpp"
#include "hemiola/base/home_process.hpp"
#include "hemiola/runtime/net/encryption_error.hpp"
#include "hemiola/runtime/session/exchange_check.hpp"
#include "hemiola/runtime/session/hosts/cause_desk.hpp"
#include "hemiola/runtime/session/hosts/exchange_desk.hpp"
#include "hemiola/runtime/session/hosts/hosts_lobby.hpp"
#include "hemiola/runtime/session/hosts/neighbourhood.hpp"
#include "hemiola/runtime/session/hosts/roster.hpp"
#include "hemiola/runtime/session/hosts/survivors_desk.hpp"
#include "hemiola/runtime/session/local/local_session.hpp"
#include "hemiola/runtime/session/rank_list.hpp"

namespace hemiola {
namespace {

SidebandLimits limits_of(const HostsOptions& options) {
  SidebandLimits limits = options.limits;
  limits.tries_other_addresses = options.nics.size() > 1;
  return limits;
}

std::vector<Rank> first_ranks(int rank_count) {
  std::vector<Rank> ranks;
  for (Rank rank : indices<Rank>(rank_count)) ranks.push_back(rank);
  return ranks;
}

std::vector<Endpoint> endpoints_of(const HostsOptions& options) {
  std::vector<Endpoint> endpoints;
  for (const Endpoint& address : options.addresses)
    endpoints.push_back(address.with_port(options.reception->endpoint().port()));
  return endpoints;
}

std::vector<Rank> ranks_of(const std::vector<visit::Member>& members) {
  std::vector<Rank> ranks;
  for (const visit::Member& member : members) ranks.push_back(member.rank);
  return ranks;
}

class JoinedHosts final : public HostsSession {
 public:
  JoinedHosts(const HostsOptions& options, const std::vector<Rank>& members, int rank_count,
              int founder_count)
      : self_(options.reception->credentials().rank),
        rank_count_(rank_count),
        name_(options.name),
        limits_(options.limits),
        reception_(options.reception),
        nics_(options.nics.empty() ? std::vector<NicAddresses>{{.endpoints = options.addresses}}
                                   : options.nics),
        near_(self_, founder_count),
        sideband_(reception_, members, limits_of(options)),
        causes_(&sideband_, [this] { return sideband_.lost(); }),
        desk_(
            &sideband_, self_,
            {[this] { return lost(); }, [this] { return complaints(); }, [this] { return clock().now_ns; }}),
        survivors_(&sideband_, self_, [this] { return losses_with_evidence(); }) {}

  void meet(const HostsOptions& options);
  void take(const visit::Seat& seat, std::shared_ptr<LocalSession> neighbours, const Deadline& deadline);

  Rank rank() const override { return self_; }
  int rank_count() const override { return rank_count_; }
  int host_of(Rank rank) const override { return near_.host_of(rank); }
  void leave() override { sideband_.leave(); }
  const std::shared_ptr<Reception>& reception() const override { return reception_; }
  const std::vector<NicAddresses>& nics() const override { return nics_; }

  std::vector<Bytes> exchange(const std::vector<Rank>& members, std::string_view key,
                              std::span<const std::byte> own, const Deadline& deadline) override {
    check_members(members, self_, rank_count_);
    check_exchange_limits(key, own);
    return telling([&] { return desk_.exchange(members, key, own, deadline); });
  }

  std::shared_ptr<SharedRegion> shared(const std::vector<Rank>& members, std::size_t bytes,
                                       const Deadline& deadline) override {
    check_members(members, self_, rank_count_);
    const std::vector<Rank> numbers = near_.numbers_of(members);
    if (numbers.empty()) return nullptr;
    return telling([&] {
      try {
        return near_.session()->shared(numbers, bytes, deadline);
      } catch (const LostMemberError& e) {
        throw_by_our_numbers(e.cause);
      } catch (const AbsentMemberError& e) {
        throw_by_our_numbers(e.cause);
      }
    });
  }

  std::vector<LostRank> lost() const override { return causes_.lost(); }
  std::vector<std::string> complaints() const override { return sideband_.complaints(); }
  const std::vector<std::string>& remarks() const override { return remarks_; }
  std::vector<Rank> next_members(const std::vector<Rank>& members, std::string_view name,
                                 const Wishes& wishes, const Deadline& deadline) override;
  bool has_guests() const override { return guest_count_.load(std::memory_order_relaxed) > 0; }
  void open_lobby(const std::vector<Rank>& members, const LobbyTerms& terms) override;
  void close_lobby() override;
  std::uint64_t process_of(Rank rank) const override;
  bool has_taken_leave(Rank rank) const override {
    const std::lock_guard lock(books_mutex_);
    return taken_leave_.contains(rank);
  }
  ClockReading clock() const override { return sideband_.clock(); }
  Courier* courier() override { return &sideband_; }

 protected:
  void publish_cause(const std::optional<Cause>& cause) override { causes_.publish(cause); }

 private:
  std::vector<LostRank> losses_with_evidence() const;
  Cause by_our_numbers(Cause cause) const;
  [[noreturn]] void throw_by_our_numbers(const Cause& of_host) const;
  void share_memory(const HostsOptions& options, const Deadline& deadline);
  void remark_on_users();
  void admit(const std::vector<Guest>& newcomers);
  void seat(const std::vector<Guest>& newcomers, const std::vector<Rank>& members, std::string_view name);
  void settle(const std::vector<Rank>& members, std::string_view name, const Deadline& deadline);
  std::vector<Rank> members() const;
  std::vector<visit::Member> described(const std::vector<Rank>& members) const;
  std::optional<Bytes> seat_of(std::uint64_t newcomer) const;
  std::vector<Guest> guests();
  const Card::Head& head(Rank rank) const { return cards_.at(rank).head; }

  const Rank self_;
  std::atomic<int> rank_count_;
  const std::string name_;
  const SidebandLimits limits_;
  const std::shared_ptr<Reception> reception_;
  const std::vector<NicAddresses> nics_;
  std::vector<std::string> remarks_;
  Neighbourhood near_;
  mutable std::mutex books_mutex_;  ///< guards the four below
  std::map<Rank, Card> cards_;
  std::vector<Rank> members_;  ///< of the latest communicator of all
  std::set<Rank> taken_leave_;
  std::map<std::uint64_t, Bytes> seats_;  ///< of newcomers that were let in
  Sideband sideband_;
  CauseDesk causes_;
  ExchangeDesk desk_;
  SurvivorsDesk survivors_;
  std::atomic<int> guest_count_ = 0;  ///< of the lobby's, those that are ready
  std::mutex lobby_mutex_;            ///< guards the lobby
  std::unique_ptr<HostsLobby> lobby_;
};

/// Of the ranks of its host, this one sees the processes end.
std::vector<LostRank> JoinedHosts::losses_with_evidence() const {
  std::vector<LostRank> lost = sideband_.lost();
  const bool has_heard = std::ranges::find(lost, Evidence::hearsay, &LostRank::evidence) != lost.end();
  const auto neighbours = near_.session();
  if (!has_heard || !neighbours) return lost;
  for (const LostRank& ended : neighbours->lost()) {
    const auto one = std::ranges::find(lost, near_.rank_of(ended.rank).value_or(Rank{-1}), &LostRank::rank);
    if (one != lost.end() && one->evidence == Evidence::hearsay) one->evidence = Evidence::seen;
  }
  return lost;
}

/// At first only rank 0's address is known. Once all have left their cards there, everybody knows everybody, and begins to
/// watch.
void JoinedHosts::meet(const HostsOptions& options) {
  Roster roster(&sideband_, self_, rank_count_, options.name);
  const Deadline deadline(options.timeout_s, [&] {
    roster.check();
    if (const std::string why = sideband_.encryption_refusal(); !why.empty()) throw EncryptionError(why);
    if (options.check) options.check();
  });
  sideband_.start();
  if (self_ != 0) sideband_.learn(Rank{0}, options.rank_zero);
  roster.sign();
  const std::vector<Rank> everybody = first_ranks(rank_count_);
  const Card own = Card::own(static_cast<std::uint64_t>(self_), endpoints_of(options));
  try {
    const std::vector<Bytes> cards = exchange(everybody, "cards", own.packed(), deadline);
    for (Rank rank : everybody) cards_[rank] = Card::of(cards[static_cast<std::size_t>(rank)]);
  } catch (const ArgumentError&) {
    if (self_ == 0) roster.stay();
    throw;
  }
  for (Rank rank : everybody)
    if (rank != self_) sideband_.learn(rank, cards_[rank].endpoints);
  sideband_.watch();
  share_memory(options, deadline);
}

/// The others know this rank already, and may have called it.
void JoinedHosts::take(const visit::Seat& seat, std::shared_ptr<LocalSession> neighbours,
                       const Deadline& deadline) {
  for (const visit::Member& member : seat.members) {
    cards_[member.rank] = member.card;
    if (member.host >= 0) near_.note_host(member.rank, member.host);
  }
  if (neighbours) near_.take(std::move(neighbours), head(self_).host);
  sideband_.start();
  for (const visit::Member& member : seat.members)
    if (member.rank != self_) sideband_.learn(member.rank, member.card.endpoints);
  sideband_.watch();
  settle(ranks_of(seat.members), seat.agreement, deadline);
}

// ---- the next members ----

/// A leader that leaves seats those whom it has let in, too.
std::vector<Rank> JoinedHosts::next_members(const std::vector<Rank>& members, std::string_view name,
                                            const Wishes& wishes, const Deadline& deadline) {
  check_members(members, self_, rank_count_);
  const auto decision = telling([&] {
    return survivors_.next_members(members, name,
                                   {.leaves = wishes.leaves,
                                    .guests = wishes.admits ? guests() : std::vector<Guest>(),
                                    .next_number = Rank{rank_count()}},
                                   deadline);
  });
  {
    const std::vector<LostRank> gone = sideband_.lost();
    const std::lock_guard lock(books_mutex_);
    for (Rank member : members)
      if (!std::ranges::binary_search(decision.members, member) && !is_among(member, gone))
        taken_leave_.insert(member);
  }
  admit(decision.let_in);
  seat(decision.let_in, decision.members, name);
  if (std::ranges::binary_search(decision.members, self_)) settle(decision.members, name, deadline);
  return decision.members;
}

void JoinedHosts::admit(const std::vector<Guest>& newcomers) {
  for (const Guest& newcomer : newcomers) {
    const Card card = Card::of(newcomer.card);
    {
      const std::lock_guard lock(books_mutex_);
      cards_[newcomer.number] = card;
    }
    rank_count_ = std::max<int>(rank_count_, newcomer.number + 1);
    sideband_.admit(newcomer.number, card.endpoints);
  }
}

/// Every member keeps the latest seats: the one whose lobby a newcomer waits in may end now.
void JoinedHosts::seat(const std::vector<Guest>& newcomers, const std::vector<Rank>& members,
                       std::string_view name) {
  if (!newcomers.empty()) {
    const std::lock_guard lock(books_mutex_);
    seats_.clear();
  }
  for (const Guest& newcomer : newcomers) {
    const visit::Seat seat{.number = newcomer.number,
                           .rank_count = rank_count_,
                           .founder_count = near_.founder_count(),
                           .agreement = std::string(name),
                           .members = described(members)};
    {
      const std::lock_guard lock(books_mutex_);
      seats_[newcomer.id] = seat.packed();
    }
    const std::lock_guard lock(lobby_mutex_);
    if (lobby_) lobby_->seat(newcomer.id, seat.packed());
  }
}

/// Tells which ranks of these share memory, once newcomers are among them. Where one is lost meanwhile, its communicator does
/// not come about either, and all settle in the next agreement.
void JoinedHosts::settle(const std::vector<Rank>& members, std::string_view name, const Deadline& deadline) {
  {
    const std::lock_guard lock(books_mutex_);
    members_ = members;
    std::erase_if(cards_, [&](const auto& card) { return !std::ranges::binary_search(members, card.first); });
  }
  if (members.back() < near_.founder_count()) return;
  const Neighbourhood::Place own = near_.own_place();
  std::vector<Neighbourhood::Place> places;
  try {
    const auto all =
        exchange(members, "places " + std::string(name), std::as_bytes(std::span(&own, 1)), deadline);
    for (const Bytes& place : all) places.push_back(head_of<Neighbourhood::Place>(place));
  } catch (const LostMemberError&) {
    return;
  }
  near_.settle(members, places);
}

std::vector<visit::Member> JoinedHosts::described(const std::vector<Rank>& members) const {
  const std::lock_guard lock(books_mutex_);
  std::vector<visit::Member> all;
  for (Rank member : members) all.push_back({member, near_.host_of(member), cards_.at(member)});
  return all;
}

std::vector<Rank> JoinedHosts::members() const {
  const std::lock_guard lock(books_mutex_);
  return members_;
}

std::optional<Bytes> JoinedHosts::seat_of(std::uint64_t newcomer) const {
  const std::lock_guard lock(books_mutex_);
  const auto found = seats_.find(newcomer);
  return found != seats_.end() ? std::optional(found->second) : std::nullopt;
}

std::vector<Guest> JoinedHosts::guests() {
  const std::lock_guard lock(lobby_mutex_);
  return lobby_ ? lobby_->guests() : std::vector<Guest>();
}

void JoinedHosts::open_lobby(const std::vector<Rank>& members, const LobbyTerms& terms) {
  if (const auto neighbours = near_.session(); neighbours && near_.is_first_of_host(members))
    neighbours->open_lobby({neighbours->rank()}, {terms.version, "", "", terms.status});
  {
    const std::lock_guard lock(books_mutex_);
    members_ = members;
  }
  if (members.front() != self_) return;
  const std::lock_guard lock(lobby_mutex_);
  if (lobby_) return;
  const HostsLobby::Facts facts{.members = [this] { return described(this->members()); },
                                .seat_of = [this](std::uint64_t id) { return seat_of(id); }};
  lobby_ = std::make_unique<HostsLobby>(reception_, terms, facts,
                                        HostsLobby::Limits{limits_.beat, limits_.silence}, &guest_count_);
}

void JoinedHosts::close_lobby() {
  if (const auto neighbours = near_.session()) neighbours->close_lobby();
  const std::lock_guard lock(lobby_mutex_);
  lobby_.reset();
}

/// Of a rank of this host.
std::uint64_t JoinedHosts::process_of(Rank rank) const {
  const std::vector<Rank> number = near_.numbers_of({rank});
  return number.empty() ? 0 : near_.session()->process_of(number.front());
}

// ---- memory of a host ----

/// The session of one host's ranks has numbers of its own, and knows how a process ended, but not why it gave up.
Cause JoinedHosts::by_our_numbers(Cause cause) const {
  if (cause.rank == Cause::kNobody) return cause;
  cause.rank = near_.rank_of(cause.rank).value_or(Cause::kNobody);
  for (const LostRank& one : lost())
    if (one.rank == cause.rank && one.gave_up_for) return *one.gave_up_for;
  return cause;
}

void JoinedHosts::throw_by_our_numbers(const Cause& of_host) const {
  const Cause cause = by_our_numbers(of_host);
  throw_for(cause, cause.rank, "sharing memory: " + cause.text());
}

/// Ranks of one host that say that they may share memory show it by doing so; where one of them cannot, each is a host of its
/// own. Ranks that may not share are told apart at once.
void JoinedHosts::share_memory(const HostsOptions& options, const Deadline& deadline) {
  const Card& own = cards_.at(self_);
  std::vector<Rank> near;
  for (Rank rank : indices<Rank>(rank_count_))
    if (cards_.at(rank).is_near(own)) near.push_back(rank);
  remark_on_users();
  const Rank number{std::ranges::lower_bound(near, self_) - near.begin()};
  try {
    if (own.head.can_share != 0)
      near_.take(
          LocalSession::join({number, static_cast<int>(near.size()), own.memory_name(options.name),
                              std::min(options.memory_timeout_s, deadline.seconds_left()), options.check}),
          own.head.host);
  } catch (const Error&) {  // it stands alone
  }
  if (near_.session())
    for (std::size_t i = 0; i < near.size(); ++i) near_.note_neighbour(near[i], Rank{i});
  const std::byte shares{near_.session() ? std::uint8_t{1} : std::uint8_t{0}};
  const auto all = exchange(first_ranks(rank_count_), "hosts", std::span(&shares, 1), deadline);
  std::map<std::string, int> known;
  int next = 0;
  for (Rank rank : indices<Rank>(rank_count_)) {
    const bool stands_alone = all[static_cast<std::size_t>(rank)] != Bytes{std::byte{1}};
    const std::string key = head(rank).host.hex() + head(rank).memory.hex();
    const auto found = stands_alone ? known.end() : known.find(key);
    const int host = found != known.end() ? found->second : next++;
    near_.note_host(rank, host);
    if (!stands_alone) known.emplace(key, host);
  }
}

/// The lowest rank of a host reports, for all of them, the ranks with memory apart.
void JoinedHosts::remark_on_users() {
  std::vector<std::vector<Rank>> groups;
  for (Rank rank : indices<Rank>(rank_count_)) {
    if (head(rank).host != head(self_).host) continue;
    if (rank < self_) return;
    const auto group = std::ranges::find_if(
        groups, [&](const auto& ranks) { return head(ranks.front()).memory == head(rank).memory; });
    group != groups.end() ? group->push_back(rank) : groups.push_back({rank});
  }
  if (groups.size() < 2) return;
  std::string text;
  for (const std::vector<Rank>& ranks : groups) {
    const Card::Head& first = head(ranks.front());
    text += (text.empty() ? "rank" : ", rank") + std::string(ranks.size() == 1 ? " " : "s ") +
            rank_list(ranks) + " (user " + std::to_string(first.user) +
            (first.can_share != 0 ? ")" : ", without pidfd_open or memfd_create)");
  }
  remarks_.push_back("ranks of one host share no memory: " + text +
                     ". Messages between these go over the network; run all ranks of a host as one user");
}

// A forked child takes nothing apart: the thread that would release a lock is not there.
std::shared_ptr<JoinedHosts> held(JoinedHosts* session) {
  return {session, [home = HomeProcess()](JoinedHosts* held) {
            if (home.is_here()) delete held;
          }};
}

}  // namespace

std::shared_ptr<HostsSession> HostsSession::join(const HostsOptions& options) {
  const Rank self = options.reception->credentials().rank;
  if (options.rank_count < 1 || self < 0 || self >= options.rank_count)
    throw ArgumentError("expected a rank of 0 to " + std::to_string(options.rank_count - 1) + ", found " +
                        std::to_string(self));
  auto session =
      held(new JoinedHosts(options, first_ranks(options.rank_count), options.rank_count, options.rank_count));
  session->meet(options);
  return session;
}

std::shared_ptr<HostsSession> HostsSession::enter(const HostsOptions& options, const visit::Seat& seat,
                                                  std::shared_ptr<LocalSession> neighbours) {
  auto session = held(new JoinedHosts(options, ranks_of(seat.members), seat.rank_count, seat.founder_count));
  session->take(seat, std::move(neighbours), Deadline(options.timeout_s, options.check));
  return session;
}

}  // namespace hemiola
