// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/session/hosts/hosts_session.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <utility>

#include "hemiola/base/descriptor.hpp"
#include "hemiola/base/error.hpp"
#include "hemiola/base/hash.hpp"
#include "hemiola/base/head.hpp"
#include "hemiola/base/home_process.hpp"
#include "hemiola/runtime/session/exchange_check.hpp"
#include "hemiola/runtime/session/hosts/cause_desk.hpp"
#include "hemiola/runtime/session/hosts/exchange_desk.hpp"
#include "hemiola/runtime/session/hosts/host_identity.hpp"
#include "hemiola/runtime/session/hosts/roster.hpp"
#include "hemiola/runtime/session/hosts/survivors_desk.hpp"
#include "hemiola/runtime/session/local/local_session.hpp"
#include "hemiola/runtime/session/rank_list.hpp"

namespace hemiola {
namespace {

/// The facts about a rank that others need: its host, the ranks that may share its memory, and its address.
struct Card {
  struct Head {
    Hash128 host;
    Hash128 memory;  ///< equal for ranks of one host that may open each other's memory
    std::uint32_t user = 0;
    std::uint32_t can_share = 0;
  };
  Head head;
  std::vector<Endpoint> endpoints;

  Bytes packed() const {
    Bytes bytes = with_head(head, {});
    for (const Endpoint& endpoint : endpoints) {
      const auto more = endpoint.bytes();
      bytes.insert(bytes.end(), more.begin(), more.end());
    }
    return bytes;
  }
  static Card of(std::span<const std::byte> bytes) {
    Card card{.head = head_of<Head>(bytes), .endpoints = {}};
    for (auto left = after_head<Head>(bytes); left.size() >= Endpoint::kBytes;
         left = left.subspan(Endpoint::kBytes))
      card.endpoints.push_back(Endpoint::from_bytes(left.first<Endpoint::kBytes>()));
    return card;
  }
};

/// Memory and process descriptors go to processes of the same user alone; a rank that gets neither shares with nobody.
Card::Head own_head(Rank self) {
  Card::Head head{.host = host_identity(), .memory = {}, .user = ::getuid()};
  const Descriptor process(static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0)));
  const Descriptor memory(::memfd_create("hemiola", MFD_CLOEXEC));
  head.can_share = process && memory ? 1 : 0;
  struct stat users{};
  ::stat("/proc/self/ns/user", &users);
  Hasher hasher;
  for (const std::uint64_t word : {std::uint64_t{head.user}, std::uint64_t{users.st_ino},
                                   head.can_share ? 0 : static_cast<std::uint64_t>(self) + 1})
    hasher.add(word);
  head.memory = hasher.finish();
  return head;
}

/// Those of a host that have memory in common, and this rank's session with them.
struct Neighbourhood {
  std::vector<Rank> ranks;  ///< sorted; the index is the number in `session`
  std::shared_ptr<LocalSession> session;

  std::vector<Rank> numbers_of(const std::vector<Rank>& members) const {
    std::vector<Rank> numbers;
    for (Rank member : members) {
      const auto at = std::ranges::lower_bound(ranks, member);
      if (at == ranks.end() || *at != member) return {};
      numbers.push_back(Rank{at - ranks.begin()});
    }
    return numbers;
  }
};

SidebandLimits limits_of(const HostsOptions& options) {
  SidebandLimits limits = options.limits;
  limits.tries_other_addresses = options.nics.size() > 1;
  return limits;
}

class JoinedHosts final : public HostsSession {
 public:
  explicit JoinedHosts(const HostsOptions& options)
      : self_(options.reception->credentials().rank),
        rank_count_(options.rank_count),
        reception_(options.reception),
        nics_(options.nics.empty() ? std::vector<NicAddresses>{{.endpoints = options.addresses}}
                                   : options.nics),
        sideband_(reception_, rank_count_, limits_of(options)),
        causes_(&sideband_, [this] { return sideband_.lost(); }),
        desk_(
            &sideband_, self_,
            {[this] { return lost(); }, [this] { return complaints(); }, [this] { return clock().now_ns; }}),
        survivors_(&sideband_, self_, [this] { return losses_with_evidence(); }) {}

  void meet(const HostsOptions& options);

