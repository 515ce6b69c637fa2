// SPDX-License-Identifier: Apache-2.0
// Which NIC each connection of a pair of ranks begins with. Messages take the connections in turn, so a NIC with more of
// them carries more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace hemiola {

/// A NIC's number for each connection: of up to 8 connections the fewest with which messages of one size are over first,
/// where NIC i carries `speeds[i]`, each > 0. A NIC that would only hold the others up has none.
std::vector<std::size_t> nic_of_each_line(std::span<const std::uint32_t> speeds);

}  // namespace hemiola
