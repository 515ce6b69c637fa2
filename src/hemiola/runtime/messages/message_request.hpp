// SPDX-License-Identifier: Apache-2.0
// One message as one of its two ends asks for it. docs/decisions/0020-point-to-point.md has the protocol.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>

#include "hemiola/base/deadline.hpp"
#include "hemiola/base/dtype.hpp"
#include "hemiola/base/index.hpp"

namespace hemiola {

/// The caller's fields stand first. The rest belongs to the mailbox, under its owner's lock, but for `is_done`, after
/// which nothing changes any more.
struct MessageRequest {
  bool is_send = false;
  std::optional<Rank> peer;  ///< nobody: any sender; a send names its receiver
  std::int64_t tag = 0;
  DType dtype = DType::uint8;
  std::int64_t element_count = 0;
  std::byte* data = nullptr;  ///< read by a send, written by a receive, until it is done
  Deadline deadline{300};
  std::shared_ptr<const void> keep_alive = {};  ///< the owner of the data

  enum class Stage : std::uint8_t {
    waiting,  ///< for somebody at the other end
    agreed,   ///< a receive: its sender has been told to send
    moving,   ///< the wire reads or writes the data
  };
  Stage stage = Stage::waiting;
  std::uint64_t number = 0;       ///< in the order of posting
  std::exception_ptr error = {};  ///< how it ended, if not well
  Rank source{0};                 ///< of a receive: the message's sender
  std::atomic<bool> is_done = false;

  std::size_t byte_count() const { return static_cast<std::size_t>(element_count) * bytes_of(dtype); }
};

/// "24 elements of float32"
inline std::string described(std::int64_t element_count, DType dtype) {
  return std::to_string(element_count) + (element_count == 1 ? " element of " : " elements of ") +
         std::string(name_of(dtype));
}

}  // namespace hemiola
