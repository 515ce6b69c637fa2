// SPDX-License-Identifier: Apache-2.0
// Constants of the binary form, shared by its writer and its reader.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace hemiola::binary_layout {

/// Begins and ends a file. The first byte is no text, and the line ends break when a transfer rewrites them.
inline constexpr std::array<char, 8> kMagic{'\x89', 'H', 'M', 'S', '\r', '\n', '\x1a', '\n'};
inline constexpr std::uint32_t kVersion = 1;
/// Of a schedule with scratch slots: its footer has two columns more.
inline constexpr std::uint32_t kVersionWithScratch = 2;
inline constexpr std::int64_t kHeaderBytes = 16;         ///< magic, version, 4 bytes of zero
inline constexpr std::int64_t kSectionHeaderBytes = 16;  ///< length, checksum
inline constexpr std::int64_t kTrailerBytes = 16;        ///< offset of the footer, magic

/// A block holds at most so many transfers, so that a reader's memory is bounded.
inline constexpr std::size_t kBlockTransfers = 1 << 16;
/// In the link and the chunk column, a byte each.
inline constexpr std::int64_t kLeastTransferBytes = 2;

enum Owners : std::uint8_t { kBlockwise, kListed };
enum Weights : std::uint8_t { kEqual, kWeighted };
enum Reduces : std::uint8_t { kNone, kAll, kMixed };

}  // namespace hemiola::binary_layout
