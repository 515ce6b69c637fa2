// SPDX-License-Identifier: Apache-2.0
// The coded messages of an engine: their contents, and their landing. A message as long as the plain bytes is the plain
// bytes; a shorter one is a coded message (docs/reference/formats/coded.md); one that joins several pieces has a coded
// message for each. No message is believed.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "hemiola/base/index.hpp"
#include "hemiola/codec/chosen_format.hpp"
#include "hemiola/codec/decoder.hpp"
#include "hemiola/codec/eight_bits.hpp"
#include "hemiola/codec/encoder.hpp"
#include "hemiola/runtime/executor/executor.hpp"
#include "hemiola/runtime/executor/host/coding_attempts.hpp"
#include "hemiola/runtime/executor/host/regions.hpp"
#include "hemiola/runtime/executor/program/program.hpp"
#include "hemiola/runtime/executor/sent_forms.hpp"
#include "hemiola/runtime/wire/wire.hpp"

namespace hemiola {

class Coder {
 public:
  /// Until told otherwise.
  void choose_formats_by(const codec::CostsOfUse& costs) { costs_ = costs; }
  /// A program begins; it and the regions stay until it is done. `combine`: null where nothing is reduced.
  void begin(const Program& program, const Regions& regions, const Arithmetic& arithmetic, Combine combine,
             const Rounding& rounding);

  struct Message {
    const std::byte* data;
    std::size_t bytes;
    bool is_plain;  ///< the value where it lies
  };
  /// The message that a task sends; encodes data that no message has carried before.
  Message message(const Task& task, Rank peer);
  /// Of a message that has been sent, or that has come and not been applied; headers of joined ones not counted.
  std::int64_t bytes_of(const Task& task) const;

  /// Of all programs so far.
  const SentForms& sent() const { return sent_; }

  struct Reception {
    Landing landing;
    std::size_t capacity;
  };
  /// The place where a task's received message lands.
  Reception reception(const Task& task);
  /// Checks the landed message and puts it into its places. Throws FormatError, naming the peer, where it is no message
  /// for them; a piece's place is then as it was.
  void apply(const Task& task, Rank peer);

  /// Rounding errors are again those before the program.
  void restore_rest();

 private:
  std::byte* at(const Place& place) const { return regions_->at(place); }
  const CodedForm& form(const Piece& piece) const {
    return program_->forms[static_cast<std::size_t>(piece.form)];
  }
  std::size_t& size(const Piece& piece) { return sizes_[static_cast<std::size_t>(piece.form)]; }
  std::byte* memory(const Piece& piece) const { return at({Region::coded, form(piece).offset}); }
  std::span<const Piece> pieces(const Task& task) const {
    return std::span(program_->pieces)
        .subspan(static_cast<std::size_t>(task.first_piece), static_cast<std::size_t>(task.piece_count));
  }

  std::size_t encoded(const Piece& piece, Rank peer);
  std::size_t rounded(const Piece& piece, Rank peer);
  void scan(const Piece& piece);
  void count(const Piece& piece);
  std::size_t append(const Piece& piece, std::byte* to);
  codec::Destination destination(const Piece& piece) const;
  void bring_operand(const Piece& piece);
  void land(const Piece& piece, std::span<const std::byte> message);
  void land_eight_bits(const Piece& piece, const codec::EightBits& message);
  void land_plain(const Piece& piece);
  void take_apart(const Task& task);

  codec::Encoder encoder_;
  codec::Decoder decoder_;
  CodingAttempts attempts_;
  SentForms sent_;
  codec::CostsOfUse costs_;
  std::optional<codec::Format> format_;  ///< nothing: the fastest by those costs

  // Of the program at hand:
  const Program* program_ = nullptr;
  const Regions* regions_ = nullptr;
  Arithmetic arithmetic_;
  Combine combine_ = nullptr;
  Rounding rounding_;
  float rest_factor_ = 1;              ///< of errors, as the input's
  std::vector<float> former_;          ///< errors before the program, one range after the other
  std::vector<std::int64_t> changed_;  ///< of the errors, where each range begins; in pairs with its end
  std::vector<std::size_t> sizes_;  ///< by form: its bytes; those of the value where it is plain; 0: not born
};

}  // namespace hemiola
