// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/control/hosts/hosts_figures.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "hemiola/base/error.hpp"

namespace hemiola::hosts {
namespace {

enum class Kind : std::uint32_t {
  shown,   ///< to the keeper: a share per rank
  merged,  ///< the keeper: the best of all
};

struct About {
  std::uint64_t number = 0;
};

/// Whole rows of a share for each member.
std::vector<float> shares_of(std::span<const std::byte> message, int member_count) {
  const auto shares = after_body<About>(message);
  const auto row = static_cast<std::size_t>(member_count);
  const std::size_t rows = shares.size() / (row * sizeof(float));
  return items_of<float>(shares, std::max(rows, std::size_t{1}) * row);
}

}  // namespace

FigureKeeper::FigureKeeper(std::shared_ptr<const Talk> talk) : talk_(std::move(talk)) {
  subscription_ = talk_->as_keeper([this](Rank, std::span<const std::byte> message) { hear(message); });
}

void FigureKeeper::hear(std::span<const std::byte> message) {
  const std::uint64_t number = body_of<About>(message).number;
  const std::vector<float> shares = shares_of(message, talk_->members().count());
  Page& page = pages_[number];
  page.best.resize(shares.size());
  std::ranges::transform(page.best, shares, page.best.begin(),
                         [](float a, float b) { return std::max(a, b); });
  if (++page.shown < talk_->members().count()) return;
  talk_->tell_members(packed(Kind::merged, About{number}, std::as_bytes(std::span(page.best))));
  pages_.erase(pages_.begin(), pages_.upper_bound(number));
}

HostsFigures::HostsFigures(std::shared_ptr<const Talk> talk) : talk_(std::move(talk)), replies_(talk_) {
  if (talk_->keeps()) keeper_ = std::make_unique<FigureKeeper>(talk_);
  subscription_ = talk_->as_member([this](Rank, std::span<const std::byte> message) {
    replies_.arrive(body_of<About>(message).number, shares_of(message, talk_->members().count()));
  });
}

void HostsFigures::show(std::uint64_t number, std::span<const float> shares) {
  talk_->tell_keeper(packed(Kind::shown, About{number}, std::as_bytes(shares)));
}

bool HostsFigures::read(std::uint64_t number, std::span<double> best_share, const Check& check) const {
  const std::vector<float> best = replies_.await(number, check);
  if (best.size() != best_share.size())
    throw FormatError("the keeper's " + std::to_string(best.size()) + " shares, where " +
                      std::to_string(best_share.size()) + " were expected");
  std::ranges::copy(best, best_share.begin());
  return std::ranges::any_of(best, [](float share) { return share > 0; });
}

}  // namespace hemiola::hosts
