// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/session/hosts/host_identity.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <iterator>
#include <span>
#include <string>

namespace hemiola {

Hash128 host_identity() {
  Hasher hasher;
  std::ifstream boot("/proc/sys/kernel/random/boot_id");
  const std::string boot_id{std::istreambuf_iterator<char>(boot), {}};
  hasher.add_bytes(std::as_bytes(std::span(boot_id)));
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  if (boot_id.empty()) hasher.add_bytes(std::as_bytes(std::span(name)));
  struct stat network{};
  if (::stat("/proc/self/ns/net", &network) == 0) {
    hasher.add(network.st_dev);
    hasher.add(network.st_ino);
  }
  return hasher.finish();
}

}  // namespace hemiola
