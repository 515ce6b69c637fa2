// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/executor/program/message_plan.hpp"

#include <algorithm>

#include "hemiola/base/rounding.hpp"

namespace hemiola {
namespace {

/// Bounds a program's length: beyond this many slices they grow instead.
constexpr std::int64_t kMaxSlices = 8192;

/// Joins the transfers of one step to or from one peer, which are sorted by chunk.
class MessageJoiner {
 public:
  MessageJoiner(const RankPart& part, const BufferLayout& layout, const MessageRules& rules)
      : part_(part), layout_(layout), rules_(rules) {}

  /// Appends the messages of transfers [begin, end), which share step and pair.
  void join(std::size_t begin, std::size_t end, std::vector<Message>* messages) {
    for (std::size_t i = begin; i < end;) {
      Message message = start(i);
      std::int64_t bytes = bytes_of(i);
      while (++i < end && extends(message, i, bytes)) {
        bytes += bytes_of(i);
        ++message.transfer_count;
      }
      if (bytes > 0) messages->push_back(message);
    }
  }

 private:
  std::int64_t bytes_of(std::size_t i) const { return layout_.bytes_of(part_.transfers[i].chunk); }

  Message start(std::size_t i) const {
    const Transfer& t = part_.transfers[i];
    const bool sending = t.src == part_.rank && t.dst != part_.rank;
    return {t.step,
            sending ? t.dst : t.src,
            sending,
            t.reduce,
            static_cast<std::int32_t>(i),
            1,
            slicing_of(bytes_of(i), rules_.slice_bytes).count};
  }

  bool extends(const Message& message, std::size_t i, std::int64_t bytes) const {
    if (message.peer == part_.rank) return false;  // nothing travels that could be joined
    const std::int64_t total = bytes + bytes_of(i);
    const Transfer &t = part_.transfers[i], &before = part_.transfers[i - 1];
    const bool neighbours =
        t.chunk == before.chunk + 1 && t.src_slot == before.src_slot && t.dst_slot == before.dst_slot;
    const std::int64_t limit = std::max(neighbours ? rules_.join_bytes : 0, rules_.pack_bytes);
    return part_.transfers[i].reduce == message.reduce && total <= std::min(limit, rules_.slice_bytes);
  }

  const RankPart& part_;
  const BufferLayout& layout_;
  const MessageRules& rules_;
};

std::size_t end_of_pair(const std::vector<Transfer>& transfers, std::size_t begin, std::size_t end) {
  std::size_t i = begin;
  while (i < end && transfers[i].src == transfers[begin].src && transfers[i].dst == transfers[begin].dst) ++i;
  return i;
}

/// A step's transfers [begin, end) are sorted by (src, dst), so the rank's own sends stand together, between receives.
void plan_step(const RankPart& part, std::size_t begin, std::size_t end, MessageJoiner* joiner,
               std::vector<Message>* messages) {
  std::size_t send_begin = begin;
  while (send_begin < end && part.transfers[send_begin].src < part.rank) ++send_begin;
  std::size_t send_end = send_begin;
  while (send_end < end && part.transfers[send_end].src == part.rank) ++send_end;
  std::size_t higher = send_begin;
  while (higher < send_end && part.transfers[higher].dst < part.rank) ++higher;
  std::size_t beyond = higher;
  while (beyond < send_end && part.transfers[beyond].dst == part.rank) ++beyond;
  const auto join_range = [&](std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to;) {
      const std::size_t next = end_of_pair(part.transfers, i, to);
      joiner->join(i, next, messages);
      i = next;
    }
  };
  join_range(beyond, send_end);
  join_range(send_begin, higher);
  join_range(begin, send_begin);
  join_range(higher, beyond);
  join_range(send_end, end);
}

}  // namespace

Slicing slicing_of(std::int64_t chunk_bytes, std::int64_t slice_bytes) {
  if (chunk_bytes <= slice_bytes) return {1, chunk_bytes};
  const std::int64_t slices = std::min((chunk_bytes + slice_bytes - 1) / slice_bytes, kMaxSlices);
  const std::int64_t even = (chunk_bytes + slices - 1) / slices;
  const std::int64_t bytes = rounded_up(even, kCacheLine);
  return {static_cast<std::int32_t>((chunk_bytes + bytes - 1) / bytes), bytes};
}

std::vector<Message> plan_messages(const RankPart& part, const BufferLayout& layout,
                                   const MessageRules& rules) {
  std::vector<Message> messages;
  messages.reserve(part.transfers.size());
  MessageJoiner joiner(part, layout, rules);
  for (std::size_t i = 0; i < part.transfers.size();) {
    std::size_t end = i;
    while (end < part.transfers.size() && part.transfers[end].step == part.transfers[i].step) ++end;
    plan_step(part, i, end, &joiner, &messages);
    i = end;
  }
  return messages;
}

}  // namespace hemiola
