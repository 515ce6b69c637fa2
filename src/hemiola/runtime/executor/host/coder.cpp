// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/executor/host/coder.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "hemiola/base/bulk_copy.hpp"
#include "hemiola/base/error.hpp"
#include "hemiola/base/plain_copy.hpp"
#include "hemiola/base/rounding.hpp"
#include "hemiola/runtime/executor/host/combine.hpp"
#include "hemiola/runtime/executor/program/coded_forms.hpp"
#include "hemiola/runtime/session/lost_member.hpp"

namespace hemiola {
namespace {

/// The first of several coded messages, and the later ones.
std::span<const std::byte> split_first(std::span<const std::byte>* joined) {
  codec::Header header;
  if (joined->size() < sizeof header)
    throw FormatError("expected a header of 32 bytes, found " + std::to_string(joined->size()));
  std::memcpy(&header, joined->data(), sizeof header);
  if (header.payload_bytes > joined->size() - sizeof header)
    throw FormatError("expected " + std::to_string(header.payload_bytes) +
                      " bytes behind a header, as it says, found " +
                      std::to_string(joined->size() - sizeof header));
  const auto first = joined->first(sizeof header + header.payload_bytes);
  *joined = joined->subspan(std::min(joined->size(), rounded_up(first.size(), codec::kIndexAlign)));
  return first;
}

}  // namespace

void Coder::begin(const Program& program, const Regions& regions, const Arithmetic& arithmetic,
                  Combine combine, const Rounding& rounding) {
  program_ = &program;
  regions_ = &regions;
  arithmetic_ = arithmetic;
  combine_ = combine;
  sizes_.assign(program.forms.size(), 0);
  former_.clear();
  changed_.clear();
  rounding_ = rounding;
  if (program.coding == Coding::eight_bits) {
    const bool is_average = arithmetic.op == Op::average;
    rest_factor_ =
        is_average ? static_cast<float>(average_factor(arithmetic.dtype, arithmetic.divisor)) : 1.0F;
    return;
  }
  format_ = codec::chosen_format();
  const std::byte* const input = at({Region::input, 0});
  const auto bytes = static_cast<std::size_t>(  // of blocks, one tells enough
      regions.bytes_of_first(Region::input, program.bytes[static_cast<int>(Region::input)]));
  attempts_.begin(input, input == nullptr ? 0 : bytes, codec::element_bytes(arithmetic.dtype));
}

/// Encodes a value into its form's memory; returns its size, the plain one where that is (nearly) no larger.
std::size_t Coder::encoded(const Piece& piece, Rank peer) {
  if (program_->coding == Coding::eight_bits) return rounded(piece, peer);
  const auto plain = static_cast<std::size_t>(form(piece).bytes);
  if (!attempts_.next()) return plain;
  scan(piece);
  const codec::Costs& costs = form(piece).is_added ? costs_.added : costs_.copied;
  const codec::Format format = format_ ? *format_ : encoder_.fastest(costs);
  const bool pays = static_cast<double>(encoder_.bytes_as(format)) <=
                    CodingAttempts::kMostShare * static_cast<double>(plain);
  attempts_.note(pays);
  return pays ? encoder_.write(format) : plain;
}

/// As `encoded`, in eight bits an element. The rank that sums a value works on with what all others get of it.
std::size_t Coder::rounded(const Piece& piece, Rank peer) {
  const CodedForm& of = form(piece);
  const auto plain = static_cast<std::size_t>(of.bytes), elements = plain / sizeof(float);
  const std::size_t bytes = codec::eight_bit_bytes(elements);
  const bool stays = of.is_added && rounding_.to && !(*rounding_.to)[static_cast<std::size_t>(peer)];
  if (stays || bytes >= plain) return plain;
  const std::int64_t begin = of.begin / std::int64_t{sizeof(float)};
  float* const rest = rounding_.rest + begin;
  changed_.insert(changed_.end(), {begin, begin + static_cast<std::int64_t>(elements)});
  former_.insert(former_.end(), rest, rest + elements);
  float* const values = reinterpret_cast<float*>(at(piece.at));
  codec::write_eight_bits(values, rest, elements, rest_factor_, memory(piece));
  if (!of.is_added) codec::open_eight_bits({memory(piece), bytes}, elements).restore(values);
  return bytes;
}

void Coder::restore_rest() {
  const float* from = former_.data();
  for (std::size_t i = 0; i < changed_.size(); i += 2) {
    const std::int64_t begin = changed_[i], end = changed_[i + 1];
    std::copy(from, from + (end - begin), rounding_.rest + begin);
    from += end - begin;
  }
  former_.clear();
  changed_.clear();
}

void Coder::scan(const Piece& piece) {
  const std::size_t elements =
      static_cast<std::size_t>(form(piece).bytes) / codec::element_bytes(arithmetic_.dtype);
  encoder_.scan(arithmetic_.dtype, at(piece.at), elements,
                {memory(piece), codec::room_for(arithmetic_.dtype, elements)});
}

Coder::Message Coder::message(const Task& task, Rank peer) {
  const std::span<const Piece> all = pieces(task);
  for (const Piece& piece : all) {
    if (size(piece) == 0) size(piece) = encoded(piece, peer);
    count(piece);
  }
  if (all.size() > 1) {
    std::byte* const joined = at({Region::staging, task.staging});
    std::size_t bytes = 0;
    for (const Piece& piece : all) bytes += append(piece, joined + bytes);
    return {joined, bytes, false};
  }
  const Piece& piece = all.front();
  const bool is_plain = size(piece) == static_cast<std::size_t>(form(piece).bytes);
  return {is_plain ? at(piece.at) : memory(piece), size(piece), is_plain};
}

/// A form that is sent on has been checked when it came.
void Coder::count(const Piece& piece) {
  codec::Header header;
  if (size(piece) < static_cast<std::size_t>(form(piece).bytes))
    std::memcpy(&header, memory(piece), sizeof header);
  ++(form(piece).is_added ? sent_.added : sent_.copied)[header.format];
}

std::int64_t Coder::bytes_of(const Task& task) const {
  const std::span<const Piece> all = pieces(task);
  const bool is_sum = all.size() > 1 && task.kind == TaskKind::send_coded;
  std::size_t bytes = 0;
  for (const Piece& piece : all.first(is_sum ? all.size() : 1))
    bytes += sizes_[static_cast<std::size_t>(piece.form)];
  return static_cast<std::int64_t>(bytes);
}

/// Returns how many bytes it has written, a multiple of 8.
std::size_t Coder::append(const Piece& piece, std::byte* to) {
  std::size_t bytes = size(piece);
  if (const auto plain = static_cast<std::size_t>(form(piece).bytes); bytes == plain) {
    const auto elements = static_cast<std::uint32_t>(plain / codec::element_bytes(arithmetic_.dtype));
    const codec::Header header{.dtype = static_cast<std::uint8_t>(arithmetic_.dtype),
                               .elements = elements,
                               .nonzeros = elements,
                               .payload_bytes = plain};
    std::memcpy(to, &header, sizeof header);
    plain_copy(to + sizeof header, at(piece.at), plain);
    bytes = sizeof header + plain;
  } else {
    plain_copy(to, memory(piece), bytes);
  }
  const std::size_t whole = rounded_up(bytes, codec::kIndexAlign);
  std::memset(to + bytes, 0, whole - bytes);
  return whole;
}

/// The received size is noted as that of the first piece's form.
Coder::Reception Coder::reception(const Task& task) {
  const std::span<const Piece> all = pieces(task);
  const Piece& first = all.front();
  Landing landing{.dst = memory(first), .received = &size(first)};
  if (all.size() == 1) return {landing, static_cast<std::size_t>(form(first).bytes)};
  landing.dst = at({Region::staging, task.staging});
  std::size_t capacity = 0;
  for (const Piece& piece : all) capacity += joined_capacity(form(piece).bytes);
  return {landing, capacity};
}

void Coder::apply(const Task& task, Rank peer) {
  try {
    if (task.piece_count > 1) return take_apart(task);
    const Piece& piece = pieces(task).front();
    if (size(piece) == static_cast<std::size_t>(form(piece).bytes)) return land_plain(piece);
    land(piece, {memory(piece), size(piece)});
  } catch (const Error& e) {
    throw BadMessageError(peer, std::string(e.what()) +
                                    ". Its bytes were damaged on the way, or ranks run "
                                    "different versions of hemiola");
  }
}

void Coder::take_apart(const Task& task) {
  const std::span<const Piece> all = pieces(task);
  std::span<const std::byte> rest(at({Region::staging, task.staging}), size(all.front()));
  for (const Piece& piece : all) {
    const std::span<const std::byte> message = split_first(&rest);
    land(piece, message);
    const bool is_plain = message.size() >= static_cast<std::size_t>(form(piece).bytes);
    size(piece) = is_plain ? static_cast<std::size_t>(form(piece).bytes) : message.size();
    if (!is_plain) plain_copy(memory(piece), message.data(), message.size());
  }
  if (!rest.empty())
    throw FormatError("expected " + std::to_string(all.size()) + " values, found " +
                      std::to_string(rest.size()) + " bytes behind them");
}

/// Brings the value to which a message is added to its place.
void Coder::bring_operand(const Piece& piece) {
  if (at(piece.operand) != at(piece.at))
    bulk_copy(at(piece.at), at(piece.operand), static_cast<std::size_t>(piece.bytes));
}

void Coder::land(const Piece& piece, std::span<const std::byte> message) {
  const std::size_t elements =
      static_cast<std::size_t>(form(piece).bytes) / codec::element_bytes(arithmetic_.dtype);
  if (program_->coding == Coding::eight_bits && codec::are_eight_bits(message))
    return land_eight_bits(piece, codec::open_eight_bits(message, elements));
  decoder_.open(message, arithmetic_.dtype, elements);
  if (!piece.combine) return decoder_.decode(at(piece.at), destination(piece));
  bring_operand(piece);
  decoder_.combine(arithmetic_.op, combine_, at(piece.at));
}

void Coder::land_eight_bits(const Piece& piece, const codec::EightBits& message) {
  float* const to = reinterpret_cast<float*>(at(piece.at));
  if (!piece.combine) return message.restore(to);
  bring_operand(piece);
  message.add(to);
}

/// No task of the coded program reads the decoded output again: messages go on as they came.
codec::Destination Coder::destination(const Piece& piece) const {
  const std::int64_t bytes = program_->bytes[static_cast<int>(Region::output)];
  const bool is_large = piece.at.region == Region::output && bytes >= codec::kBeyondCaches;
  return is_large ? codec::Destination::beyond_caches : codec::Destination::cached;
}

void Coder::land_plain(const Piece& piece) {
  const auto bytes = static_cast<std::size_t>(piece.bytes);
  if (piece.combine)
    bulk_combine(combine_, at(piece.at), at(piece.operand), memory(piece), bytes);
  else
    bulk_copy(at(piece.at), memory(piece), bytes);
}

}  // namespace hemiola
