// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/wire/ucx/rdma_ranks.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "hemiola/base/error.hpp"
#include "hemiola/runtime/wire/ucx/transport_names.hpp"
#include "hemiola/runtime/wire/ucx/ucx_context.hpp"

namespace hemiola {
namespace {

/// Where Linux lists cards for InfiniBand, RoCE and EFA.
constexpr const char* kCards = "/sys/class/infiniband";

bool can_use_card(const std::vector<std::string>& packaged) try {
  std::error_code error;
  const std::filesystem::directory_iterator cards(kCards, error);
  if (error || cards == std::filesystem::directory_iterator()) return false;
  return std::ranges::any_of(UcxContext::open(UcxLibrary::open(packaged), "")->transports(), is_rdma);
} catch (const ArgumentError&) {
  return false;  // nobody has asked for UCX; hemiola doctor names its fault
}

}  // namespace

bool has_rdma(const std::vector<std::string>& packaged) {
  static const bool found = can_use_card(packaged);
  return found;
}

std::vector<Rank> rdma_ranks(const Members& members, bool own, const Deadline& deadline) {
  const Bytes mine{own ? std::byte{1} : std::byte{0}};
  const std::vector<Bytes> told = members.exchange("who has RDMA", mine, deadline);
  std::vector<Rank> ranks;
  for (std::size_t i = 0; i < told.size(); ++i)
    if (told[i] == Bytes{std::byte{1}}) ranks.push_back(members.ranks[i]);
  return ranks;
}

}  // namespace hemiola
