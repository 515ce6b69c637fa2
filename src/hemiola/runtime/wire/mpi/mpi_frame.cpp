// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/wire/mpi/mpi_frame.hpp"

#include <cstring>

#include "hemiola/base/error.hpp"

namespace hemiola {

MpiFrameHeader MpiFrame::header() const {
  MpiFrameHeader header;
  std::memcpy(static_cast<void*>(&header), bytes_.get(), sizeof header);
  return header;
}

void MpiFrame::set_header(const MpiFrameHeader& header) {
  std::memcpy(data(), &header, sizeof header);
}

MpiFrame* MpiFramePool::take(std::size_t bytes) {
  HEMIOLA_CHECK(bytes <= sizeof(MpiFrameHeader) + MpiFrame::kPayload, "a frame that is larger than any");
  auto& free = bytes <= kSmall ? small_ : large_;
  if (free.empty()) {
    all_.push_back(
        std::make_unique<MpiFrame>(bytes <= kSmall ? kSmall : sizeof(MpiFrameHeader) + MpiFrame::kPayload));
    return all_.back().get();
  }
  MpiFrame* const frame = free.back();
  free.pop_back();
  return frame;
}

void MpiFramePool::give(MpiFrame* frame) {
  (frame->room() <= kSmall ? small_ : large_).push_back(frame);
}

}  // namespace hemiola
