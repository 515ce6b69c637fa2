// SPDX-License-Identifier: Apache-2.0
#include "hemiola/c/status.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <ctime>

namespace hemiola::c {
namespace {

/// A host's name as JSON has it; names have no other signs.
std::string quoted(const std::string& name) {
  std::string text;
  for (const char c : name)
    if (c > ' ' && c != '"' && c != '\\' && c < 127) text += c;
  return "\"" + text + "\"";
}

/// The same for processes that know each other by the same numbers.
std::uint64_t process_space() {
  struct stat found{};
  return stat("/proc/self/ns/pid", &found) == 0 ? found.st_ino : 0;
}

template <typename Item, typename Text>
std::string listed(const std::vector<Item>& items, Text text) {
  std::string all;
  for (const Item& item : items) all += (all.empty() ? "" : ", ") + text(item);
  return all;
}

}  // namespace

std::string status_text(const Session& session, const std::vector<Rank>& ranks) {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  const auto number = [](Rank rank) { return std::to_string(rank); };
  const auto process = [&](Rank rank) {
    return "\"" + number(rank) + "\": " + std::to_string(session.process_of(rank));
  };
  return "{\"host\": " + quoted(host.data()) + ", \"process_space\": " + std::to_string(process_space()) +
         ", \"processes\": {" + listed(ranks, process) + "}, \"refusal\": \"\"}\n" + "{\"ranks\": [" +
         listed(ranks, number) + "], \"joins\": 0, \"leaves\": 0, \"losses\": 0}\n" +
         R"({"number": 0, "joined": [], "left": [], "lost": {}, "at_s": )" +
         std::to_string(std::time(nullptr)) + R"(, "took_s": 0.0, "healed_bytes": 0, "healed_s": 0.0})";
}

}  // namespace hemiola::c