  Rank rank() const override { return self_; }
  int rank_count() const override { return rank_count_; }
  int host_of(Rank rank) const override { return hosts_[static_cast<std::size_t>(rank)]; }
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
    if (!near_.session || numbers.empty()) return nullptr;
    return telling([&] {
      try {
        return near_.session->shared(numbers, bytes, deadline);
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
  std::vector<Rank> next_members(const std::vector<Rank>& members, std::string_view name, const Wishes&,
                                 const Deadline& deadline) override {
    check_members(members, self_, rank_count_);
    return telling([&] { return survivors_.survivors(members, name, deadline); });
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
  const Card::Head& head(Rank rank) const { return cards_[static_cast<std::size_t>(rank)].head; }
  std::vector<Rank> everybody() const {
    std::vector<Rank> all;
    for (Rank rank : indices<Rank>(rank_count_)) all.push_back(rank);
    return all;
  }

  const Rank self_;
  const int rank_count_;
  const std::shared_ptr<Reception> reception_;
  const std::vector<NicAddresses> nics_;
  std::vector<Card> cards_;
  std::vector<int> hosts_;
  std::vector<std::string> remarks_;
  Neighbourhood near_;
  Sideband sideband_;
  CauseDesk causes_;
  ExchangeDesk desk_;
  SurvivorsDesk survivors_;
};

/// Of the ranks of its host, this one sees the processes end.
std::vector<LostRank> JoinedHosts::losses_with_evidence() const {
  std::vector<LostRank> lost = sideband_.lost();
  const bool has_heard = std::ranges::find(lost, Evidence::hearsay, &LostRank::evidence) != lost.end();
  if (!has_heard || !near_.session) return lost;
  for (const LostRank& ended : near_.session->lost()) {
    const auto one = std::ranges::find(lost, near_.ranks[at(ended.rank)], &LostRank::rank);
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
    if (options.check) options.check();
  });
  sideband_.start();
  if (self_ != 0) sideband_.learn(Rank{0}, options.rank_zero);
  roster.sign();
  Card own{.head = own_head(self_), .endpoints = {}};
  for (const Endpoint& address : options.addresses)
    own.endpoints.push_back(address.with_port(reception_->endpoint().port()));
  try {
    for (const Bytes& card : exchange(everybody(), "cards", own.packed(), deadline))
      cards_.push_back(Card::of(card));
  } catch (const ArgumentError&) {
    if (self_ == 0) roster.stay();
    throw;
  }
  for (Rank rank : indices<Rank>(rank_count_))
    if (rank != self_) sideband_.learn(rank, cards_[static_cast<std::size_t>(rank)].endpoints);
  sideband_.watch();
  share_memory(options, deadline);
}

/// The session of one host's ranks has numbers of its own, and knows how a process ended, but not why it gave up.
Cause JoinedHosts::by_our_numbers(Cause cause) const {
  if (cause.rank == Cause::kNobody) return cause;
  cause.rank = near_.ranks[static_cast<std::size_t>(cause.rank)];
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
  const Card::Head& here = head(self_);
  for (Rank rank : indices<Rank>(rank_count_))
    if (head(rank).host == here.host && head(rank).memory == here.memory) near_.ranks.push_back(rank);
  remark_on_users();
  const Rank number{std::ranges::lower_bound(near_.ranks, self_) - near_.ranks.begin()};
  try {
    if (here.can_share != 0)
      near_.session = LocalSession::join(
          {number, static_cast<int>(near_.ranks.size()), options.name + here.host.hex() + here.memory.hex(),
           std::min(options.memory_timeout_s, deadline.seconds_left()), options.check});
  } catch (const Error&) {
    near_ = {};
  }
  const std::byte shares{near_.session ? std::uint8_t{1} : std::uint8_t{0}};
  const auto all = exchange(everybody(), "hosts", std::span(&shares, 1), deadline);
  std::map<std::string, int> known;
  int next = 0;
  for (Rank rank : indices<Rank>(rank_count_)) {
    const bool stands_alone = all[static_cast<std::size_t>(rank)] != Bytes{std::byte{1}};
    const std::string key = head(rank).host.hex() + head(rank).memory.hex();
    const auto found = stands_alone ? known.end() : known.find(key);
    hosts_.push_back(found != known.end() ? found->second : next++);
    if (!stands_alone) known.emplace(key, hosts_.back());
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

}  // namespace

std::shared_ptr<HostsSession> HostsSession::join(const HostsOptions& options) {
  const Rank self = options.reception->credentials().rank;
  if (options.rank_count < 1 || self < 0 || self >= options.rank_count)
    throw ArgumentError("expected a rank of 0 to " + std::to_string(options.rank_count - 1) + ", found " +
                        std::to_string(self));
  // A forked child takes nothing apart: the thread that would release a lock is not there.
  const auto let_go = [home = HomeProcess()](JoinedHosts* session) {
    if (home.is_here()) delete session;
  };
  std::shared_ptr<JoinedHosts> session(new JoinedHosts(options), let_go);
  session->meet(options);
  return session;
}

}  // namespace hemiola
