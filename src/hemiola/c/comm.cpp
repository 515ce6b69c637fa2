// SPDX-License-Identifier: Apache-2.0
#include "hemiola/c/comm.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <sstream>
#include <string_view>
#include <thread>

#include "hemiola/base/error.hpp"
#include "hemiola/base/hash.hpp"
#include "hemiola/c/choice.hpp"
#include "hemiola/c/status.hpp"
#include "hemiola/runtime/session/minority_error.hpp"

namespace hemiola::c {
namespace {

constexpr std::string_view kInvites = R"({"library": "libhemiola", "timeout_s": )";
constexpr const char* kFounded = "job in C";
/// How long a rank waits for the session to notice a loss that a wire has reported.
constexpr double kLongestDoubt_s = 2;

/// The lineage of a communicator that was made of another one's ranks.
std::string descended(const std::string& lineage, const std::vector<Rank>& ranks) {
  Hasher hasher;
  hasher.add_bytes(std::as_bytes(std::span(lineage)));
  for (const Rank rank : ranks) hasher.add(static_cast<std::uint64_t>(rank));
  return "C " + hasher.finish().hex();
}

std::vector<Rank> sorted(std::vector<Rank> ranks) {
  std::ranges::sort(ranks);
  return ranks;
}

/// Throws MismatchError where a rank has other options than rank 0.
void agree_on(const Terms& terms, Session& session) {
  std::vector<Rank> all;
  for (Rank rank : indices<Rank>(session.rank_count())) all.push_back(rank);
  const std::string own = terms.invitation();
  const std::vector<Bytes> told = session.exchange(all, "options of hemiola_init",
                                                   std::as_bytes(std::span(own)), Deadline(terms.timeout_s));
  const auto text_of = [&](std::size_t rank) {
    return std::string(reinterpret_cast<const char*>(told[rank].data()), told[rank].size());
  };
  for (std::size_t rank = 1; rank < told.size(); ++rank)
    if (text_of(rank) != text_of(0))
      throw MismatchError("rank 0 has the options '" + text_of(0) + "', rank " + std::to_string(rank) +
                          " has '" + text_of(rank) +
                          "'; every rank must have the same timeout and HEMIOLA_WIRE");
}

}  // namespace

std::string Terms::invitation() const {
  std::ostringstream text;
  text << kInvites << timeout_s << R"(, "wires": ")" << wires << "\"}";
  return text.str();
}

Terms Terms::invited(const std::string& invitation) {
  Terms terms;
  char wires[64] = "";
  if (!invitation.starts_with(kInvites) ||
      std::sscanf(invitation.c_str() + kInvites.size(), R"(%lf, "wires": "%63[a-z,]")", &terms.timeout_s,
                  wires) != 2)
    throw MismatchError(
        "the job's ranks are of Hemiola's Python package, which chooses schedules in other words; come to it "
        "with "
        "hemiola.join in Python");
  terms.wires = wires;
  return terms;
}

std::shared_ptr<Comm> Comm::join(const MeetingPlace& place, Rank rank, int rank_count,
                                 const Settings& settings) {
  const Terms terms{settings.timeout_s, settings.wires};
  const auto session = meet(place, rank, rank_count, settings);
  agree_on(terms, *session);
  Agreed founded{{}, kFounded};
  for (Rank one : indices<Rank>(rank_count)) founded.ranks.push_back(one);
  const std::shared_ptr<Comm> comm(new Comm(session, terms, founded));
  comm->stand(founded, false);
  return comm;
}

std::shared_ptr<Comm> Comm::enter(const MeetingPlace& place, const Settings& settings) {
  const Seated seated = c::enter(place, settings);
  const Agreed agreed{seated.members, descended(seated.agreement, seated.members)};
  const std::shared_ptr<Comm> comm(new Comm(seated.session, Terms::invited(seated.invitation), {}));
  comm->become(agreed, true);
  return comm;
}

void Comm::check_process() const {
  home_.check();
}

std::shared_ptr<Core> Comm::core() const {
  check_process();
  const std::lock_guard lock(mutex_);
  if (!core_) throw ArgumentError(why_none_);
  return core_;
}

int Comm::run_message(const std::shared_ptr<MessageRequest>& request) {
  const auto core = this->core();
  request->deadline = Deadline(terms_.timeout_s);
  core->communicator.messages().run(request, core->communicator.until_closed({}));
  return request->source;
}

void Comm::shrink() {
  check_process();
  const std::lock_guard changing(changing_);
  std::shared_ptr<Core> before;
  {
    const std::lock_guard lock(mutex_);
    before = std::exchange(core_, nullptr);
    why_none_ = "this communicator is about to shrink: call hemiola_shrink again, or hemiola_close";
  }
  if (before) before->communicator.close();
  before.reset();
  become(next_members(agreed_, false), false);
}

bool Comm::grow() {
  check_process();
  const std::lock_guard changing(changing_);
  if (!has_left_) become(next_members(agreed_, true), true);
  return !has_left_;
}

void Comm::leave() {
  const auto core = this->core();
  {
    const std::lock_guard lock(mutex_);
    leaves_ = true;
  }
  core->communicator.call();
}

