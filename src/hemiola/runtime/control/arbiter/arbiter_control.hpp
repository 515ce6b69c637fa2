// A control plane whose late register goes by messages, and all else by another's means. Ranks that share memory have no
// need of it: it shows, and tests, that who is late can be settled where no shared memory reaches.
#pragma once

#include <memory>
#include <utility>

#include "hemiola/runtime/control/control.hpp"

namespace hemiola {

class ArbiterControl final : public ControlKind {
 public:
  /// `inner` makes all parts but the late register.
  explicit ArbiterControl(std::shared_ptr<const ControlKind> inner) : inner_(std::move(inner)) {}

  std::string_view name() const override { return "arbiter"; }
  /// The first member keeps the arbiter, in a thread of its own; all, that one, too, talk to it.
  Control connect(const Members& members, const Deadline& deadline) const override;

 private:
  std::shared_ptr<const ControlKind> inner_;
};

}  // namespace hemiola
