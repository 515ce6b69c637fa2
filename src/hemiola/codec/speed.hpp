// How fast this machine's core encodes and decodes, measured now.
#pragma once

namespace hemiola::codec {

/// Plain bytes per second of one core, for float32 of which one in ten is not zero, in the smallest format: fewer nonzeros
/// are faster, and more make a message little shorter.
struct Speeds {
  double compress_Bps;
  double decompress_Bps;
  double add_Bps;  ///< combining what comes with what is there
};

/// The median of slices of 512 KiB in memory; about 20 ms.
Speeds measure_speeds();

}  // namespace hemiola::codec
