// SPDX-License-Identifier: Apache-2.0
// The communicators that C programs hold, by names that are never used twice, and the errors of their calls. A pointer
// that names none, such as one that is closed, is found out without looking behind it.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "hemiola/c/comm.hpp"
#include "hemiola/c/hemiola.h"

namespace hemiola::c {

/// An open communicator and its latest error.
class Handle {
 public:
  Handle(std::shared_ptr<Comm> comm, bool is_of_init) : comm_(std::move(comm)), is_of_init_(is_of_init) {}

  Comm& comm() const { return *comm_; }
  bool is_of_init() const { return is_of_init_; }
  void note(const std::string& error);
  std::string error() const;

 private:
  std::shared_ptr<Comm> comm_;
  bool is_of_init_;
  mutable std::mutex mutex_;
  std::string error_;
};

/// Null where this names none.
std::shared_ptr<Handle> handle_of(const hemiola_comm* name);

/// Makes a communicator and names it. Throws ArgumentError for a null `name`, and where `is_of_init` while there is one
/// of init already.
void open_handle(hemiola_comm** name, bool is_of_init, const std::function<std::shared_ptr<Comm>()>& make);

/// From now on the name stands for nothing; returns its handle, or null.
std::shared_ptr<Handle> take_handle(const hemiola_comm* name);

/// Calls, and turns an exception into a result and a sentence, of this thread and of `handle` if there is one.
hemiola_result guarded(Handle* handle, const std::function<void()>& call) noexcept;

/// The latest sentence of `handle`, or of this thread; stays until this thread asks again.
const char* latest_error(const Handle* handle) noexcept;

}  // namespace hemiola::c
