// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/session/hosts/packed_vote.hpp"

#include <set>
#include <string>
#include <utility>

#include "hemiola/base/error.hpp"
#include "hemiola/runtime/session/hosts/packing.hpp"

namespace hemiola {
namespace {

std::set<Rank> get_some(Unpacker* unpacker, const std::vector<Rank>& members) {
  const std::vector<Rank> some = unpacker->get_ranks(members.size());
  return {some.begin(), some.end()};
}

std::vector<Guest> get_guests(Unpacker* unpacker, Rank last_member) {
  std::vector<Guest> guests;
  for (auto left = unpacker->get<std::uint64_t>(); left > 0; --left) {
    Guest guest{.id = unpacker->get<std::uint64_t>(), .number = unpacker->get<Rank>()};
    guest.card = unpacker->get_bytes();
    const Rank before = guests.empty() ? last_member : guests.back().number;
    if (guest.number <= before)
      throw FormatError("a vote that lets in number " + std::to_string(guest.number) + " after number " +
                        std::to_string(before));
    guests.push_back(std::move(guest));
  }
  return guests;
}

SurvivorsVote::Message get_message(Unpacker* unpacker, const std::vector<Rank>& members) {
  using Kind = SurvivorsVote::MessageKind;
  SurvivorsVote::Message message{.kind = unpacker->get<Kind>()};
  message.leaves = unpacker->get<std::uint32_t>() != 0;
  message.lost = get_some(unpacker, members);
  message.ended = get_some(unpacker, members);
  const bool proposes = message.kind >= Kind::proposal && message.kind <= Kind::decision;
  if (message.kind > Kind::given_up || (proposes && unpacker->is_empty()))
    throw FormatError("a vote of kind " + std::to_string(static_cast<std::uint32_t>(message.kind)) +
                      (proposes ? " without a proposal" : ""));
  if (unpacker->is_empty()) return message;
  const auto ballot = unpacker->get<SurvivorsVote::Ballot>();
  std::set<Rank> left_out = get_some(unpacker, members);
  message.proposal = {ballot, std::move(left_out), get_guests(unpacker, members.back())};
  return message;
}

}  // namespace

Bytes packed_vote(const AgreementName& agreement, const std::vector<Rank>& members,
                  const SurvivorsVote::Message& message) {
  Packer packer;
  packer.put(agreement).put_ranks(members).put(message.kind).put(std::uint32_t{message.leaves});
  packer.put_ranks(message.lost).put_ranks(message.ended);
  if (!message.proposal) return packer.take();
  packer.put(message.proposal->ballot).put_ranks(message.proposal->left_out);
  packer.put(std::uint64_t{message.proposal->let_in.size()});
  for (const Guest& guest : message.proposal->let_in)
    packer.put(guest.id).put(guest.number).put_bytes(guest.card);
  return packer.take();
}

ReceivedVote unpacked_vote(std::span<const std::byte> bytes) {
  Unpacker unpacker(bytes);
  ReceivedVote vote{unpacker.get<AgreementName>(), unpacker.get_members(), {}};
  vote.message = get_message(&unpacker, vote.members);
  return vote;
}

}  // namespace hemiola
