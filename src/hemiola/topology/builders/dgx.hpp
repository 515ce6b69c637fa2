// SPDX-License-Identifier: Apache-2.0
// NVIDIA's eight-GPU boxes: DGX-1 with V100s (NVLink hybrid cube mesh), DGX A100 and DGX H100 (NVSwitch), and racks.
#pragma once

#include "hemiola/topology/builders/wiring.hpp"

namespace hemiola::topologies {

struct Dgx1Options {
  bool parallel_links =
      false;  ///< where two GPUs share two NVLinks: two links, or one of twice the bandwidth
};

/// `nvlink` is one NVLink, of which each GPU has six.
Topology dgx1(LinkCost nvlink, Dgx1Options options = {});

struct DgxRack {
  int box_count = 1;
  LinkCost nvlink;    ///< all NVLinks of a GPU together, to the NVSwitch and from there to another GPU
  LinkCost card;      ///< one NIC, of which each GPU has its own
  bool rails = true;  ///< NICs of equal number are on a switch of their own
  SwitchAbility nvswitch = {};  ///< of each box's NVSwitch
};

/// Boxes of eight GPUs around an NVSwitch. A single box has no NICs, for there is nothing to reach.
Topology dgx_rack(const char* name, const DgxRack& rack);

}  // namespace hemiola::topologies
