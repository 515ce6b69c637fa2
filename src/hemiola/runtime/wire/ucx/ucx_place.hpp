// SPDX-License-Identifier: Apache-2.0
// Where a rank is to be found: by its desk, which stays, and in the first epoch by its worker.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "hemiola/base/bytes.hpp"
#include "hemiola/runtime/wire/ucx/ucx_worker.hpp"

namespace hemiola {

/// How to come to a peer.
struct UcxPeer {
  std::uint64_t key = 0;  ///< the key that its messages must carry
  Bytes desk;             ///< address of the worker of its desk
  Bytes worker;           ///< of that for messages, in the first epoch
};

/// A rank's own, opened before it knows its peers, which must be told the addresses.
struct UcxPlace {
  explicit UcxPlace(std::shared_ptr<const UcxContext> opened)
      : context(std::move(opened)),
        desk(std::make_unique<UcxWorker>(context)),
        worker(std::make_unique<UcxWorker>(context)) {}

  UcxPeer as_peer(std::uint64_t key) const { return {key, desk->address(), worker->address()}; }

  std::shared_ptr<const UcxContext> context;
  std::unique_ptr<UcxWorker> desk, worker;
};

}  // namespace hemiola
