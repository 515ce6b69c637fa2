// SPDX-License-Identifier: Apache-2.0
// The cost of messages to a link and the cores at its ends, by which their format is chosen.
#pragma once

namespace hemiola::codec {

/// In seconds. As they are here only a link takes time, so that the smallest format is the fastest.
struct Costs {
  double byte_s = 1;        ///< the link, per byte of a message
  double plain_byte_s = 0;  ///< cores, per plain byte, where places are told by a bitmap
  double position_s = 0;    ///< cores beside that, per place that is told by a number, as `ef` does
};

/// Of values that are put in their place, and of values that are added.
struct CostsOfUse {
  Costs copied = {};
  Costs added = {};
};

}  // namespace hemiola::codec
