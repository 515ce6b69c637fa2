// SPDX-License-Identifier: Apache-2.0
// SHA-256 and HMAC-SHA256 against the vectors of FIPS 180-4 and RFC 4231.
#include "hemiola/base/sha256.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace hemiola {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

std::string hex(const Sha256Digest& digest) {
  std::string text;
  for (const std::byte byte : digest) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", std::to_integer<unsigned>(byte));
    text += digits;
  }
  return text;
}

std::string sha256(std::string_view text) {
  Sha256 hash;
  hash.add(bytes_of(text));
  return hex(hash.finish());
}

std::string hmac(std::string_view key, std::string_view text) {
  return hex(hmac_sha256(bytes_of(key), {bytes_of(text)}));
}

TEST(Sha256, AgreesWithTheStandardsVectors) {
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

/// Sizes around the ends of blocks, where padding needs another one.
TEST(Sha256, PiecesMakeNoDifference) {
  for (const std::size_t size : {0u, 1u, 55u, 56u, 63u, 64u, 65u, 119u, 120u, 128u, 1000u}) {
    std::string text;
    for (std::size_t i = 0; i < size; ++i) text += static_cast<char>(i * 37);
    for (const std::size_t piece : {1u, 7u, 64u, 100u}) {
      Sha256 hash;
      for (std::size_t at = 0; at < size; at += piece)
        hash.add(bytes_of(std::string_view(text).substr(at, piece)));
      EXPECT_EQ(hex(hash.finish()), sha256(text)) << size << " bytes in pieces of " << piece;
    }
  }
}

TEST(HmacSha256, AgreesWithRfc4231) {
  EXPECT_EQ(hmac(std::string(20, '\x0b'), "Hi There"),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(hmac("Jefe", "what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(hmac(std::string(20, '\xaa'), std::string(50, '\xdd')),
            "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
  EXPECT_EQ(hmac(std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First"),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(HmacSha256, ComparesEveryByte) {
  const Sha256Digest digest = hmac_sha256(bytes_of("key"), {bytes_of("one "), bytes_of("text")});
  EXPECT_TRUE(equal_in_constant_time(digest, hmac_sha256(bytes_of("key"), {bytes_of("one text")})));
  for (std::size_t i = 0; i < digest.size(); ++i) {
    Sha256Digest other = digest;
    other[i] ^= std::byte{1};
    EXPECT_FALSE(equal_in_constant_time(digest, other)) << i;
  }
}

}  // namespace
}  // namespace hemiola
