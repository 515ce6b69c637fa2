#include "hemiola/runtime/rendezvous/local_session.hpp"

#include <poll.h>

#include <algorithm>

#include "hemiola/base/error.hpp"
#include "hemiola/runtime/rendezvous/meeting.hpp"
#include "hemiola/runtime/rendezvous/session_memory.hpp"

namespace hemiola {
namespace {

class JoinedSession final : public LocalSession {
 public:
  JoinedSession(const SessionOptions& options, Meeting meeting)
      : rank_(options.rank),
        processes_(std::move(meeting.processes)),
        memory_(std::move(meeting.memory), rank_,
                [this](const std::vector<Rank>& ranks) { return dead_among(ranks); }) {
    for (const Descriptor& process : processes_) everyone_.push_back({process.get(), POLLIN, 0});
    everyone_[static_cast<std::size_t>(rank_)].fd = -1;  // poll() passes over negative descriptors
  }

  Rank rank() const override { return rank_; }
  int rank_count() const override { return static_cast<int>(processes_.size()); }

  std::span<std::byte> share(const std::vector<Rank>& members, std::size_t bytes, double timeout_s) override {
    for (Rank member : members)
      if (member < 0 || member >= rank_count())
        throw ArgumentError("member " + std::to_string(member) +
                            " is out of range: the session has ranks 0 to " +
                            std::to_string(rank_count() - 1));
    return memory_.share(members, bytes, timeout_s);
  }

  std::optional<Rank> dead_rank() override {
    return first_ended(everyone_, [](std::size_t i) { return Rank{i}; });
  }

  std::vector<Rank> dead_ranks() override {
    std::vector<Rank> dead;
    if (::poll(everyone_.data(), everyone_.size(), 0) <= 0) return dead;
    for (std::size_t i = 0; i < everyone_.size(); ++i)
      if (everyone_[i].revents != 0) dead.push_back(Rank{i});
    return dead;
  }

 private:
  std::optional<Rank> dead_among(const std::vector<Rank>& ranks) const {
    std::vector<pollfd> some;
    for (Rank rank : ranks) some.push_back(everyone_[static_cast<std::size_t>(rank)]);
    return first_ended(some, [&](std::size_t i) { return ranks[i]; });
  }

  /// A process descriptor becomes readable when the process has ended.
  template <typename RankAt>
  static std::optional<Rank> first_ended(std::vector<pollfd>& processes, RankAt rank_at) {
    if (::poll(processes.data(), processes.size(), 0) <= 0) return std::nullopt;
    const auto ended =
        std::find_if(processes.begin(), processes.end(), [](const pollfd& p) { return p.revents != 0; });
    return rank_at(static_cast<std::size_t>(ended - processes.begin()));
  }

  Rank rank_;
  std::vector<Descriptor> processes_;
  std::vector<pollfd> everyone_;
  SessionMemory memory_;
};

}  // namespace

std::shared_ptr<LocalSession> LocalSession::join(const SessionOptions& options) {
  if (options.rank_count < 1)
    throw ArgumentError("a session has at least one rank, got rank_count " +
                        std::to_string(options.rank_count));
  return std::make_shared<JoinedSession>(options, meet(options));
}

}  // namespace hemiola
