// SPDX-License-Identifier: Apache-2.0
// How fast this machine's core encodes and decodes, measured now.
#pragma once

#include <optional>

#include "hemiola/codec/format.hpp"

namespace hemiola::codec {

/// Plain bytes per second of one core, for float32 at random places.
struct Speeds {
  double compress_Bps;
  double decompress_Bps;
  double add_Bps;  ///< combining received values with one's own
};

/// The median of slices of 512 KiB in memory; about 50 ms. In the smallest format where none is named. Of arrays that are
/// worth it, those with one nonzero in ten are the slowest: fewer are faster, and more make a message little shorter.
Speeds measure_speeds(double density = 0.1, std::optional<Format> format = std::nullopt);
/// The same of messages of eight-bit blocks.
Speeds measure_eight_bit_speeds();

}  // namespace hemiola::codec
