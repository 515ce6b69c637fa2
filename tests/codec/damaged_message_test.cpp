// SPDX-License-Identifier: Apache-2.0
// Messages that nobody should believe: cut, lengthened, edited where a check stands, and damaged at random. Each is
// refused by its type, or decodes without touching anything outside (the sanitizer's to judge).
#include <gtest/gtest.h>

#include "hemiola/base/error.hpp"
#include "messages.hpp"
#include "sparse_bits.hpp"

namespace hemiola::codec_tests {
namespace {

constexpr std::size_t kCount = 20000;  // more than four tiles, no multiple of a word

Bytes some_elements(double density = 0.02) {
  Random random(31);
  Bytes elements = sparse_array(random, kCount, 4, density, 3);
  elements[elements.size() - 8] = elements[elements.size() - 4] = std::byte{1};  // something in the last word
  return elements;
}

void expect_refused(const Bytes& message, const std::string& part) {
  Decoder decoder;
  try {
    decoder.open(message, DType::float32, kCount);
    FAIL() << "accepted, expected: " << part;
  } catch (const FormatError& error) {
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
  Bytes out(kCount * 4);
  EXPECT_THROW(decoder.decode(out.data()), InternalError);  // nothing is open
}

template <typename T>
Bytes with(Bytes message, std::size_t at, T value) {
  std::memcpy(message.data() + at, &value, sizeof value);
  return message;
}

template <typename T>
T at(const Bytes& message, std::size_t offset) {
  T value;
  std::memcpy(&value, message.data() + offset, sizeof value);
  return value;
}

std::size_t index_of_message(const Bytes& message) {
  return kHeaderBytes + (inspect(message).nonzeros * 4 + 7) / 8 * 8;
}

TEST(DamagedMessage, HeadersThatContradictThemselvesAreRefused) {
  const Bytes good = encoded(DType::float32, some_elements(), Format::ef);
  expect_refused({}, "a header of 32 bytes");
  expect_refused(Bytes(31), "a header of 32 bytes");
  expect_refused(with(good, 0, std::uint32_t{0}), "'HMC1'");
  expect_refused(with(good, 4, std::uint8_t{5}), "a format from 0 to 4");
  expect_refused(with(good, 5, std::uint8_t{200}), "a dtype from 0 to 18");
  expect_refused(with(good, 6, std::uint8_t{63}), "low bits");
  expect_refused(with(good, 7, std::uint8_t{1}), "low bits");
  expect_refused(with(good, 7, std::uint8_t{2}), "flags");
  expect_refused(with(encoded(DType::float32, some_elements(), Format::pici), 7, std::uint8_t{1}), "flags");
  expect_refused(with(good, 12, std::uint32_t{kCount + 1}), "at most 20000 values");
  expect_refused(with(good, 16, std::uint64_t{good.size()}), "a payload of");
  expect_refused(with(good, 24, std::uint64_t{1}), "last 8 bytes");
  expect_refused(with(encoded(DType::float32, some_elements(), Format::dense), 12, std::uint32_t{5}),
                 "all 20000");
}

TEST(DamagedMessage, AMessageForAnotherArrayIsAMismatch) {
  const Bytes good = encoded(DType::float32, some_elements());
  Decoder decoder;
  EXPECT_THROW(decoder.open(good, DType::int32, kCount), MismatchError);
  EXPECT_THROW(decoder.open(good, DType::float32, kCount - 1), MismatchError);
  EXPECT_THROW(decoder.open(good, DType::float64, kCount), MismatchError);
}

TEST(DamagedMessage, EveryLengthButItsOwnIsRefused) {
  for (const Format format : kFormats) {
    const Bytes good = encoded(DType::float32, some_elements(0.001), format);
    for (std::size_t length = 0; length < good.size() + 20; length += length < 200 ? 1 : 97) {
      if (length == good.size()) continue;
      Bytes cut = good;
      cut.resize(length);
      Decoder decoder;
      EXPECT_THROW(decoder.open(cut, DType::float32, kCount), FormatError);
      if (length < kHeaderBytes) continue;
      cut = with(cut, 16, std::uint64_t{length - kHeaderBytes});  // and a header that agrees
      EXPECT_THROW(decoder.open(cut, DType::float32, kCount), FormatError)
          << name_of(format) << " " << length;
    }
  }
}

TEST(DamagedMessage, APiciIndexThatContradictsItselfIsRefused) {
  const Bytes good = encoded(DType::float32, some_elements(), Format::pici);
  const std::size_t index = index_of_message(good), words = (kCount + 63) / 64;
  const std::size_t prefixes = index + words * 8;
  const auto first = at<std::uint64_t>(good, index);
  expect_refused(with(good, index, first ^ 1), "before tile 1");
  expect_refused(with(good, prefixes, std::uint32_t{1}), "before tile 0");
  expect_refused(with(good, prefixes + 8, std::uint32_t{0}), "before tile 2");
  const std::size_t last = index + (words - 1) * 8;
  expect_refused(with(good, last, at<std::uint64_t>(good, last) | 1ull << 63), "bits, one per value");
  auto word = at<std::uint64_t>(good, last);
  word &= word - 1;  // as many bits, one beyond the end
  expect_refused(with(good, last, word | 1ull << 63), "positions (pici) below 20000");
  expect_refused(with(good, prefixes + 5 * 4, std::uint32_t{9}), "zeros where the index");
}

/// What a set says of a message; empty where it accepts it.
std::string refusal_by(const Kernels& kernels, const Bytes& message, std::size_t count) {
  Decoder decoder(kernels);
  try {
    decoder.open(message, DType::float32, count);
  } catch (const FormatError& error) {
    return error.what();
  }
  return {};
}

/// Given buckets of 4 to 128 elements (0.2 to 0.008 nonzero), and of two neighbours in one bucket the low bits of the second
/// instead of the first's, or exchanged: a position twice, or one below the one before. Expect every set to say what the first,
/// plain one says, wherever in the message it is.
TEST(DamagedMessage, EverySetFindsAnEfPositionThatIsNotAboveTheOneBeforeIt) {
  constexpr std::size_t kMany = 70'000, kRankBytes = 8;
  for (const double density : {0.2, 0.1, 0.05, 0.025, 0.012, 0.008}) {
    Random random(7);
    const Bytes elements = sparse_array(random, kMany, 4, density);
    const Bytes good = encoded(DType::float32, elements, Format::ef);
    const unsigned bits = at<std::uint8_t>(good, 6);
    std::vector<std::uint32_t> positions;
    for (std::uint32_t i = 0; i < kMany; ++i)
      if (at<std::uint32_t>(elements, i * 4) != 0) positions.push_back(i);
    const auto with_low = [&](Bytes message, std::size_t rank, std::uint64_t low) {
      const std::size_t bit = rank * bits, byte = index_of_message(message) + kRankBytes + bit / 8;
      const std::uint64_t mask = ((1ull << bits) - 1) << bit % 8;
      const auto before = at<std::uint64_t>(message, byte);
      return with(std::move(message), byte, (before & ~mask) | (low << bit % 8 & mask));
    };
    int damaged = 0;
    for (const std::size_t from : {std::size_t{0}, positions.size() / 2, positions.size() - 40}) {
      std::size_t rank = from;
      while (rank + 1 < positions.size() && positions[rank] >> bits != positions[rank + 1] >> bits) ++rank;
      if (rank + 1 == positions.size()) continue;
      ++damaged;
      const Bytes twice = with_low(good, rank, positions[rank + 1]);
      for (const Bytes& message : {twice, with_low(twice, rank + 1, positions[rank])}) {
        const std::string expected = refusal_by(all_kernels().front(), message, kMany);
        EXPECT_NE(expected.find("position " + std::to_string(rank + 1) + " (ef)"), std::string::npos)
            << expected;
        for (const Kernels& kernels : all_kernels())
          EXPECT_EQ(refusal_by(kernels, message, kMany), expected) << kernels.name << ", " << density;
      }
    }
    EXPECT_GE(damaged, 2);
  }
}

TEST(DamagedMessage, ACooIndexOutOfOrderIsRefused) {
  const Bytes good = encoded(DType::float32, some_elements(), Format::coo);
  const std::size_t index = index_of_message(good);
  const auto second = at<std::uint32_t>(good, index + 4);
  expect_refused(with(good, index, second), "position 1 (coo)");
  expect_refused(with(good, index, std::uint32_t{kCount}), "position 0 (coo)");
  expect_refused(with(good, index + 4, std::uint32_t{0xffffffff}), "position 1 (coo)");
}

TEST(DamagedMessage, AnEfIndexThatContradictsItselfIsRefused) {
  // Given 4 positions among 20,000: l = floor(log2(5000)) = 12; 48 low bits, then 4 + (19999 >> 12) = 8 upper bits.
  Bytes elements(kCount * 4);
  for (const std::size_t i : {100, 200, 5000, 19999}) elements[4 * i] = std::byte{1};
  const Bytes good = encoded(DType::float32, elements, Format::ef);
  const std::size_t low = index_of_message(good), upper = low + 8;
  ASSERT_EQ(good.size(), upper + 8);
  ASSERT_EQ(at<std::uint64_t>(good, upper), 0b10001011u);  // two in bucket 0, one in 1, one in 4
  expect_refused(with(good, upper, std::uint64_t{0b10001111}), "4 upper bits");
  expect_refused(with(good, upper, std::uint64_t{0b100001011}), "no upper bits (ef) from 8 on");
  expect_refused(with(good, low, at<std::uint64_t>(good, low) | 0xfff),
                 "position 1 (ef)");  // above its neighbour
  expect_refused(with(good, low, (at<std::uint64_t>(good, low) & ~(0xfffull << 12)) | 100 << 12),
                 "position 1 (ef)");
  expect_refused(with(good, low, at<std::uint64_t>(good, low) | 0xfffull << 36),
                 "position 3 (ef)");  // beyond the end
  expect_refused(with(good, low, at<std::uint64_t>(good, low) | 1ull << 63), "behind the low bits");
}

TEST(DamagedMessage, EfRanksThatAreWrongAreRefused) {
  const std::size_t count = 200000;  // three ranks, filled up to four
  Random random(32);
  const Bytes elements = sparse_array(random, count, 4, 0.05);
  const Bytes good = encoded(DType::float32, elements, Format::ef);
  const std::size_t index = index_of_message(good);
  for (const std::size_t rank : {0, 1, 2, 3}) {
    Decoder decoder;
    const Bytes bad = with(good, index + 4 * rank, at<std::uint32_t>(good, index + 4 * rank) + 1);
    EXPECT_THROW(decoder.open(bad, DType::float32, count), FormatError) << rank;
  }
}

TEST(DamagedMessage, AHierIndexThatContradictsItselfIsRefused) {
  const Bytes good = encoded(DType::float32, some_elements(), Format::hier);
  const std::size_t index = index_of_message(good), bytes1 = index + 5 * 8;
  expect_refused(with(good, index, at<std::uint64_t>(good, index) ^ 1), "hier");
  expect_refused(with(good, bytes1, std::uint8_t{0}), "hier");
  expect_refused(with(good, bytes1, std::uint8_t{0xff}), "hier");
  expect_refused(with(good, good.size() - 8, std::uint64_t{0}), "hier");
  expect_refused(with(good, index, ~std::uint64_t{0}), "hier");
}

TEST(DamagedMessage, DamageAtRandomIsRefusedOrDecodes) {
  Random random(33);
  int refused = 0, decoded_count = 0;
  for (const Format format : kFormats)
    for (const DType dtype : kOfWidth)
      for (int round = 0; round < 300; ++round) {
        const std::size_t count = 1 + random.below(6000);
        const Bytes elements = sparse_array(random, count, element_bytes(dtype), random.uniform() * 0.1, 4);
        Bytes message = encoded(dtype, elements, format);
        for (std::uint32_t edits = 1 + random.below(3); edits > 0; --edits) {
          const std::size_t place = random.below(static_cast<std::uint32_t>(message.size()));
          message[place] ^= static_cast<std::byte>(1u << random.below(8));
        }
        message.shrink_to_fit();
        Decoder decoder;
        try {
          decoder.open(message, dtype, count);
          Bytes out(count * element_bytes(dtype));
          decoder.decode(out.data());
          ++decoded_count;
        } catch (const FormatError&) {
          ++refused;
        } catch (const MismatchError&) {
          ++refused;
        }
      }
  EXPECT_GT(refused, 1000);
  EXPECT_GT(decoded_count, 100);  // values may be anything
}

}  // namespace
}  // namespace hemiola::codec_tests
