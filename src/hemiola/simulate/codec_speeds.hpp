// SPDX-License-Identifier: Apache-2.0
// How fast a core encodes and decodes, as a simulation is told.
#pragma once

#include <limits>

namespace hemiola {

/// Plain bytes per second of the one core that a rank has for this; infinite: it takes no time.
struct CodecSpeeds {
  double compress_Bps = std::numeric_limits<double>::infinity();
  double decompress_Bps = std::numeric_limits<double>::infinity();
  double add_Bps = std::numeric_limits<double>::infinity();  ///< decompress and add
  // Beside that, for each place that a message tells by a number: it does where that is faster than a bitmap.
  double position_compress_s = 0;
  double position_decompress_s = 0;
};

}  // namespace hemiola
