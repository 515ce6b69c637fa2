// SPDX-License-Identifier: Apache-2.0
// The checksum of the binary form's sections, as docs/reference/formats/schedule.md defines it: it finds accidents, not
// adversaries. Files hold it, so it never changes; base/hash.hpp tells schedules apart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace hemiola {

std::uint64_t checksum(std::span<const std::byte> bytes);

}  // namespace hemiola
