// SPDX-License-Identifier: Apache-2.0
// The finish for any rank count. Roles are fixed, ranks wander: two ranks that hold the same final chunks may
// swap roles for free, and they do so until every rank has been entry role (and so owner of a chunk) equally
// often.
#include <algorithm>
#include <map>
#include <numeric>

#include "hemiola/algorithms/index/circulant.hpp"
#include "hemiola/algorithms/late/late_finish.hpp"
#include "hemiola/base/error.hpp"
#include "hemiola/base/random.hpp"

namespace hemiola::algorithms {
namespace {

/// A message between roles; role 0 is the late rank's.
struct RoleMove {
  int src;
  int dst;
  int chunk;
  bool reduce;
};

/// The messages between roles in each round, and the roles that hold the same chunks before it (equal keys).
struct RolePlay {
  std::vector<std::vector<RoleMove>> rounds;
  std::vector<std::vector<std::uint64_t>> key;  // [round][role]
  std::vector<int> entry;                       // [round]: the role that gets the raw chunk of that number
};

RolePlay play_roles(const Circulant& circulant, int chunk_count) {
  const int n = circulant.role_count(), q = circulant.phase_rounds(), last = chunk_count - 1;
  const int skipped =
      ((-last) % q + q) % q;  // virtual rounds left out at the start, so that a phase ends at the end
  std::vector<std::uint64_t> name(static_cast<std::size_t>(chunk_count));
  Random random(1);
  for (auto& value : name) value = random.next();
  std::vector<std::uint64_t> key(static_cast<std::size_t>(n), 0);
  std::vector<bool> held(static_cast<std::size_t>(n) * static_cast<std::size_t>(chunk_count));
  const auto at = [&](int role, int chunk) { return static_cast<std::size_t>(role) * chunk_count + chunk; };
  held[at(0, last)] = true;

  RolePlay play;
  for (int round = 0; round < chunk_count + q - 1; ++round) {
    const int i = round + skipped, k = i % q, offset = q * (i / q) - skipped;
    std::vector<RoleMove> moves;
    // The last chunk's part reaches the late rank while both ports are idle; its owner is filled in with the
    // ranks.
    for (int role = 0; role < n; ++role) {
      const int chunk = std::min(circulant.received_block(role, k) + offset, last);
      if (chunk < 0 || held[at(role, chunk)]) continue;
      const int src = circulant.source(role, k);
      const bool raw = src == 0 && (chunk < last || round == 0);
      moves.push_back({src, role, chunk, raw});
    }
    play.key.push_back(key);
    if (round < last) play.entry.push_back(circulant.skip(k));
    for (const RoleMove& move : moves) {
      held[at(move.dst, move.chunk)] = true;
      key[static_cast<std::size_t>(move.dst)] += name[static_cast<std::size_t>(move.chunk)];
    }
    play.rounds.push_back(std::move(moves));
  }
  return play;
}

/// role_[rank][round] for the early ranks: each one's role at each time.
class Casting {
 public:
  Casting(const Circulant& circulant, const RolePlay& play) : circulant_(circulant), play_(play) {
    const std::size_t early = static_cast<std::size_t>(circulant.role_count()) - 1;
    role_.assign(early, std::vector<int>(play.rounds.size()));
    releases_.assign(early, 0);
    std::vector<int> now(early);
    std::iota(now.begin(), now.end(), 1);
    for (std::size_t round = 0; round < play.rounds.size(); ++round) cast_round(round, &now);
    balance();
  }

  int role(int rank, std::size_t round) const { return role_[static_cast<std::size_t>(rank)][round]; }
  const std::vector<int>& releases() const { return releases_; }

 private:
  bool is_entry(int role, std::size_t round) const {
    return round < play_.entry.size() && play_.entry[round] == role;
  }

  /// How soon a role is an entry again; roles of the upper half come next, the others last.
  int urgency(int role, std::size_t round) const {
    const auto phase = static_cast<std::size_t>(circulant_.phase_rounds());
    for (std::size_t wait = 0; wait < phase; ++wait)
      if (is_entry(role, round + wait)) return static_cast<int>(wait);
    return role >= circulant_.skip(circulant_.phase_rounds() - 1) ? 1000 : 1001;
  }

  /// Within each group of ranks that hold the same, those with fewest releases take the roles that are
  /// entries soonest.
  void cast_round(std::size_t round, std::vector<int>* now) {
    std::map<std::uint64_t, std::vector<int>> groups;
    for (std::size_t rank = 0; rank < now->size(); ++rank)
      groups[play_.key[round][static_cast<std::size_t>((*now)[rank])]].push_back(static_cast<int>(rank));
    for (auto& [key, ranks] : groups) {
      std::vector<std::pair<int, int>> roles;
      for (int rank : ranks) {
        const int role = (*now)[static_cast<std::size_t>(rank)];
        roles.push_back({urgency(role, round), role});
      }
      std::sort(roles.begin(), roles.end());
      std::stable_sort(ranks.begin(), ranks.end(), [&](int a, int b) {
        return releases_[static_cast<std::size_t>(a)] < releases_[static_cast<std::size_t>(b)];
      });
      for (std::size_t i = 0; i < ranks.size(); ++i)
        (*now)[static_cast<std::size_t>(ranks[i])] = roles[i].second;
    }
    for (std::size_t rank = 0; rank < now->size(); ++rank) {
      role_[rank][round] = (*now)[rank];
      releases_[rank] += is_entry((*now)[rank], round);
    }
  }

