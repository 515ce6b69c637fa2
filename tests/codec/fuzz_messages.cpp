// SPDX-License-Identifier: Apache-2.0
// What libFuzzer runs, and what make test replays over tests/codec/corpus: one input is a receiver's expectation (3 bytes)
// and a message. Whatever is accepted must decode the same with every instruction set, and encode to itself again.
#include "fuzz_messages.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "hemiola/base/error.hpp"
#include "messages.hpp"

namespace hemiola::codec_tests {
namespace {

/// As the runtime's: dst[i] = a[i] ^ b[i], which every type has.
void exclusive_or(std::byte* dst, const std::byte* a, const std::byte* b, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) dst[i] = a[i] ^ b[i];
}

void require(bool held) {
  if (!held) std::abort();
}

/// Exactly as large as its content, so that the sanitizer sees every byte beyond.
using Exact = std::vector<std::byte>;

bool decodes(const Kernels& kernels, const Exact& message, DType dtype, std::size_t elements, Exact& out) {
  Decoder decoder(kernels);
  try {
    decoder.open(message, dtype, elements);
  } catch (const FormatError&) {
    return false;
  } catch (const MismatchError&) {
    return false;
  }
  out.assign(elements * element_bytes(dtype), std::byte{0xee});
  decoder.decode(out.data());
  Exact around = out, whole(out.size());
  decoder.decode(around.data(), Destination::beyond_caches);
  decoder.combine(Op::bxor, exclusive_or, whole.data());
  require(around == out && whole == out);
  return true;
}

/// A message that is not dense is what the encoder writes of what it decodes to, but for zeros among its values, which the
/// encoder would leave out.
void require_same_again(const Exact& message, DType dtype, const Exact& elements) {
  const MessageInfo info = inspect(message);
  Encoder encoder;
  Exact again(room_for(dtype, info.elements, info.format));
  encoder.scan(dtype, elements.data(), info.elements, again);
  if (info.format == Format::dense || encoder.nonzeros() != info.nonzeros) return;
  const std::size_t bytes = encoder.write(info.format);
  if (inspect(std::span(again).first(bytes)).inverted != info.inverted) return;
  require(bytes == message.size() && std::equal(message.begin(), message.end(), again.begin()));
}

}  // namespace

void fuzz_message(std::span<const std::byte> input) {
  if (input.size() < 3) return;
  const auto dtype = static_cast<DType>(static_cast<unsigned>(input[0]) % kDTypeNames.size());
  std::size_t elements = static_cast<unsigned>(input[1]) * 97u * elements_per(dtype);
  const unsigned mode = static_cast<unsigned>(input[2]);
  Exact message(input.begin() + 3, input.end());
  if (message.size() >= kHeaderBytes &&
      mode % 2 == 1) {  // a header that agrees with what is around it, to get further
    Header header;
    std::memcpy(&header, message.data(), sizeof header);
    elements = std::min<std::size_t>(header.elements, 1 << 15) / elements_per(dtype) * elements_per(dtype);
    header.magic = kMagic, header.dtype = static_cast<std::uint8_t>(dtype), header.reserved = 0;
    header.elements = static_cast<std::uint32_t>(elements);
    header.payload_bytes = message.size() - kHeaderBytes;
    std::memcpy(message.data(), &header, sizeof header);
  }
  Exact first;
  const bool accepted = decodes(all_kernels()[0], message, dtype, elements, first);
  for (const Kernels& kernels : all_kernels().subspan(1)) {
    Exact out;
    require(decodes(kernels, message, dtype, elements, out) == accepted && out == first);
  }
  if (accepted) require_same_again(message, dtype, first);
}

}  // namespace hemiola::codec_tests
