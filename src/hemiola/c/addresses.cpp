// SPDX-License-Identifier: Apache-2.0
#include "hemiola/c/addresses.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>

#include "hemiola/base/error.hpp"

namespace hemiola::c {
namespace {

/// Interfaces that containers and virtual machines of this machine are behind, by the beginnings of their names.
constexpr std::array kBehind = {"docker", "virbr", "veth",   "cni",     "flannel", "cali", "cilium", "lxc",
                                "lxd",    "incus", "podman", "nerdctl", "kube",    "ifb",  "dummy"};

/// Docker names the bridges of networks by twelve hexadecimal digits.
bool is_dockers_bridge(const std::string& interface) {
  return interface.starts_with("br-") && interface.size() == 15 &&
         interface.find_first_not_of("0123456789abcdef", 3) == std::string::npos;
}

bool is_behind(const std::string& interface) {
  return is_dockers_bridge(interface) ||
         std::ranges::any_of(kBehind, [&](const char* name) { return interface.starts_with(name); });
}

bool is_link_local(const sockaddr* address) {
  if (address->sa_family == AF_INET)
    return (ntohl(reinterpret_cast<const sockaddr_in*>(address)->sin_addr.s_addr) >> 16) == 0xa9fe;
  return IN6_IS_ADDR_LINKLOCAL(&reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr);
}

Endpoint endpoint_of(const sockaddr* address) {
  SocketAddress told;
  const bool is_ipv6 = address->sa_family == AF_INET6;
  told.length = is_ipv6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  std::memcpy(&told.storage, address, told.length);
  return Endpoint::of(told).with_port(0);
}

/// The bits of an address, most significant first, for networks.
std::vector<unsigned char> bits_of(const std::string& address) {
  std::vector<unsigned char> bytes(address.find(':') == std::string::npos ? 4 : 16);
  if (inet_pton(bytes.size() == 4 ? AF_INET : AF_INET6, address.c_str(), bytes.data()) != 1) return {};
  return bytes;
}

/// A word of a rule.
struct Word {
  std::string text;
  bool is_exact;

  bool names(const LocalAddress& local) const {
    return is_exact ? local.interface == text : local.interface.starts_with(text);
  }
  bool is_network() const { return text.find('/') != std::string::npos; }
  bool has(const Endpoint& address) const {
    const auto slash = text.find('/');
    const auto network = bits_of(text.substr(0, slash)), own = bits_of(address.address());
    const auto length = static_cast<std::size_t>(std::atoi(text.c_str() + slash + 1));
    if (network.empty() || network.size() != own.size() || length > 8 * own.size()) return false;
    for (std::size_t bit = 0; bit < length; ++bit)
      if (((network[bit / 8] ^ own[bit / 8]) >> (7 - bit % 8)) & 1) return false;
    return true;
  }
};

struct Rule {
  std::vector<Word> words;
  bool excludes = true;

  static Rule of(const std::string& text) {
    Rule rule;
    if (text.empty()) return rule;
    rule.excludes = text.starts_with("^");
    std::string body = text.substr(rule.excludes ? 1 : 0);
    const bool all_exact = body.starts_with("=");
    std::stringstream words(body.substr(all_exact ? 1 : 0));
    for (std::string word; std::getline(words, word, ',');) {
      const bool is_exact = all_exact || word.starts_with("=");
      rule.words.push_back({word.substr(word.starts_with("=") ? 1 : 0), is_exact});
      if (rule.words.back().text.empty() || word.find_first_of(" \t^") != std::string::npos)
        throw ArgumentError(
            "HEMIOLA_INTERFACE: expected interfaces such as 'eth,ib', '=eth0', '^docker,lo' or "
            "'10.1.0.0/16', "
            "found '" +
            text.substr(0, 60) + "'");
    }
    return rule;
  }

  bool allows(const LocalAddress& local) const {
    bool by_name = false, by_network = false;
    for (const Word& word : words) (word.is_network() ? by_network : by_name) |= matches(word, local);
    if (excludes) return !by_name && !by_network && !local.is_private_to_host && !local.is_link_local;
    // An interface's name says nothing about its link-local address, which every interface has.
    return by_network || (by_name && !local.is_link_local);
  }

 private:
  static bool matches(const Word& word, const LocalAddress& local) {
    return word.is_network() ? word.has(local.address) : word.names(local);
  }
};

std::string listed(const std::vector<LocalAddress>& present) {
  std::string text;
  for (const LocalAddress& local : present)
    text += (text.empty() ? "" : ", ") + local.interface + " " + local.address.address();
  return text.empty() ? "no interface that is up" : text;
}

/// In Mbit/s; 0 where the system does not know it.
std::uint32_t speed_of(const std::string& interface) {
  std::int64_t speed = 0;
  std::ifstream("/sys/class/net/" + interface + "/speed") >> speed;
  return speed > 0 ? static_cast<std::uint32_t>(speed) : 0;
}

}  // namespace

std::vector<LocalAddress> local_addresses() {
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) throw ArgumentError("the system does not list this machine's addresses");
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(first, freeifaddrs);
  std::vector<LocalAddress> found;
  for (const ifaddrs* one = first; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || (one->ifa_flags & IFF_UP) == 0) continue;
    if (one->ifa_addr->sa_family != AF_INET && one->ifa_addr->sa_family != AF_INET6) continue;
    const bool is_loopback = (one->ifa_flags & IFF_LOOPBACK) != 0;
    found.push_back({one->ifa_name, endpoint_of(one->ifa_addr), is_link_local(one->ifa_addr),
                     is_loopback || is_behind(one->ifa_name)});
  }
  return found;
}

std::vector<LocalAddress> reachable(const std::vector<LocalAddress>& present, const std::string& rule,
                                    int family) {
  const Rule permits = Rule::of(rule);
  std::vector<LocalAddress> found;
  for (const LocalAddress& local : present)
    if (permits.allows(local) && (family == 0 || local.address.is_ipv6() == (family == 6)))
      found.push_back(local);
  if (found.empty())
    throw ArgumentError(
        "expected an address at which other hosts reach this one, found none. Name an interface or a network "
        "in "
        "HEMIOLA_INTERFACE; this machine has: " +
        listed(present));
  return found;
}

std::vector<NicAddresses> side_by_side(const std::vector<LocalAddress>& reached, const std::string& rule) {
  if (Rule::of(rule).excludes) return {};
  std::vector<std::string> names;
  std::vector<NicAddresses> nics;
  for (const LocalAddress& local : reached) {
    auto place = std::ranges::find(names, local.interface);
    if (place == names.end()) {
      nics.push_back({.endpoints = {}, .speed = speed_of(local.interface)});
      place = names.insert(names.end(), local.interface);
    }
    nics[static_cast<std::size_t>(place - names.begin())].endpoints.push_back(local.address);
  }
  std::uint32_t slowest = 0;
  for (const NicAddresses& nic : nics)
    if (nic.speed > 0) slowest = slowest == 0 ? nic.speed : std::min(slowest, nic.speed);
  for (NicAddresses& nic : nics)
    if (nic.speed == 0) nic.speed = std::max(slowest, 1u);
  return nics;
}

}  // namespace hemiola::c
