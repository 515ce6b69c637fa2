// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/session/hosts/card.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <utility>

#include "hemiola/base/descriptor.hpp"
#include "hemiola/base/head.hpp"
#include "hemiola/runtime/session/hosts/host_identity.hpp"

namespace hemiola {

/// Memory and process descriptors go to processes of the same user alone; a rank that gets neither shares with nobody.
Card Card::own(std::uint64_t number, std::vector<Endpoint> endpoints) {
  Head head{.host = host_identity(), .memory = {}, .user = ::getuid()};
  const Descriptor process(static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0)));
  const Descriptor memory(::memfd_create("hemiola", MFD_CLOEXEC));
  head.can_share = process && memory ? 1 : 0;
  struct stat users{};
  ::stat("/proc/self/ns/user", &users);
  Hasher hasher;
  for (const std::uint64_t word :
       {std::uint64_t{head.user}, std::uint64_t{users.st_ino}, head.can_share ? 0 : number + 1})
    hasher.add(word);
  head.memory = hasher.finish();
  return {.head = head, .endpoints = std::move(endpoints)};
}

Bytes Card::packed() const {
  Bytes bytes = with_head(head, {});
  for (const Endpoint& endpoint : endpoints) {
    const auto more = endpoint.bytes();
    bytes.insert(bytes.end(), more.begin(), more.end());
  }
  return bytes;
}

Card Card::of(std::span<const std::byte> bytes) {
  Card card{.head = head_of<Head>(bytes), .endpoints = {}};
  for (auto left = after_head<Head>(bytes); left.size() >= Endpoint::kBytes;
       left = left.subspan(Endpoint::kBytes))
    card.endpoints.push_back(Endpoint::from_bytes(left.first<Endpoint::kBytes>()));
  return card;
}

}  // namespace hemiola
