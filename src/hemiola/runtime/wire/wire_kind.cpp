#include "hemiola/runtime/wire/wire_kind.hpp"

#include <vector>

#include "hemiola/base/error.hpp"

namespace hemiola {

std::unique_ptr<Wire> connect_wire(WireKind* kind, const Members& members, const Deadline& deadline) {
  for (Rank rank : members.ranks)
    if (!kind->reaches(*members.session, rank))
      throw ArgumentError("the wire '" + kind->name() + "' reaches from rank " +
                          std::to_string(members.session->rank()) + " of the job not to rank " +
                          std::to_string(rank) + "; choose one that does, or leave that rank out");
  const std::vector<Bytes> cards = members.session->exchange(
      members.ranks, "cards of the wire " + kind->name(), kind->card(members), deadline);
  return kind->connect(members, cards, deadline);
}

}  // namespace hemiola
