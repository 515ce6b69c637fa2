// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/session/hosts/sideband.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "hemiola/base/error.hpp"
#include "hemiola/base/head.hpp"
#include "hemiola/base/started_thread.hpp"
#include "hemiola/base/units.hpp"
#include "hemiola/runtime/session/hosts/neighbours.hpp"

namespace hemiola {
namespace {

constexpr std::uint32_t kDoor = 1;  ///< of every rank's sideband
constexpr std::size_t kKeptFloods = 1024, kKeptComplaints = 8;
constexpr int kMostRanks = 1 << 16;
/// Newcomers that others may have let in since this rank last agreed with them.
constexpr int kMostUnheardOf = 4096;
constexpr auto kHandshakeLimit = std::chrono::seconds(5);
constexpr auto kLongestBetweenTries = std::chrono::milliseconds(250);
/// The first few questions about rank 0's clock follow each other at once, later ones at every so manieth beat.
constexpr int kFirstPings = 8, kBeatsPerPing = 10;

/// Of a clock, or of its error: 146 years. Sums of a few do not overflow.
constexpr std::int64_t kMost_ns = std::int64_t{1} << 62;
const std::string kSentNonsense = "it has sent what no rank sends: ";

/// Of a flood, which one it is; of a loss, whose, and when it was noticed.
struct FloodHead {
  Rank origin{0};
  Evidence evidence = Evidence::hearsay;
  std::uint64_t number = 0;
};

FrameKind kind_of(const LostRank& loss) {
  return loss.has_left() ? FrameKind::left : FrameKind::lost;
}

Bytes packed(const LostRank& loss) {
  return with_head(FloodHead{loss.rank, loss.evidence, static_cast<std::uint64_t>(loss.at_ns)},
                   std::as_bytes(std::span(loss.reason)));
}

struct Ping {
  std::int64_t asked_ns = 0, there_ns = 0, error_ns = 0;
};

}  // namespace

Sideband::Sideband(std::shared_ptr<Reception> reception, const std::vector<Rank>& members,
                   const SidebandLimits& limits)
    : self_(reception->credentials().rank),
      limits_(limits),
      reception_(std::move(reception)),
      door_(reception_->open()),
      clock_(self_, members),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      peers_(static_cast<std::size_t>(members.back() + 1)),
      rank_count_(members.back() + 1) {
  for (Rank member : members) peer(member).is_member = true;
  HEMIOLA_CHECK(door_->number() == kDoor, "a reception whose first door is not its sideband's");
  if (!wake_) throw LostRankError("no room for another file; raise the limit with 'ulimit -n'");
  watch_the_living();
}

void Sideband::start() {
  thread_ = started_thread("messages about lost ranks", [this] { run(); });
}

Sideband::~Sideband() {
  leave();
}

// ---- any thread ----

void Sideband::leave() {
  {
    const std::lock_guard lock(mutex_);
    if (closing_) return;
    closing_ = true;
  }
  wake();
  if (thread_.joinable()) thread_.join();
}

void Sideband::wake() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof one);
}

void Sideband::learn(Rank rank, std::vector<Endpoint> at) {
  {
    const std::lock_guard lock(mutex_);
    learnt_[rank] = std::move(at);
  }
  wake();
}

void Sideband::watch() {
  {
    const std::lock_guard lock(mutex_);
    watch_ = true;
  }
  wake();
}

void Sideband::admit(Rank newcomer, std::vector<Endpoint> at) {
  {
    const std::lock_guard lock(mutex_);
    rank_count_ = std::max<int>(rank_count_, newcomer + 1);
    learnt_[newcomer] = std::move(at);
    admitted_.push_back(newcomer);
  }
  wake();
}

void Sideband::send(Rank to, Topic topic, Bytes message) {
  post({FrameKind::message, checked(to), topic, std::move(message)});
}

void Sideband::tell_all(Topic topic, Bytes message) {
  post({FrameKind::flood, self_, topic, std::move(message)});
}

void Sideband::post(Letter letter) {
  bool was_empty = false;
  {
    const std::lock_guard lock(mutex_);
    was_empty = letters_.empty();
    letters_.push_back(std::move(letter));
  }
  if (was_empty) wake();
}

std::vector<LostRank> Sideband::lost() const {
  const std::lock_guard lock(mutex_);
  return lost_;
}

