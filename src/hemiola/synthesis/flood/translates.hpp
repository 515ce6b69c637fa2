// Floods of networks that look alike from every rank, such as tori: every chunk flows down the same tree, moved along
// with its source. Where the tree's edges use each direction once a tick, so do all trees together each link.
#pragma once

#include <optional>

#include "hemiola/synthesis/flood/flood.hpp"
#include "hemiola/synthesis/network/sends.hpp"

namespace hemiola::synthesis {

/// The sends of a flood in the fewest ticks that its links allow, or nothing. For networks whose ranks, numbered row by
/// row in a grid of some shape, have neighbours at the same offsets, counted around the grid's ends: rings, tori,
/// circulants, hypercubes, and a link for every pair; and for floods in which every rank begins with as many chunks of its
/// own. A tick is the time in which a link takes one chunk, which may leave again in the next. Cost: O(links) per shape that
/// the number of ranks allows, and O(1) per send. Source: after the spanning trees with labels of their own of
/// edge-disjoint broadcasts in Cayley graphs; the tree is grown tick by tick, the nearest ranks first, by matching
/// directions to ranks.
std::optional<Sends> flood_by_translates(const Flood& flood);

}  // namespace hemiola::synthesis
