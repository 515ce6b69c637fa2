// SPDX-License-Identifier: Apache-2.0
#include "hemiola/topology/vertex_names.hpp"

#include <algorithm>
#include <charconv>
#include <unordered_set>

#include "hemiola/base/closest.hpp"
#include "hemiola/base/error.hpp"
#include "hemiola/topology/nics.hpp"

namespace hemiola {
namespace {

constexpr std::size_t kMostOfAName = 64;

/// The number that a text is in decimal; -1 for any other text.
int number_in(std::string_view text) {
  int number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() && text[0] != '-' ? number : -1;
}

std::string_view without_host(std::string_view name) {
  return name.substr(name.find('/') + 1);
}

bool is_name(std::string_view name) {
  const std::size_t slash = name.find('/');
  if (slash != std::string_view::npos && number_in(name.substr(0, slash)) < 0) return false;
  return is_nic_name(without_host(name)) && number_in(name) < 0;
}

[[noreturn]] void refuse_unknown_vertex(const Topology& topology, std::string_view text) {
  std::vector<std::string> known;
  for (const std::string& name : topology.vertex_names()) {
    if (name.empty()) continue;
    known.push_back(name);
    known.emplace_back(without_host(name));
  }
  const std::string_view meant = closest(text, known);
  const std::string hint = known.empty()   ? "; its vertices have no names: say numbers"
                           : meant.empty() ? "; 'hemiola topology show' lists its vertices"
                                           : "; did you mean '" + std::string(meant) + "'?";
  throw ArgumentError("topology '" + topology.name() + "' has no vertex '" +
                      std::string(text.substr(0, kMostOfAName)) + "'" + hint);
}

}  // namespace

std::vector<std::string> checked_names(std::vector<std::string> names, int vertex_count) {
  if (std::all_of(names.begin(), names.end(), [](const std::string& name) { return name.empty(); }))
    return {};
  if (names.size() != at(vertex_count))
    throw ArgumentError("topology: expected a name per vertex (" + std::to_string(vertex_count) +
                        "), found " + std::to_string(names.size()));
  std::unordered_set<std::string_view> seen;
  for (const std::string& name : names) {
    if (name.empty()) continue;
    const std::string shown = "'" + name.substr(0, kMostOfAName) + "'";
    if (!is_name(name))
      throw ArgumentError(
          "topology: expected a vertex's name of 1 … 64 ASCII characters without spaces, quotes, brackets or "
          ", = : #, "
          "that is no number, with its host's number and / before it where there are several hosts, found " +
          shown);
    if (!seen.insert(name).second)
      throw ArgumentError("topology: two vertices are called " + shown +
                          "; put the number of its host before one of them, such as '1/" + name + "'");
  }
  return names;
}

std::vector<std::string> names_with_hosts(std::vector<std::string> names,
                                          const std::vector<int>& host_number) {
  for (std::string& name : names) {
    const std::size_t slash = name.find('/');
    const int host = slash == std::string::npos ? -1 : number_in(std::string_view(name).substr(0, slash));
    if (host < 0 || host >= static_cast<int>(host_number.size())) continue;
    const int number = host_number[at(host)];
    name = number < 0 ? "" : std::to_string(number) + name.substr(slash);
  }
  return names;
}

std::string name_on_host(const std::string& name, int first_host) {
  const std::size_t slash = name.find('/');
  if (name.empty()) return name;
  if (slash == std::string::npos) return std::to_string(first_host) + "/" + name;
  return std::to_string(first_host + number_in(std::string_view(name).substr(0, slash))) + name.substr(slash);
}

std::string called(const Topology& topology, Vertex vertex) {
  const std::string name = topology.vertex_names().empty() ? "" : topology.vertex_names()[at(vertex)];
  if (!topology.is_rank(vertex)) return name.empty() ? "switch " + std::to_string(vertex) : name;
  return "rank " + std::to_string(vertex) + (name.empty() ? "" : " (" + name + ")");
}

Vertex find_vertex(const Topology& topology, std::string_view text) {
  if (const int number = text.empty() ? -1 : number_in(text); number >= 0) {
    if (number >= topology.vertex_count())
      throw ArgumentError("topology '" + topology.name() + "' has vertices 0 … " +
                          std::to_string(topology.vertex_count() - 1) + ", found " + std::to_string(number));
    return Vertex{number};
  }
  std::vector<Vertex> found;
  const std::vector<std::string>& names = topology.vertex_names();
  for (std::size_t v = 0; v < names.size(); ++v) {
    if (names[v] == text) return Vertex{v};
    if (!text.empty() && without_host(names[v]) == text) found.push_back(Vertex{v});
  }
  if (found.empty()) refuse_unknown_vertex(topology, text);
  if (found.size() > 1)
    throw ArgumentError("topology '" + topology.name() + "': several hosts have a '" + std::string(text) +
                        "'; say which, such as '" + names[at(found[0])] + "'");
  return found[0];
}

}  // namespace hemiola