std::vector<std::string> Sideband::complaints() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> found(complaints_.begin(), complaints_.end());
  if (!unreached_.empty()) found.push_back(unreached_);
  return found;
}

std::string Sideband::encryption_refusal() const {
  const std::lock_guard lock(mutex_);
  return encryption_refusal_;
}

// ---- the thread ----

void Sideband::run() {
  next_beat_ = Clock::now();
  Clock::time_point judged_at = next_beat_;
  while (true) {
    wait();
    take_letters();
    accept();
    read_lines();
    open_lines();
    if (const Clock::time_point now = Clock::now(); now >= next_beat_) {
      judge_silence(now, now - judged_at - limits_.beat);  // at any step since then
      leave_cut_ways(now);
      judged_at = now;
      beat();
    }
    for (Line& line : lines_)
      if (!line.over && !line.stream.flush()) end(&line);
    sweep();
    const std::lock_guard lock(mutex_);
    if (closing_ && letters_.empty()) break;
  }
  say_farewell();
}

void Sideband::wait() {
  std::vector<pollfd> all{
      {wake_.get(), POLLIN, 0}, {door_->listener(), POLLIN, 0}, {door_->bell(), POLLIN, 0}};
  for (Line& line : lines_) {
    const short events = line.stream.wants_to_write() ? POLLIN | POLLOUT : POLLIN;
    all.push_back({line.stream.descriptor(), events, 0});
  }
  auto until = next_beat_;
  for (Peer& peer : peers_) {
    if (peer.handshake)
      all.push_back({peer.handshake->descriptor(),
                     static_cast<short>(peer.handshake->wants_to_write() ? POLLOUT : POLLIN), 0});
    else if (!peer.line && !peer.endpoints.empty() && peer.next_try != Clock::time_point{})
      until = std::min(until, peer.next_try);
  }
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
  ::poll(all.data(), all.size(), static_cast<int>(std::clamp<std::int64_t>(left, 0, 1000)));
  std::uint64_t rung = 0;
  [[maybe_unused]] const ssize_t read = ::read(wake_.get(), &rung, sizeof rung);
}

void Sideband::take_letters() {
  std::deque<Letter> letters;
  std::map<Rank, std::vector<Endpoint>> learnt;
  std::vector<Rank> admitted;
  {
    const std::lock_guard lock(mutex_);
    letters.swap(letters_);
    learnt.swap(learnt_);
    admitted.swap(admitted_);
    if (watch_ && !watching_)
      for (Rank neighbour : neighbours_) peer(neighbour).heard = Clock::now();
    watching_ = watch_;
  }
  for (auto& [rank, endpoints] : learnt) {
    make_room_for(rank);
    peer(rank).endpoints = std::move(endpoints);
  }
  for (Rank newcomer : admitted) peer(newcomer).is_member = true;
  if (!admitted.empty()) watch_the_living();
  for (Letter& letter : letters) {
    if (letter.kind == FrameKind::flood)
      spread(letter.topic, with_head(FloodHead{self_, Evidence::hearsay, next_flood_++}, letter.message),
             self_);
    else if (letter.to == self_)
      dispatcher_.deliver(self_, letter.topic, letter.message);
    else
      put(letter.to, letter.kind, letter.topic, letter.message);
  }
}

/// To all neighbours but one; while ranks meet, and know rank 0 alone, to all that there is a connection with.
void Sideband::spread(Topic topic, std::span<const std::byte> flood, Rank except) {
  if (!watching_) {
    for (Line& line : lines_) {
      if (line.over || line.parting || line.peer == except) continue;
      if (peer(line.peer).line == &line)
        put(line.peer, FrameKind::flood, topic, flood);
      else
        line.stream.put(FrameKind::copy, topic, flood);
    }
    return;
  }
  for (Rank neighbour : neighbours_)
    if (neighbour != except) put(neighbour, FrameKind::flood, topic, flood);
}

void Sideband::put(Rank to, FrameKind kind, Topic topic, std::span<const std::byte> content) {
  Peer& receiver = peer(to);
  if (receiver.is_lost && !receiver.line) return;
  if (receiver.unheard.empty()) receiver.unheard_since = Clock::now();
  receiver.unheard.push_back(with_head(FrameHead{0, kind, topic}, content));
  receiver.line ? receiver.line->stream.put(kind, topic, content) : begin_line(to);
}

// ---- connections ----

