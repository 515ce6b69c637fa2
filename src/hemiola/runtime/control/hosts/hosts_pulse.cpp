// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/control/hosts/hosts_pulse.hpp"

namespace hemiola::hosts {
namespace {

enum class Kind : std::uint32_t {
  sign,      ///< to the keeper: this rank waits
  signs,     ///< the keeper: everybody's latest, by rank
  given_up,  ///< to all
};

struct Sign {
  std::int64_t at_ns = 0;
};

struct Notice {
  Failure failure = Failure::none;
  Rank rank{0};
  std::uint64_t completed = 0;  ///< how many operations
  CauseRecord cause{};
};

/// Apart from one another by this at least.
constexpr std::int64_t kBetweenSigns_ns = 200'000'000;

}  // namespace

PulseKeeper::PulseKeeper(std::shared_ptr<const Talk> talk)
    : talk_(std::move(talk)), signs_ns_(static_cast<std::size_t>(talk_->members().count())) {
  subscription_ =
      talk_->as_keeper([this](Rank from, std::span<const std::byte> message) { hear(from, message); });
}

void PulseKeeper::hear(Rank from, std::span<const std::byte> message) {
  if (kind_of<Kind>(message) != Kind::sign) return;
  signs_ns_[static_cast<std::size_t>(from)] = body_of<Sign>(message).at_ns;
  const std::int64_t now_ns = talk_->members().now_ns();
  if (told_ns_ != 0 && now_ns - told_ns_ < kBetweenSigns_ns / 2) return;
  told_ns_ = now_ns;
  talk_->tell_members(packed(Kind::signs, Sign{now_ns}, std::as_bytes(std::span(signs_ns_))));
}

HostsPulse::HostsPulse(std::shared_ptr<const Talk> talk, std::shared_ptr<Progress> progress)
    : talk_(std::move(talk)),
      progress_(std::move(progress)),
      signs_ns_(static_cast<std::size_t>(talk_->members().count())),
      given_up_(signs_ns_.size()) {
  if (talk_->keeps()) keeper_ = std::make_unique<PulseKeeper>(talk_);
  subscription_ =
      talk_->as_member([this](Rank from, std::span<const std::byte> message) { hear(from, message); });
}

void HostsPulse::beat() {
  const std::int64_t now_ns = talk_->members().now_ns();
  const std::int64_t before_ns = beat_ns_.load(std::memory_order_relaxed);
  if (before_ns != 0 && now_ns - before_ns < kBetweenSigns_ns) return;
  beat_ns_.store(now_ns, std::memory_order_relaxed);
  talk_->tell_keeper(packed(Kind::sign, Sign{now_ns}));
}

std::int64_t HostsPulse::last_sign_ns(Rank rank) const {
  const std::lock_guard lock(mutex_);
  return signs_ns_[static_cast<std::size_t>(rank)];
}

void HostsPulse::give_up(Failure failure, const Cause& cause) {
  if (has_given_up_.exchange(true)) return;
  const Rank self = talk_->members().self;
  const Notice notice{.failure = failure,
                      .rank = self,
                      .completed = progress_->completed(self),
                      .cause = CauseRecord::of(cause)};
  talk_->tell_survivors(packed(Kind::given_up, notice));
}

std::vector<Pulse::GivenUp> HostsPulse::given_up() const {
  std::vector<GivenUp> others;
  const std::lock_guard lock(mutex_);
  for (const auto& one : given_up_)
    if (one) others.push_back(*one);
  return others;
}

void HostsPulse::hear(Rank from, std::span<const std::byte> message) {
  const std::lock_guard lock(mutex_);
  switch (kind_of<Kind>(message)) {
    case Kind::signs:
      signs_ns_ = items_of<std::int64_t>(after_body<Sign>(message), signs_ns_.size());
      return;
    case Kind::given_up: {
      auto notice = body_of<Notice>(message);
      talk_->check_sender(notice.rank, from);
      if (notice.failure > Failure::aborted) throw FormatError("a failure that there is not");
      notice.cause.reason.characters.back() = '\0';
      progress_->note(notice.rank, notice.completed);
      auto& known = given_up_[static_cast<std::size_t>(notice.rank)];
      if (!known) known = GivenUp{notice.rank, notice.failure, notice.cause.cause()};
      return;
    }
    case Kind::sign:
      break;
  }
}

}  // namespace hemiola::hosts