  bool holds_same(std::size_t a, std::size_t b, std::size_t round) const {
    const auto& key = play_.key[round];
    return key[static_cast<std::size_t>(role_[a][round])] == key[static_cast<std::size_t>(role_[b][round])];
  }

  int tail_releases(std::size_t rank, std::size_t round) const {
    int count = 0;
    for (; round < play_.entry.size(); ++round) count += is_entry(role_[rank][round], round);
    return count;
  }

  void swap_tails(std::size_t a, std::size_t b, std::size_t round) {
    const int moved = tail_releases(a, round) - tail_releases(b, round);
    releases_[a] -= moved;
    releases_[b] += moved;
    std::swap_ranges(role_[a].begin() + static_cast<std::ptrdiff_t>(round), role_[a].end(),
                     role_[b].begin() + static_cast<std::ptrdiff_t>(round));
  }

  /// Exchanges the rest of two ranks' roles, from a round in which they hold the same, until no rank is entry
  /// more than once more often than another. Each step lowers the sum of squares, or is a random neutral move
  /// out of a dead end.
  void balance() {
    Random random(2);
    for (int step = 0; step < 4000; ++step) {
      const auto [low, high] = std::minmax_element(releases_.begin(), releases_.end());
      if (*high - *low <= 1) return;
      const auto over = static_cast<std::size_t>(high - releases_.begin());
      if (!improve(over)) wander(over, &random);
    }
  }

  bool improve(std::size_t over) {
    for (std::size_t other = 0; other < role_.size(); ++other) {
      if (releases_[other] + 1 >= releases_[over]) continue;
      int tail = 0;  // releases that would move from `over` to `other`, from the back
      for (std::size_t round = play_.entry.size(); round-- > 0;) {
        tail += is_entry(role_[over][round], round) - is_entry(role_[other][round], round);
        if (tail > 0 && tail < releases_[over] - releases_[other] && holds_same(over, other, round)) {
          swap_tails(over, other, round);
          return true;
        }
      }
    }
    return false;
  }

  void wander(std::size_t over, Random* random) {
    for (int attempt = 0; attempt < 64; ++attempt) {
      const std::size_t other = random->below(static_cast<std::uint32_t>(role_.size()));
      const std::size_t round = random->below(static_cast<std::uint32_t>(play_.rounds.size()));
      if (other == over || !holds_same(over, other, round)) continue;
      const int moved = tail_releases(over, round) - tail_releases(other, round);
      if (moved < 0 || moved > releases_[over] - releases_[other]) continue;
      swap_tails(over, other, round);
      return;
    }
  }

  const Circulant& circulant_;
  const RolePlay& play_;
  std::vector<std::vector<int>> role_;
  std::vector<int> releases_;
};

}  // namespace

FinishTable circulant_finish(int rank_count, int chunk_count) {
  const Circulant circulant(rank_count);
  const RolePlay play = play_roles(circulant, chunk_count);
  const Casting casting(circulant, play);
  const int early = rank_count - 1;
  const Rank late{early};

  FinishTable table{rank_count, std::vector<Rank>(static_cast<std::size_t>(chunk_count), late), {}};
  for (std::size_t round = 0; round < play.rounds.size(); ++round) {
    std::vector<Rank> actor(static_cast<std::size_t>(rank_count), late);
    for (Rank rank : indices<Rank>(early)) actor[static_cast<std::size_t>(casting.role(rank, round))] = rank;
    std::vector<FinishMove> moves;
    for (const RoleMove& move : play.rounds[round]) {
      const Rank src = actor[static_cast<std::size_t>(move.src)],
                 dst = actor[static_cast<std::size_t>(move.dst)];
      moves.push_back({src, dst, Chunk{move.chunk}, move.reduce});
      if (move.reduce) table.owner[static_cast<std::size_t>(move.chunk)] = dst;
      if (move.reduce && chunk_count == 1) moves.push_back({dst, late, Chunk{0}, true});
    }
    table.rounds.push_back(std::move(moves));
  }
  if (chunk_count > 1) {
    const auto& releases = casting.releases();
    table.owner.back() = Rank{std::min_element(releases.begin(), releases.end()) - releases.begin()};
    table.rounds[0].push_back({table.owner.back(), late, Chunk{chunk_count - 1}, true});
  }
  return table;
}

}  // namespace hemiola::algorithms