void Sideband::accept() {
  for (ProvedConnection& arrival : door_->take()) {
    // A higher number than this rank knows may be a newcomer's that others have let in already; or, while ranks meet, one of
    // a larger job than this rank's, which has to be told that the numbers differ.
    if (arrival.rank < 0 || arrival.rank >= kMostRanks) continue;
    make_room_for(arrival.rank);
    add_line(arrival.rank, std::move(arrival.socket));
  }
  for (const std::string& text : reception_->take_complaints()) complain(text);
}

void Sideband::begin_line(Rank rank) {
  Peer& to = peer(rank);
  if (to.line || to.handshake || to.next_try != Clock::time_point{}) return;
  to.tries = to.refusals = 0;
  to.first_try = to.next_try = Clock::now();
}

/// Tries again and again where nobody answers: a rank may not have started yet. One that has been there and no longer
/// answers is lost. The lower of two neighbours calls; where it does not within a beat, it may have ended, and is called.
void Sideband::open_lines() {
  const Clock::time_point now = Clock::now();
  if (watching_)
    for (Rank neighbour : neighbours_)
      if (neighbour > self_ || now - peer(neighbour).heard > limits_.beat) begin_line(neighbour);
  for (Rank rank : indices<Rank>(known_count())) {
    Peer& to = peer(rank);
    const bool is_due =
        !to.line && !to.endpoints.empty() && to.next_try != Clock::time_point{} && now >= to.next_try;
    if (is_due && !to.handshake) {
      const Endpoint& endpoint = to.endpoints[to.tries++ % to.endpoints.size()];
      to.handshake =
          Handshake::connect(endpoint, &reception_->credentials(), Door::purpose_of(kDoor, 0), rank);
      to.handshake_since = now;
    }
    if (to.handshake) go_on(rank, &*to.handshake);
  }
}

void Sideband::go_on(Rank rank, Handshake* handshake) {
  Peer& to = peer(rank);
  const auto state = handshake->progress();
  if (state == Handshake::State::proved) {
    ByteStream connection = handshake->take();
    to.handshake.reset();
    add_line(rank, std::move(connection), true);
    return;
  }
  if (!watching_ && !handshake->is_connecting())
    note_unreached(
        "the process that listens at " + handshake->other().text() +
        " has not answered as a rank of this job does; check that it is rank 0, and no other program's port");
  const bool has_other =
      limits_.tries_other_addresses && watching_ && handshake->is_connecting() && to.endpoints.size() > 1;
  const Clock::duration limit = has_other ? limits_.silence / 4 : Clock::duration(kHandshakeLimit);
  if (state == Handshake::State::under_way && Clock::now() - to.handshake_since < limit) return;
  const Handshake failed = std::move(*handshake);
  to.handshake.reset();
  retry(rank, failed);
}

/// A rank that listened at some addresses has ended if nobody listens at any of them any more. The system that says so
/// must do it before this rank could have been given up, since a refusal after a silence proves nothing.
void Sideband::retry(Rank rank, const Handshake& handshake) {
  Peer& to = peer(rank);
  const Refusal refusal = handshake.refusal();  // none where it does not answer
  const std::string why =
      refusal != Refusal::none ? handshake.reason() : handshake.other().text() + " does not answer";
  if (refusal != Refusal::none && refusal != Refusal::hung_up && refusal != Refusal::unreachable)
    complain(why);
  if (!watching_ && refusal == Refusal::encryption) {  // as it would be the next time
    to.next_try = {};
    const std::lock_guard lock(mutex_);
    encryption_refusal_ = why;
    return;
  }
  if (!watching_ && refusal == Refusal::unreachable)
    note_unreached(why + "; check that rank 0 has started, and that it listens there");
  if (to.line) return;
  const Clock::time_point now = Clock::now();
  to.next_try =
      now + std::min<Clock::duration>(kLongestBetweenTries, std::chrono::milliseconds(5) * to.tries);
  to.refusals = handshake.error() == ECONNREFUSED ? to.refusals + 1 : 0;
  const bool is_own_lack = refusal == Refusal::no_room;
  if (is_own_lack && rank > self_) to.heard = now;  // it may well have spoken; a lower one would have called
  if (!watching_) return;
  const Clock::duration tried = now - to.first_try;
  const bool is_late = tried > limits_.silence;
  const bool has_ended = to.refusals >= to.endpoints.size() && !is_late;
  if (to.is_lost) {
    if (has_ended) learn_more(rank, Evidence::seen);
    if (has_ended || is_late) to.next_try = {};
    return;
  }
  // That it has left in good order, others may be about to say.
  if (has_ended && tried > limits_.beat) return lose({rank, std::string(kProcessHasEnded)});
  if (!is_late || to.tries < to.endpoints.size()) return;
  if (is_own_lack)
    lose({self_, "it has " + why, Evidence::hearsay});
  else
    lose({rank, "it cannot be reached: " + why, Evidence::suspicion});
}

