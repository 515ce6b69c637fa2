// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/wire/ucx/transport_names.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <string_view>

namespace hemiola {
namespace {

std::string printed(const std::function<void(std::FILE*)>& print) {
  char* text = nullptr;
  std::size_t bytes = 0;
  if (std::FILE* const stream = ::open_memstream(&text, &bytes)) {
    print(stream);
    std::fclose(stream);
  }
  const std::unique_ptr<char, decltype(&std::free)> owner(text, &std::free);
  return {text, bytes};
}

bool is_number(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](unsigned char c) { return std::isdigit(c) != 0; });
}

/// "2:tcp/lo.0" is the path 0 of resource 2.
std::string without_numbers(std::string_view name) {
  if (const std::size_t colon = name.find(':'); is_number(name.substr(0, colon)))
    name.remove_prefix(colon + 1);
  if (const std::size_t dot = name.rfind('.');
      dot != std::string_view::npos && is_number(name.substr(dot + 1)))
    name = name.substr(0, dot);
  return std::string(name);
}

/// "#   resource 1  :  md 1  dev 1  flags -- tcp/lo", or "#   lane[0]:  1:tcp/lo.0 md[1] -> …"; empty for any other line.
std::string transport_in(const std::string& line) {
  std::istringstream words(line);
  std::string hash, first, word;
  words >> hash >> first;
  if (first.starts_with("lane[") && words >> word) return without_numbers(word);
  if (first != "resource") return "";
  std::string last;
  while (words >> word) last = word;
  return last;
}

}  // namespace

std::vector<std::string> transport_names(const std::function<void(std::FILE*)>& print) {
  std::vector<std::string> names;
  std::istringstream lines(printed(print));
  for (std::string line; std::getline(lines, line);) {
    std::string name = transport_in(line);
    if (name.find('/') != std::string::npos && std::ranges::find(names, name) == names.end())
      names.push_back(std::move(name));
  }
  return names;
}

std::string transports_set(const std::function<void(std::FILE*)>& print) {
  static constexpr std::string_view kName = "UCX_TLS=";
  std::istringstream lines(printed(print));
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(kName)) return line.substr(kName.size());
  return "all";
}

std::string without_cma(const std::string& all) {
  if (all == "all") return "^cma";
  if (all.starts_with('^')) return all + ",cma";
  std::string left;
  for (std::size_t begin = 0; begin <= all.size();) {
    const std::size_t end = std::min(all.find(',', begin), all.size());
    const std::string name = all.substr(begin, end - begin);
    left += (left.empty() ? "" : ",") + (name == "shm" || name == "sm" ? "posix,sysv" : name);
    begin = end + 1;
  }
  return left;
}

/// UCX's names: rc_verbs, rc_mlx5, dc_mlx5, ud_verbs, ud_mlx5, srd (rc, dc and ud in versions between).
bool is_rdma(const std::string& transport) {
  const std::string name = transport.substr(0, transport.find('/'));
  return std::ranges::any_of(
      std::initializer_list<const char*>{"rc", "dc", "ud", "srd"},
      [&](const char* kind) { return name == kind || name.starts_with(std::string(kind) + "_"); });
}

}  // namespace hemiola
