// SPDX-License-Identifier: Apache-2.0
#include "hemiola/c/handles.hpp"

#include <pthread.h>

#include <cstdint>
#include <map>
#include <new>
#include <string_view>
#include <system_error>
#include <utility>

#include "hemiola/base/error.hpp"
#include "hemiola/runtime/net/encryption_error.hpp"
#include "hemiola/runtime/session/minority_error.hpp"

namespace hemiola::c {
namespace {

/// Is never destroyed: a process may end while threads are in calls.
struct Table {
  std::mutex mutex;
  std::map<std::uintptr_t, std::shared_ptr<Handle>> open;
  std::uintptr_t latest_name = 0;
  bool has_init = false;  ///< one of init is open, or is being made
};

Table& table() {
  static Table* const all = [] {
    // A child must not inherit the mutex from a thread that it lacks.
    pthread_atfork([] { table().mutex.lock(); }, [] { table().mutex.unlock(); },
                   [] { table().mutex.unlock(); });
    return new Table;
  }();
  return *all;
}

struct ThreadErrors {
  std::string latest;  ///< of this thread's failed calls
  std::string shown;   ///< the text that it was given, kept in memory
};

ThreadErrors& thread_errors() {
  thread_local ThreadErrors errors;
  return errors;
}

/// Sentences of the core name calls as Python has them.
std::string in_words_of_c(std::string text) {
  constexpr std::string_view kPythons = "comm.shrink()";
  if (const auto place = text.find(kPythons); place != std::string::npos)
    text.replace(place, kPythons.size(), "hemiola_shrink(comm)");
  return text;
}

void note(Handle* handle, const std::string& text) {
  thread_errors().latest = text;
  if (handle != nullptr) handle->note(text);
}

/// The result that an exception means; the sentence goes to `text`.
hemiola_result result_of(const std::exception_ptr& thrown, std::string* text) {
  try {
    std::rethrow_exception(thrown);
  } catch (const ArgumentError& e) {
    return *text = e.what(), HEMIOLA_INVALID;
  } catch (const MismatchError& e) {
    return *text = e.what(), HEMIOLA_MISMATCH;
  } catch (const EncryptionError& e) {
    return *text = e.what(), HEMIOLA_MISMATCH;
  } catch (const FormatError& e) {
    return *text = e.what(), HEMIOLA_MISMATCH;
  } catch (const MinorityError& e) {
    return *text = e.what(), HEMIOLA_MINORITY;
  } catch (const LostRankError& e) {
    return *text = e.what(), HEMIOLA_LOST_RANK;
  } catch (const TimeoutError& e) {
    return *text = e.what(), HEMIOLA_TIMEOUT;
  } catch (const std::bad_alloc&) {
    return *text = "the system has no memory left", HEMIOLA_SYSTEM;
  } catch (const std::system_error& e) {
    return *text = e.what(), HEMIOLA_SYSTEM;
  } catch (const std::exception& e) {
    return *text = e.what(), HEMIOLA_INTERNAL;
  } catch (...) {
    return *text = "an error of a kind that nothing here throws", HEMIOLA_INTERNAL;
  }
}

}  // namespace

void Handle::note(const std::string& error) {
  const std::lock_guard lock(mutex_);
  error_ = error;
}

std::string Handle::error() const {
  const std::lock_guard lock(mutex_);
  return error_;
}

std::shared_ptr<Handle> handle_of(const hemiola_comm* name) {
  Table& all = table();
  const std::lock_guard lock(all.mutex);
  const auto found = all.open.find(reinterpret_cast<std::uintptr_t>(name));
  return found == all.open.end() ? nullptr : found->second;
}

void open_handle(hemiola_comm** name, bool is_of_init, const std::function<std::shared_ptr<Comm>()>& make) {
  if (name == nullptr) throw ArgumentError("expected the address of a communicator to be set, found NULL");
  *name = nullptr;
  Table& all = table();
  if (is_of_init) {
    const std::lock_guard lock(all.mutex);
    if (all.has_init)
      throw ArgumentError(
          "hemiola_init: this process has joined its job already; use that communicator, or close it first");
    all.has_init = true;
  }
  try {
    auto handle = std::make_shared<Handle>(make(), is_of_init);
    const std::lock_guard lock(all.mutex);
    all.open.emplace(++all.latest_name, std::move(handle));
    *name = reinterpret_cast<hemiola_comm*>(all.latest_name);
  } catch (...) {
    const std::lock_guard lock(all.mutex);
    if (is_of_init) all.has_init = false;
    throw;
  }
}

std::shared_ptr<Handle> take_handle(const hemiola_comm* name) {
  Table& all = table();
  const std::lock_guard lock(all.mutex);
  auto taken = all.open.extract(reinterpret_cast<std::uintptr_t>(name));
  if (taken.empty()) return nullptr;
  if (taken.mapped()->is_of_init()) all.has_init = false;
  return std::move(taken.mapped());
}

hemiola_result guarded(Handle* handle, const std::function<void()>& call) noexcept {
  try {
    call();
    return HEMIOLA_OK;
  } catch (...) {
    try {
      std::string text;
      const hemiola_result result = result_of(std::current_exception(), &text);
      note(handle, in_words_of_c(text));
      return result;
    } catch (...) {
      return HEMIOLA_SYSTEM;  // no memory even for the sentence
    }
  }
}

const char* latest_error(const Handle* handle) noexcept {
  try {
    ThreadErrors& errors = thread_errors();
    errors.shown = handle != nullptr ? handle->error() : errors.latest;
    return errors.shown.c_str();
  } catch (...) {
    return "the system has no memory left";
  }
}

}  // namespace hemiola::c