void Comm::close() {
  std::shared_ptr<Core> before;
  {
    const std::lock_guard lock(mutex_);
    before = std::exchange(core_, nullptr);
    why_none_ = "this communicator is closed";
  }
  if (!home_.is_here()) {
    new std::shared_ptr<Core>(before);  // its threads and its memory are in another process
    new std::shared_ptr<Session>(session_);
    return;
  }
  if (before) before->communicator.close();
  before.reset();
  session_->close_lobby();
  say_farewell(*session_);
}

/// Agrees with the others on the next members, in their order; nothing on a rank that leaves.
std::optional<Comm::Agreed> Comm::next_members(const Agreed& upon, bool grows) const {
  bool leaves = false;
  {
    const std::lock_guard lock(mutex_);
    leaves = grows && leaves_;
  }
  std::vector<Rank> found = session_->next_members(
      sorted(upon.ranks), upon.lineage, {.leaves = leaves, .admits = grows}, Deadline(terms_.timeout_s));
  const auto place = [&](Rank rank) { return std::ranges::find(upon.ranks, rank) - upon.ranks.begin(); };
  std::ranges::sort(found, {}, [&](Rank rank) { return std::pair(place(rank), rank); });
  if (std::ranges::find(found, session_->rank()) != found.end())
    return Agreed{found, descended(upon.lineage, found)};
  if (leaves) return std::nullopt;
  throw MinorityError("the other ranks have gone on without this one");
}

/// Where one of the agreed ranks is lost before their communicator stands, those that are left agree again.
void Comm::become(std::optional<Agreed> agreed, bool grows) {
  while (agreed) {
    try {
      return stand(*agreed, grows);
    } catch (const LostRankError&) {
      if (!misses_one(agreed->ranks)) throw;
    }
    agreed = next_members(*agreed, grows);
  }
  has_left_ = true;
  std::shared_ptr<Core> before;
  const std::lock_guard lock(mutex_);
  before = std::exchange(core_, nullptr);
  why_none_ = "this rank has left its job; close the communicator";
  if (before) before->communicator.close();
}

/// Makes the communicator of agreed ranks, all of whom call this; the present one stays where nothing changes.
void Comm::stand(const Agreed& agreed, bool grows) {
  if (grows && agreed.ranks == agreed_.ranks && is_whole(agreed)) {
    agreed_ = agreed;
    return;
  }
  const auto choice = std::make_shared<std::shared_ptr<const Choice>>();
  // The figures are known once the communicator stands, and nobody asks for a schedule before.
  auto core = std::make_shared<Core>(
      session_, agreed.ranks, options(),
      Chooser{.decide = [choice](const Question& q) { return chooser_of(*choice).decide(q); },
              .follow = [choice](const Bytes& recipe,
                                 const Question& q) { return chooser_of(*choice).follow(recipe, q); }});
  figures_ = known_figures(agreed.ranks, *core);
  const std::vector<int> hosts = hosts_of(*session_, agreed.ranks);
  *choice = std::make_shared<const Choice>(network_of(figures_, hosts), hosts);
  agreed_ = agreed;
  {
    const std::lock_guard lock(mutex_);
    std::swap(core_, core);
    if (leaves_) core_->communicator.call();
  }
  if (core) core->communicator.close();
  open_lobby();
}

/// Whether no rank has given the present communicator up; all of the agreed ranks ask.
bool Comm::is_whole(const Agreed& agreed) const {
  std::byte own{0};
  {
    const std::lock_guard lock(mutex_);
    own = std::byte{core_ && core_->communicator.is_whole()};
  }
  const std::vector<Bytes> told =
      session_->exchange(sorted(agreed.ranks), agreed.lineage, {&own, 1}, Deadline(terms_.timeout_s));
  return std::ranges::all_of(told, [](const Bytes& word) { return word == Bytes{std::byte{1}}; });
}

/// Between hosts a wire may find a rank's end before the session does.
bool Comm::misses_one(const std::vector<Rank>& ranks) const {
  const Deadline deadline(kLongestDoubt_s);
  for (;;) {
    const std::vector<LostRank> lost = session_->lost();
    if (std::ranges::any_of(ranks, [&](Rank rank) { return is_among(rank, lost); })) return true;
    if (deadline.passed()) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

/// Members tell newcomers their figures. Where these lack a kind of link that there is now, all measure again.
Figures Comm::known_figures(const std::vector<Rank>& ranks, Core& core) const {
  Figures known;
  if (ranks.size() == 1) return figures_;
  for (const Bytes& told :
       core.communicator.members().exchange("known figures", figures_.packed(), Deadline(terms_.timeout_s)))
    known.join(Figures::of(told));
  if (are_enough(known, hosts_of(*session_, ranks))) return known;
  return measured(session_, ranks, core, options());
}

void Comm::open_lobby() const {
  const std::string refusal = "";
  session_->open_lobby(sorted(agreed_.ranks),
                       {version(), terms_.invitation(), refusal, status_text(*session_, agreed_.ranks)});
}

CommunicatorOptions Comm::options() const {
  CommunicatorOptions options;
  options.timeout_s = terms_.timeout_s;
  options.wires = terms_.wires;
  return options;
}

}  // namespace hemiola::c
