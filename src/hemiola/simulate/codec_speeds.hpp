// How fast a core encodes and decodes, as a simulation is told.
#pragma once

#include <limits>

namespace hemiola {

/// Plain bytes per second of the one core that a rank has for this; infinite: it takes no time.
struct CodecSpeeds {
  double compress_Bps = std::numeric_limits<double>::infinity();
  double decompress_Bps = std::numeric_limits<double>::infinity();
  double add_Bps = std::numeric_limits<double>::infinity();  ///< decompress and add
};

}  // namespace hemiola
