// SPDX-License-Identifier: Apache-2.0
#include "hemiola/topology/nics.hpp"

#include <algorithm>
#include <set>
#include <tuple>

#include "hemiola/base/closest.hpp"
#include "hemiola/base/error.hpp"

namespace hemiola {
namespace {

constexpr std::size_t kMaxName = 64;
constexpr std::size_t kMostListed = 16;

std::string text_of(const Nic& nic) {
  return std::to_string(nic.host) + "/" + nic.name;
}

void check_nic(const Nic& nic, int link_count, int host_count) {
  if (!is_nic_name(nic.name))
    throw ArgumentError(
        "topology: expected a NIC's name of 1 … 64 ASCII characters without spaces, quotes, brackets or / , "
        "= : #, found '" +
        nic.name.substr(0, kMaxName) + "'");
  if (nic.host < 0 || nic.host >= host_count)
    throw ArgumentError("NIC '" + nic.name + "': expected a host 0 … " + std::to_string(host_count - 1) +
                        ", found " + std::to_string(nic.host));
  if (nic.links.empty())
    throw ArgumentError("NIC '" + text_of(nic) + "': expected at least one link that it carries");
  for (const int link : nic.links)
    if (link < 0 || link >= link_count)
      throw ArgumentError("NIC '" + text_of(nic) + "': expected links 0 … " + std::to_string(link_count - 1) +
                          ", found " + std::to_string(link));
}

/// Numbered names of one kind stand in the order of their numbers.
auto place_of(const Nic& nic) {
  return std::tuple(nic.host, nic.name.size(), std::string_view(nic.name));
}

template <typename Texts>
std::string listed(const Texts& texts) {
  std::string list;
  std::size_t count = 0;
  for (const auto& text : texts) {
    if (count++ == kMostListed) return list + ", …";
    list += (list.empty() ? "" : ", ") + std::string(text);
  }
  return list;
}

[[noreturn]] void refuse_unknown(const Topology& topology, std::string_view text) {
  const std::string what =
      "topology '" + topology.name() + "' has no NIC '" + std::string(text.substr(0, kMaxName)) + "'";
  if (topology.nics().empty())
    throw ArgumentError(what + ", nor any NIC with a name; say a rank or a link, or name NICs in its file");
  std::set<std::string> names;
  for (const Nic& nic : topology.nics()) {
    names.insert(nic.name);
    if (text.find('/') != std::string_view::npos) names.insert(text_of(nic));
  }
  const std::vector<std::string> known(names.begin(), names.end());
  const std::string_view meant = closest(text, known);
  throw ArgumentError(what + (meant.empty() ? "." : "; did you mean '" + std::string(meant) + "'?") +
                      " It has: " + listed(known));
}

[[noreturn]] void refuse_ambiguous(const Topology& topology, const std::vector<const Nic*>& found) {
  std::vector<std::string> hosts;
  for (const Nic* nic : found) hosts.push_back(std::to_string(nic->host));
  throw ArgumentError("topology '" + topology.name() + "': several hosts have a NIC '" + found[0]->name +
                      "'; say which, such as '" + text_of(*found[0]) + "'; hosts: " + listed(hosts));
}

}  // namespace

bool is_nic_name(std::string_view name) {
  return !name.empty() && name.size() <= kMaxName && std::all_of(name.begin(), name.end(), [](char c) {
    return c > ' ' && c < 0x7f && std::string_view("/,=:#{}[]'\"").find(c) == std::string_view::npos;
  });
}

std::vector<Nic> ordered_nics(std::vector<Nic> nics, int link_count, int host_count) {
  for (const Nic& nic : nics) check_nic(nic, link_count, host_count);
  std::stable_sort(nics.begin(), nics.end(),
                   [](const Nic& a, const Nic& b) { return place_of(a) < place_of(b); });
  std::vector<Nic> ordered;
  for (Nic& nic : nics) {
    if (!ordered.empty() && place_of(ordered.back()) == place_of(nic))
      ordered.back().links.insert(ordered.back().links.end(), nic.links.begin(), nic.links.end());
    else
      ordered.push_back(std::move(nic));
  }
  for (Nic& nic : ordered) {
    std::sort(nic.links.begin(), nic.links.end());
    nic.links.erase(std::unique(nic.links.begin(), nic.links.end()), nic.links.end());
  }
  return ordered;
}

std::vector<Nic> renumbered_nics(const std::vector<Nic>& nics, const std::vector<int>& link_number,
                                 const std::vector<int>& host_number) {
  std::vector<Nic> left;
  for (const Nic& nic : nics) {
    const int host = host_number.empty() ? nic.host : host_number[static_cast<std::size_t>(nic.host)];
    Nic copy{nic.name, host, {}};
    for (const int link : nic.links)
      if (const int number = link_number[static_cast<std::size_t>(link)]; number >= 0)
        copy.links.push_back(number);
    if (host >= 0 && !copy.links.empty()) left.push_back(std::move(copy));
  }
  return left;
}

const Nic& find_nic(const Topology& topology, std::string_view text) {
  std::vector<const Nic*> found;
  for (const Nic& nic : topology.nics())
    if (nic.name == text || text_of(nic) == text) found.push_back(&nic);
  if (found.empty()) refuse_unknown(topology, text);
  if (found.size() > 1) refuse_ambiguous(topology, found);
  return *found[0];
}

}  // namespace hemiola
