// SPDX-License-Identifier: Apache-2.0
// One rank's part of a schedule, ready to run on buffers of one size: messages to send and receive, in the order of
// their ports, their dependencies, and the places of their bytes. Plain data: `compile` makes it, Engine runs it.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <vector>

#include "hemiola/base/index.hpp"

namespace hemiola {

/// The memory a program works on. The first two are the user's; the others belong to the engine.
enum class Region : std::uint8_t {
  input,
  output,
  scratch,  ///< slots that the user has no place for, laid out like the buffer
  pool,     ///< the same for slices: blocks that are used again and again, so that they stay in cache
  staging,  ///< messages whose pieces do not lie side by side
  saved,    ///< the output's old elements, at the same offsets, to give it back after a failure
  coded,    ///< values as messages carry them, where the program is coded
};
inline constexpr int kRegionCount = 7;

/// Which of the user's two regions are blocks (see BufferLayout), each with memory of its own.
struct InBlocks {
  bool input = false;
  bool output = false;

  friend auto operator<=>(const InBlocks&, const InBlocks&) = default;
};

struct Place {
  Region region = Region::input;
  std::int64_t offset = 0;

  friend bool operator==(const Place&, const Place&) = default;
};

/// Consecutive bytes of a message: read from `at`, or written to `at`, combined with the elements at `operand`.
struct Piece {
  Place at;
  Place operand = {};
  std::int64_t bytes = 0;
  bool combine = false;
  std::int32_t form = -1;  ///< of a coded message: which it carries

  friend bool operator==(const Piece&, const Piece&) = default;
};

/// What a program's messages leave out.
enum class Coding : std::uint8_t {
  none,        ///< not at all
  fastest,     ///< in the fastest format, if that takes less
  eight_bits,  ///< not these, but all but eight bits of each element: see Rounding
};

/// The coded form of one value, or one slice of it, in messages: its memory, and the value's length.
struct CodedForm {
  std::int64_t offset = 0;  ///< in Region::coded
  std::int64_t bytes = 0;
  bool is_added = false;   ///< to the receiver's value, where it is sent before it is received
  std::int64_t begin = 0;  ///< in the whole buffer, of eight bits

  friend bool operator==(const CodedForm&, const CodedForm&) = default;
};

struct Copy {
  Place from;
  Place to;
  std::int64_t bytes = 0;

  friend bool operator==(const Copy&, const Copy&) = default;
};

/// Output bytes to be saved before they are first overwritten.
struct Save {
  std::int64_t offset;
  std::int64_t bytes;
  bool is_sent = false;  ///< from the saved copy, so it must be one of this program

  friend bool operator==(const Save&, const Save&) = default;
};

enum class TaskKind : std::uint8_t {
  send,
  receive,
  apply,  ///< takes a staged message apart into its places; or a value of another slot, which lies there like one
  scale,  ///< ends an average
  send_coded,
  receive_coded,
  apply_coded,  ///< checks a coded message and takes it apart into its places
};

/// One thing to do once `needs` other things have happened: tasks that name it as successor are done, the previous
/// message of its channel is posted, and the port has come to its group.
struct Task {
  TaskKind kind;
  bool staged = false;  ///< the bytes pass through `staging`
  std::int32_t channel = -1;
  std::int32_t lane = -1;
  std::int32_t group = -1;
  std::int32_t needs = 0;
  std::int32_t next_in_channel = -1;
  std::int32_t first_piece = 0;
  std::int32_t piece_count = 0;
  std::int32_t first_save = 0;  ///< into `save_lists`
  std::int32_t save_count = 0;
  std::int32_t first_successor = 0;
  std::int32_t successor_count = 0;
  std::int64_t bytes = 0;
  std::int64_t staging = 0;
  Region staging_region = Region::staging;

  friend bool operator==(const Task&, const Task&) = default;
};

/// All messages to one peer, or from one, in the order in which both ends post them.
struct Channel {
  Rank peer;
  bool sending = false;
  std::int32_t first_task = -1;

  friend bool operator==(const Channel&, const Channel&) = default;
};

/// The messages of one port in one direction. Those of a group (a step, or a step of one slice and others of earlier
/// slices) may be in flight together; a later group does not start before an earlier one.
struct Lane {
  std::vector<std::int32_t> tasks;        ///< in order
  std::vector<std::int32_t> group_begin;  ///< into `tasks`, with an end mark

  friend bool operator==(const Lane&, const Lane&) = default;
};

/// The tasks of a program of one message at most in each direction, of which neither is staged. Such a program needs no
/// account of lanes, groups and successors.
struct Exchange {
  /// Which of two messages waits until the other one is done.
  enum class Order : std::uint8_t { any, send_first, receive_first };

  std::int32_t send = -1;     ///< -1: none
  std::int32_t receive = -1;  ///< -1: none
  Order order = Order::any;

  friend bool operator==(const Exchange&, const Exchange&) = default;
};

/// The transfers of the schedule that a message carries, or a slice of them.
struct CarriedTransfers {
  std::int32_t step = -1;
  std::int32_t chunk = -1;  ///< the first
  std::int32_t chunk_count = 0;
  bool reduce = false;

  friend bool operator==(const CarriedTransfers&, const CarriedTransfers&) = default;
};

struct Program {
  std::vector<Task> tasks;
  std::vector<CarriedTransfers> carried_transfers;  ///< by task; empty unless somebody wants to know
  std::vector<Piece> pieces;
  Coding coding = Coding::none;
  std::vector<CodedForm> forms;  ///< of a coded program; see CodedForms
  std::vector<std::int32_t> successors;
  std::vector<Channel> channels;
  std::vector<Lane> lanes;
  std::vector<Save> saves;
  std::vector<std::int32_t> save_lists;
  std::vector<Copy> copies_before;  ///< before anything else
  std::vector<Copy> copies_after;   ///< at any time; the engine does them while it would wait

  /// The size of each region; input and output are the user's arrays.
  std::int64_t bytes[kRegionCount] = {};
  /// The collective may permute in place, so the input is moved to `saved` first and read from there.
  bool moves_input = false;
  InBlocks in_blocks;
  std::vector<std::int64_t> input_begins, output_begins;  ///< of their blocks, with an end mark
  bool in_place = false;                                  ///< input and output are the same bytes
  std::optional<Exchange> exchange = {};                  ///< where it is one

  friend bool operator==(const Program&, const Program&) = default;
};

}  // namespace hemiola
