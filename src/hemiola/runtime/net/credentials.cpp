// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/net/credentials.hpp"

#include "hemiola/base/error.hpp"
#include "hemiola/runtime/net/random_bytes.hpp"

namespace hemiola {
namespace {

int digit_value(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
  return -1;
}

}  // namespace

Token Token::random() {
  Token token;
  fill_randomly(token.bytes_);
  return token;
}

Token Token::from_hex(std::string_view digits) {
  Token token;
  bool is_good = digits.size() == 2 * kBytes;
  for (std::size_t i = 0; is_good && i < kBytes; ++i) {
    const int high = digit_value(digits[2 * i]), low = digit_value(digits[2 * i + 1]);
    is_good = high >= 0 && low >= 0;
    token.bytes_[i] = static_cast<std::byte>(16 * high + low);
  }
  if (!is_good)
    throw ArgumentError("expected a job's token of 64 hexadecimal digits, found " +
                        std::to_string(digits.size()) + " characters that are not that");
  return token;
}

}  // namespace hemiola