/// A second connection between the same two, which both made at once, is for receiving only: the other may send by it.
/// So each rank goes on with the connection that it began.
Sideband::Line* Sideband::add_line(Rank rank, ByteStream connection, bool is_own) {
  Line& line = lines_.emplace_back(Line{rank, FrameStream(std::move(connection)), Clock::now()});
  Peer& to = peer(rank);
  if (to.line) return &line;
  line.replaces = is_own && to.has_had_line;
  to.next_try = {};
  note_unreached("");
  use(&line);
  if (to.is_lost)
    for (const LostRank& loss : lost_)
      if (loss.rank == rank) put_loss(rank, loss);
  return &line;
}

void Sideband::read_lines() {
  for (Line& line : lines_) {
    if (line.over) continue;
    try {
      const bool is_open = line.stream.read([&](const FrameHead& head, std::span<const std::byte> content) {
        peer(line.peer).heard = Clock::now();
        take(&line, head, content);
      });
      if (!is_open) end(&line);
    } catch (const FormatError& e) {
      refuse(&line, e.what());
    }
  }
}

/// A sender of an impossible frame is lost, and learns why before its connection ends.
void Sideband::refuse(Line* line, const std::string& what) {
  lose({line->peer, kSentNonsense + what, Evidence::suspicion});
  line->stream.flush();
  line->parting = true;
  end(line);
}

void Sideband::end(Line* line) {
  line->over = true;
  Peer& to = peer(line->peer);
  if (to.line == line) to.line = nullptr;
  if (line->parting) return;
  const bool was_silent = Clock::now() - std::max(to.heard, line->since) > limits_.silence;
  const bool is_seen = line->stream.has_hung_up() && !was_silent;
  lose({line->peer, std::string(kProcessHasEnded), is_seen ? Evidence::seen : Evidence::hearsay});
}

void Sideband::sweep() {
  lines_.remove_if([](const Line& line) { return line.over; });
}

// ---- what is said ----

void Sideband::take(Line* line, const FrameHead& head, std::span<const std::byte> content) {
  const bool is_new = counts(line, head.kind);
  switch (head.kind) {
    case FrameKind::beat:
      return heed_answer(&peer(line->peer), head.topic);
    case FrameKind::begins:
      return take_beginning(line, head.topic);
    case FrameKind::message:
      if (is_new) dispatcher_.deliver(line->peer, head.topic, content);
      return;
    case FrameKind::flood:
    case FrameKind::copy:
      return take_flood(*line, head, content);
    case FrameKind::lost:
    case FrameKind::left:
      return take_loss(*line, head, content);
    case FrameKind::parting:
      line->parting = true;
      if (peer(line->peer).line == line) peer(line->peer).line = nullptr;
      line->stream.put(FrameKind::parting, 0, {});
      line->stream.flush();
      line->stream.shut();
      return;
    case FrameKind::ping:
    case FrameKind::pong:
      return take_ping(line, head, content);
  }
}

void Sideband::take_flood(const Line& line, const FrameHead& head, std::span<const std::byte> content) {
  const auto flood = head_of<FloodHead>(content);
  auto& known = floods_[checked(flood.origin)];
  if (flood.origin == self_ || !known.insert(flood.number).second) return;
  if (known.size() > kKeptFloods) known.erase(known.begin());
  try {
    dispatcher_.deliver(flood.origin, head.topic, after_head<FloodHead>(content));
  } catch (const FormatError& e) {  // its origin's fault: ranks that hand it on need not look inside
    return lose({flood.origin, kSentNonsense + e.what(), Evidence::suspicion});
  }
  spread(head.topic, content, line.peer);
}

/// A number that others have given a newcomer may be news.
Rank Sideband::checked(Rank rank) const {
  if (rank < 0 || rank >= rank_count_ + kMostUnheardOf)
    throw FormatError("news of rank " + std::to_string(rank) + " in a job of " + std::to_string(rank_count_));
  return rank;
}

