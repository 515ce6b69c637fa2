// SPDX-License-Identifier: Apache-2.0
// Messages between two ranks as Python asks for them.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <optional>
#include <utility>

#include "hemiola/runtime/communicator/communicator.hpp"

namespace hemiola::bindings {

/// The arguments as they came.
struct PyMessage {
  bool is_send;
  nanobind::handle array, peer, tag, timeout_s;
};

/// Throws ArgumentError for an error in them. Needs the GIL.
std::shared_ptr<MessageRequest> request_of(const PyMessage& from, const Communicator& communicator);

/// A message under way, as Python holds it.
class PendingMessage {
 public:
  PendingMessage(const std::shared_ptr<Communicator>& communicator, std::shared_ptr<MessageRequest> request)
      : communicator_(communicator), request_(std::move(request)) {}

  /// False where it is not over after that time; rethrows its error.
  bool wait(std::optional<double> timeout_s) const;
  bool is_done() const;
  /// Of a receive that is done.
  int source() const { return request_->source; }

 private:
  HomeProcess home_;
  std::weak_ptr<Communicator> communicator_;
  std::shared_ptr<MessageRequest> request_;
};

void bind_messages(nanobind::module_& m);

}  // namespace hemiola::bindings
