// SPDX-License-Identifier: Apache-2.0
// How two ranks' sidebands go on over another connection, where they have several addresses and the way between two of
// these is cut. Counted frames are kept until the other says in a beat how many have come; a new connection begins with
// those that are kept, and a frame that comes again is dropped.
#include <algorithm>

#include "hemiola/base/head.hpp"
#include "hemiola/runtime/net/tcp_socket.hpp"
#include "hemiola/runtime/session/hosts/sideband.hpp"

namespace hemiola {

/// What is sent from now on goes over this line.
void Sideband::use(Line* line) {
  Peer& to = peer(line->peer);
  to.line = line;
  to.unheard_since = Clock::now();
  if (to.has_had_line) line->stream.put(FrameKind::begins, to.heard_count, {});
  to.has_had_line = true;
  for (const Bytes& frame : to.unheard) {
    const auto head = head_of<FrameHead>(frame);
    line->stream.put(head.kind, head.topic, after_head<FrameHead>(frame));
  }
}

/// It may be an old answer, which has come late.
void Sideband::heed_answer(Peer* from, std::uint64_t count) {
  for (; from->heard_count < count && !from->unheard.empty(); ++from->heard_count) {
    from->unheard.pop_front();
    from->unheard_since = Clock::now();
  }
}

/// Whether it has not come before, over another line of the same process. While ranks meet, two processes may have one
/// rank.
bool Sideband::counts(Line* line, FrameKind kind) {
  if (!is_counted(kind)) return false;
  line->owes_answer = true;
  std::uint64_t& taken = peer(line->peer).taken_count;
  const std::uint64_t number = line->next_number++;
  if (line->has_beginning && number < taken) return false;
  taken = std::max(taken, number + 1);
  return true;
}

/// So many frames have come; over whatever line.
void Sideband::answer(Line* line) {
  line->owes_answer = false;
  Peer& to = peer(line->peer);
  Line* const by = to.line ? to.line : line;
  if (!by->over) by->stream.put(FrameKind::beat, to.taken_count, {});
}

/// The other has left the line of before. Where both do so at once, they go on with the one of the lower rank.
void Sideband::take_beginning(Line* line, std::uint64_t number) {
  line->has_beginning = true;
  line->next_number = number;
  Peer& from = peer(line->peer);
  const bool is_recent = from.line && Clock::now() - from.line->since < limits_.silence;
  const bool keeps_own = is_recent && from.line->replaces && self_ < line->peer;
  if (from.line == line || line->parting || keeps_own) return;
  if (from.line) leave_line(line->peer);
  use(line);
}

/// If its way is only slow, the other ends it, too.
void Sideband::leave_line(Rank rank) {
  Peer& to = peer(rank);
  Line* const line = std::exchange(to.line, nullptr);
  line->parting = line->is_left = true;
  line->stream.put(FrameKind::parting, 0, {});
  const Endpoint cut = remote_endpoint(line->stream.socket()).with_port(0);
  std::ranges::stable_partition(to.endpoints, [&](const Endpoint& each) { return each.with_port(0) != cut; });
  complain("the way of the sideband to rank " + std::to_string(rank) + " at " + cut.address() +
           " is cut; it goes on at the next address");
}

/// A rank that has several addresses and gives no sign at one of them is called at the next one, long before its silence
/// counts as its end.
void Sideband::leave_cut_ways(Clock::time_point now) {
  if (!limits_.tries_other_addresses) return;
  const auto limit = limits_.silence / 2;
  for (Rank rank : indices<Rank>(known_count())) {
    Peer& to = peer(rank);
    if (!to.line || to.is_lost || to.endpoints.size() < 2 || now - to.line->since < limit) continue;
    const bool is_neighbour = std::ranges::binary_search(neighbours_, rank);
    const bool is_silent = watching_ && is_neighbour && now - to.heard > limit;
    const bool is_unheard = !to.unheard.empty() && now - to.unheard_since > limit;
    if (!is_silent && !is_unheard) continue;
    leave_line(rank);
    to.handshake.reset();
    to.next_try = {};
    begin_line(rank);
  }
}

}  // namespace hemiola