void Sideband::make_room_for(Rank rank) {
  if (rank >= known_count()) peers_.resize(static_cast<std::size_t>(rank) + 1);
}

/// Of a rank that is given up nothing counts that it says of others: it may be cut off, and miss all of them. Where it has
/// given up this one, seeing its end proves nothing.
void Sideband::take_loss(const Line& line, const FrameHead& head, std::span<const std::byte> content) {
  const auto [rank, evidence, at_ns] = head_of<FloodHead>(content);
  checked(rank);
  if (at_ns > static_cast<std::uint64_t>(kMost_ns))
    throw FormatError("a loss that was noticed at " + std::to_string(at_ns) + " ns");
  const auto text = after_head<FloodHead>(content);
  LostRank loss{rank, std::string(reinterpret_cast<const char*>(text.data()), text.size()),
                evidence == Evidence::suspicion ? evidence : Evidence::hearsay,
                static_cast<std::int64_t>(at_ns)};
  const bool is_of_itself = rank == line.peer;
  if (head.kind == FrameKind::left && is_of_itself) loss.evidence = Evidence::seen;
  if (!peer(line.peer).is_lost || is_of_itself) return lose(std::move(loss), line.peer);
  if (rank == self_) learn_more(line.peer, Evidence::suspicion);
}

/// The first time it is heard of, it is handed on, with the time at which the first rank noticed it: so all ranks put losses in
/// one order. A rank that is given up without proof learns it first, and is called where
/// there is no line with it: it may answer, or its system show that it has ended.
void Sideband::lose(LostRank loss, Rank except) {
  const Rank rank = loss.rank;
  if (!watching_ && rank >= rank_count_) return;  // one of a larger job
  make_room_for(rank);
  Peer& gone = peer(rank);
  if (gone.is_lost) return learn_more(rank, loss.evidence);
  gone.is_lost = true;
  clock_.forget(rank);
  if (loss.at_ns == 0) loss.at_ns = clock_.read().now_ns;
  heed_answer(&gone, gone.heard_count + gone.unheard.size());  // which will not come
  gone.handshake.reset();
  gone.next_try = {};
  {
    const std::lock_guard lock(mutex_);
    lost_.push_back(loss);
  }
  if (rank != self_ && loss.evidence != Evidence::seen) {
    if (gone.line)
      put_loss(rank, loss);
    else if (watching_)
      begin_line(rank);
  }
  for (Rank neighbour : neighbours_)
    if (neighbour != rank && neighbour != except) put_loss(neighbour, loss);
  watch_the_living();
}

void Sideband::put_loss(Rank to, const LostRank& loss) {
  put(to, kind_of(loss), 0, packed(loss));
}

/// Of a rank that is lost already: hearsay may turn out to be true, or not to be certain; nothing else changes.
void Sideband::learn_more(Rank rank, Evidence evidence) {
  const std::lock_guard lock(mutex_);
  for (LostRank& loss : lost_)
    if (loss.rank == rank && loss.evidence == Evidence::hearsay) loss.evidence = evidence;
}

/// A new neighbour may know less, and watch others meanwhile.
void Sideband::watch_the_living() {
  std::vector<Rank> living;
  for (Rank rank : indices<Rank>(known_count()))
    if (rank == self_ || (peer(rank).is_member && !peer(rank).is_lost)) living.push_back(rank);
  const std::vector<Rank> before = std::exchange(neighbours_, neighbours_of(self_, living));
  for (Rank neighbour : neighbours_) {
    if (std::ranges::binary_search(before, neighbour)) continue;
    peer(neighbour).heard = Clock::now();
    for (const LostRank& loss : lost_) put_loss(neighbour, loss);
  }
}

void Sideband::take_ping(Line* line, const FrameHead& head, std::span<const std::byte> content) {
  auto ping = head_of<Ping>(content);
  for (const std::int64_t each : {ping.asked_ns, ping.there_ns, ping.error_ns})
    if (each < 0 || each > kMost_ns) throw FormatError("a clock that shows " + std::to_string(each) + " ns");
  if (head.kind == FrameKind::pong)
    return clock_.learn(ping.asked_ns, ping.there_ns, CommonClock::monotonic_ns(), ping.error_ns);
  if (peer(line->peer).is_member) clock_.hear_error(line->peer, ping.error_ns);  // none of a larger job
  ping.there_ns = clock_.common_ns();
  ping.error_ns = clock_.others_error_ns();
  line->stream.put(FrameKind::pong, 0, std::as_bytes(std::span(&ping, 1)));
}

