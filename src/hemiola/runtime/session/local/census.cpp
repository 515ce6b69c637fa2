// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/session/local/census.hpp"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>

#include "hemiola/base/error.hpp"

namespace hemiola {
namespace {

/// When a process started, in ticks since the machine did; 0 where the system does not say. The command's name, which
/// may hold anything, is in parentheses.
std::uint64_t start_of(std::uint64_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream fields(text.substr(name_end + 1));
  std::string field;
  constexpr int kFieldsToStart = 20;
  for (int i = 0; i < kFieldsToStart; ++i) fields >> field;
  return fields ? std::strtoull(field.c_str(), nullptr, 10) : 0;
}

}  // namespace

ProcessIdentity ProcessIdentity::own() {
  const auto id = static_cast<std::uint64_t>(::getpid());
  return {id, start_of(id)};
}

/// The time is looked at last: a process whose descriptor is open keeps its number. A zombie has ended.
Descriptor ProcessIdentity::open() const {
  Descriptor process(static_cast<int>(::syscall(SYS_pidfd_open, static_cast<pid_t>(id), 0)));
  pollfd ended{process.get(), POLLIN, 0};
  const bool lives = process && ::poll(&ended, 1, 0) == 0 && start_of(id) == start;
  return lives ? std::move(process) : Descriptor();
}

void Census::found(int rank_count) {
  int none = 0;
  numbers_.compare_exchange_strong(none, rank_count);
}

std::optional<Rank> Census::take_number() {
  int number = numbers_.load();
  while (number < kMost && !numbers_.compare_exchange_weak(number, number + 1)) {
  }
  return number < kMost ? std::optional(Rank{number}) : std::nullopt;
}

void Census::enroll(Rank number, const ProcessIdentity& process) {
  if (number >= kMost) return;  // found only by those that it has met
  Entry& own = entry(number);
  own.id.store(process.id);
  own.start.store(process.start);
  own.state.store(State::enrolled);
}

std::optional<ProcessIdentity> Census::process_of(Rank number) const {
  if (number >= kMost || entry(number).state.load() == State::none) return std::nullopt;
  return ProcessIdentity{entry(number).id.load(), entry(number).start.load()};
}

std::vector<Rank> Census::enrolled() const {
  std::vector<Rank> all;
  for (Rank number : indices<Rank>(std::min(numbers_.load(), kMost)))
    if (entry(number).state.load() != State::none) all.push_back(number);
  return all;
}

void Census::knock(Rank number) {
  entry(number).state.store(State::ready);
  waiting_.fetch_add(1);  // members that see it find somebody ready
}

std::vector<Rank> Census::guests() {
  std::vector<Rank> ready;
  for (Rank number : indices<Rank>(std::min(numbers_.load(), kMost))) {
    Entry& one = entry(number);
    if (one.state.load() != State::ready) continue;
    if (ProcessIdentity{one.id.load(), one.start.load()}.open())
      ready.push_back(number);
    else
      end_waiting(&one, State::gone);
  }
  return ready;
}

void Census::seat(Rank number, std::string_view agreement) {
  if (agreement.size() > kLongestAgreement)
    throw ArgumentError("expected an agreement's name of at most " + std::to_string(kLongestAgreement) +
                        " bytes, found " + std::to_string(agreement.size()));
  std::array<std::uint64_t, kWords> words{};
  std::memcpy(words.data(), agreement.data(), agreement.size());
  Entry& one = entry(number);
  if (one.state.load() != State::ready) return;
  for (std::size_t i = 0; i < kWords; ++i) one.agreement[i].store(words[i]);
  end_waiting(&one, State::seated);
}

std::optional<std::string> Census::seat_of(Rank number) const {
  const Entry& own = entry(number);
  if (own.state.load() != State::seated) return std::nullopt;
  std::array<std::uint64_t, kWords> words;
  for (std::size_t i = 0; i < kWords; ++i) words[i] = own.agreement[i].load();
  return std::string(reinterpret_cast<const char*>(words.data()));
}

void Census::end_waiting(Entry* entry, State next) {
  State ready = State::ready;
  if (entry->state.compare_exchange_strong(ready, next)) waiting_.fetch_sub(1);
}

}  // namespace hemiola
