// The checksum of the binary form's sections, as docs/reference/formats/schedule.md defines it: it finds accidents, not
// adversaries. Files hold it, so it stays what it is; what tells schedules apart is in base/hash.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace hemiola {

std::uint64_t checksum(std::span<const std::byte> bytes);

}  // namespace hemiola