// ---- life signs ----

void Sideband::beat() {
  const Clock::time_point now = Clock::now();
  const bool is_early = pings_ < kFirstPings;
  next_beat_ = now + (is_early ? limits_.beat / 10 : limits_.beat);
  if (watching_)
    for (Rank neighbour : neighbours_)
      if (Line* const line = peer(neighbour).line) answer(line);
  for (Line& line : lines_)
    if (line.owes_answer) answer(&line);
  const Rank keeper = keeper_of_time();
  if (std::exchange(asked_, keeper) != keeper) pings_ = 0;
  if (keeper == self_) {
    pings_ = kFirstPings;
    return;
  }
  Line* const to_keeper = peer(keeper).line;
  if (!to_keeper) return begin_line(keeper);
  if (is_early || pings_ % kBeatsPerPing == 0) {
    const std::int64_t now_ns = CommonClock::monotonic_ns();
    const Ping ping{now_ns, 0, clock_.own_error_ns(now_ns)};
    to_keeper->stream.put(FrameKind::ping, 0, std::as_bytes(std::span(&ping, 1)));
  }
  ++pings_;
}

/// The first member that lives has the clock that counts.
Rank Sideband::keeper_of_time() const {
  const auto found =
      std::ranges::find_if(peers_, [](const Peer& one) { return one.is_member && !one.is_lost; });
  return found != peers_.end() ? Rank{found - peers_.begin()} : self_;
}

/// Where this rank itself has been asleep for longer than it meant to, it has not listened in the meantime.
void Sideband::judge_silence(Clock::time_point now, Clock::duration own_delay) {
  if (!watching_) return;
  const std::vector<Rank> watched = neighbours_;
  for (Rank neighbour : watched) {
    Clock::time_point& heard = peer(neighbour).heard;
    if (own_delay > limits_.beat) heard = std::min(now, heard + own_delay);
    if (now - heard > limits_.silence)
      lose({neighbour,
            "nothing was heard of it for " +
                format_seconds(std::chrono::duration<double>(limits_.silence).count()) +
                ": its process stands still, or its host cannot be reached",
            Evidence::suspicion});
  }
}

/// While ranks meet: why there is no connection to rank 0.
void Sideband::note_unreached(const std::string& why) {
  const std::lock_guard lock(mutex_);
  unreached_ = why;
}

void Sideband::complain(const std::string& text) {
  const std::lock_guard lock(mutex_);
  if (std::ranges::find(complaints_, text) != complaints_.end()) return;
  complaints_.push_back(text);
  if (complaints_.size() > kKeptComplaints) complaints_.pop_front();
}

/// Frames that wait to be sent go first. Two ranks may have connected to each other at once, and the other may hear of
/// either line first: each carries the farewell. Others answer by ending the connection, and then nothing can get lost
/// on it: an end with something unread would take back the frames on their way.
void Sideband::say_farewell() {
  const LostRank farewell{self_, std::string(kHasLeft), Evidence::seen, clock_.read().now_ns};
  const Clock::time_point until = Clock::now() + limits_.farewell;
  for (Line& line : lines_) {
    if (!line.parting) {
      line.stream.put(kind_of(farewell), 0, packed(farewell));
      line.stream.put(FrameKind::parting, 0, {});
    }
    line.parting = true;
    line.over = peer(line.peer).is_lost || line.is_left;  // which will not answer
  }
  sweep();
  while (!lines_.empty() && Clock::now() < until) {
    std::vector<pollfd> all;
    for (Line& line : lines_) {
      if (!line.stream.flush()) line.over = true;
      if (!line.over && !line.stream.wants_to_write()) line.stream.shut();
      const short events = line.stream.wants_to_write() ? POLLIN | POLLOUT : POLLIN;
      all.push_back({line.stream.descriptor(), events, 0});
    }
    ::poll(all.data(), all.size(), 20);
    for (Line& line : lines_)
      if (!line.over && !line.stream.read([](const FrameHead&, std::span<const std::byte>) {}))
        line.over = true;
    sweep();
  }
}

}  // namespace hemiola
