// SPDX-License-Identifier: Apache-2.0
// What a thread keeps through short waits and gives up before long ones: Python's lock, of which the core knows nothing.
// Whatever blocks a thread says so here first, so that nobody waits for a lock whose holder waits for him.
#pragma once

namespace hemiola {

class KeptThroughShortWaits {
 public:
  KeptThroughShortWaits(const KeptThroughShortWaits&) = delete;

  /// Before the calling thread sleeps, yields its core, or waits for another thread.
  static void end() {
    if (latest_ != nullptr) latest_->give_up();
  }

 protected:
  KeptThroughShortWaits() : outer_(latest_) { latest_ = this; }
  ~KeptThroughShortWaits() { latest_ = outer_; }
  /// May be called again and again.
  virtual void give_up() = 0;

 private:
  KeptThroughShortWaits* outer_;
  /// In a library that is loaded late this model saves a call on every access.
  [[gnu::tls_model("initial-exec")]] static constinit inline thread_local KeptThroughShortWaits* latest_ =
      nullptr;
};

}  // namespace hemiola
