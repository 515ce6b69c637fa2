// SPDX-License-Identifier: Apache-2.0
#include "hemiola/codec/decoder.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "hemiola/base/bulk_copy.hpp"
#include "hemiola/base/error.hpp"
#include "hemiola/base/rounding.hpp"

namespace hemiola::codec {
namespace {

/// Words expanded at a time into a buffer that stays in the first-level cache.
constexpr std::size_t kBlockWords = 8;
constexpr std::size_t kLineBytes = 64;

void expect_same(const MessageInfo& info, DType dtype, std::size_t elements) {
  if (info.dtype != dtype)
    throw MismatchError("coded message: expected elements of " + std::string(name_of(dtype)) + ", found " +
                        std::string(name_of(info.dtype)) +
                        ". Decode into an array of the dtype that was encoded.");
  const std::size_t each = elements_per(dtype);
  if (info.elements != elements)
    throw MismatchError("coded message: expected " + std::to_string(elements / each) + " elements, found " +
                        std::to_string(info.elements / each) +
                        ". Decode into an array of the size that was encoded.");
}

void invert(const std::uint64_t* from, std::size_t elements, Words& into) {
  const std::size_t words = words_of(elements);
  into.resize(words);
  for (std::size_t w = 0; w < words; ++w) into[w] = ~from[w];
  if (const std::size_t last = elements % kWordElements; last != 0) into[words - 1] &= (1ull << last) - 1;
}

}  // namespace

const MessageInfo& Decoder::open(std::span<const std::byte> message, DType dtype, std::size_t elements) {
  segments_.reset();
  bitmap_ = nullptr, values_ = nullptr;
  info_ = inspect(message);
  expect_same(info_, dtype, elements);
  log_bytes_ = kernel_of(dtype);
  const auto payload = message.subspan(kHeaderBytes);
  const std::size_t value_bytes = info_.nonzeros << log_bytes_;
  if (info_.format == Format::dense || elements == 0) {  // nothing has no index
    if (payload.size() != value_bytes)
      refuse_message("a payload of " + std::to_string(value_bytes) + " bytes (" +
                         std::string(name_of(info_.format)) + ")",
                     std::to_string(payload.size()));
  } else {
    const std::size_t end = rounded_up(value_bytes, kIndexAlign);
    if (payload.size() < end) refuse_message("an index behind the values", "the message's end");
    expect_zeros(info_.format, payload.subspan(value_bytes, end - value_bytes));
    const std::size_t positions = info_.inverted ? elements - info_.nonzeros : info_.nonzeros;
    bitmap_ =
        index_of(info_.format).read(payload.subspan(end), elements, positions, kernels_, scratch_, words_);
    if (info_.inverted) {
      invert(bitmap_, elements, words_);
      bitmap_ = words_.data();
    }
    segments_ = std::make_unique<Segments>(Packed{.values = payload, .count = info_.nonzeros}, log_bytes_,
                                           bitmap_, words_of(elements), elements / kWordElements);
  }
  values_ = payload.data();
  return info_;
}

/// Passes all whole words through a kernel; returns the values of the last word, which has fewer than 64 elements.
const std::byte* Decoder::expand_whole(Expand direct, Expand rest, std::byte* to) const {
  const Segment &first = segments_->direct(), &last = segments_->rest();
  direct(first.values, bitmap_, first.end, to);
  const std::size_t whole = info_.elements / kWordElements - last.first;
  const std::size_t taken =
      rest(last.values, bitmap_ + last.first, whole, to + (last.first * kWordElements << log_bytes_));
  return last.values + (taken << log_bytes_);
}

/// Returns the bytes of the last word's elements, 0 where all words are whole.
std::size_t Decoder::expand_last(const std::byte* values, std::byte* word) const {
  const std::size_t last = info_.elements % kWordElements;
  if (last != 0) kernels_.expand[log_bytes_](values, bitmap_ + info_.elements / kWordElements, 1, word);
  return last << log_bytes_;
}

void Decoder::decode(std::byte* out, Destination destination) const {
  HEMIOLA_CHECK(values_ != nullptr, "no message is open");
  const std::size_t all = info_.elements << log_bytes_;
  if (all == 0) return;
  if (bitmap_ == nullptr) return bulk_copy(out, values_, all);
  const bool around = destination == Destination::beyond_caches;
  const Expand expand = kernels_.expand[log_bytes_];
  const std::byte* left = expand_whole(around ? kernels_.stream[log_bytes_] : expand, expand, out);
  std::array<std::byte, kWordElements * 8> word;
  const std::size_t bytes = expand_last(left, word.data());
  std::memcpy(out + all - bytes, word.data(), bytes);
}

/// The kernel that adds as `op` does, or null.
Expand Decoder::sum_of(Op op) const {
  if (op != Op::sum && op != Op::average && op != Op::premul_sum) return nullptr;
  if (info_.dtype == DType::float32 || info_.dtype == DType::float64) return kernels_.sum_floats[log_bytes_];
  const bool integer = !is_float(info_.dtype) && !is_complex(info_.dtype) && info_.dtype != DType::boolean;
  return integer ? kernels_.sum_integers[log_bytes_] : nullptr;
}

void Decoder::combine(Op op, CombineBytes combine, std::byte* accumulator) const {
  HEMIOLA_CHECK(values_ != nullptr, "no message is open");
  const std::size_t all = info_.elements << log_bytes_;
  if (all == 0) return;
  if (bitmap_ == nullptr) return combine(accumulator, accumulator, values_, all);
  const Expand sum = sum_of(op);
  if (sum == nullptr) return combine_blocks(combine, accumulator);
  std::array<std::byte, kWordElements * 8> word;
  const std::size_t bytes = expand_last(expand_whole(sum, sum, accumulator), word.data());
  std::byte* last = accumulator + all - bytes;
  combine(last, last, word.data(), bytes);
}

/// A few words at a time, expanded where the first-level cache keeps them.
void Decoder::combine_blocks(CombineBytes combine, std::byte* accumulator) const {
  alignas(kLineBytes) std::array<std::byte, kBlockWords * kWordElements * 8> block;
  const Expand expand = kernels_.expand[log_bytes_];
  const std::size_t end = info_.elements << log_bytes_;
  for (const Segment& part : {segments_->direct(), segments_->rest()}) {
    const std::byte* values = part.values;
    for (std::size_t w = part.first; w < part.end; w += kBlockWords) {
      const std::size_t words = std::min(kBlockWords, part.end - w);
      values += expand(values, bitmap_ + w, words, block.data()) << log_bytes_;
      const std::size_t first = w * kWordElements << log_bytes_;
      std::byte* place = accumulator + first;
      combine(place, place, block.data(), std::min(words * kWordElements << log_bytes_, end - first));
    }
  }
}

}  // namespace hemiola::codec
