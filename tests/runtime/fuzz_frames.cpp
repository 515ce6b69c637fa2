#include "fuzz_frames.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "hemiola/base/error.hpp"
#include "hemiola/runtime/control/hosts/hosts_control.hpp"
#include "hemiola/runtime/session/dispatcher.hpp"
#include "hemiola/runtime/session/hosts/cause_desk.hpp"
#include "hemiola/runtime/session/hosts/exchange_desk.hpp"
#include "hemiola/runtime/session/hosts/frames.hpp"
#include "hemiola/runtime/session/hosts/roster.hpp"
#include "hemiola/runtime/session/hosts/survivors_desk.hpp"
#include "hemiola/runtime/session/session.hpp"
#include "hemiola/runtime/wire/tcp/message_receiver.hpp"

namespace hemiola::testing {
namespace {

constexpr int kRanks = 3;

/// A rank without a thread: what it sends to itself is delivered when it is asked to, all else is forgotten.
class FuzzedRank final : public Session, public Courier {
 public:
  explicit FuzzedRank(Rank self) : self_(self) {}

  void deliver(Rank from, Topic topic, std::span<const std::byte> message) {
    try {
      dispatcher_.deliver(from, topic, message);
    } catch (const FormatError&) {
    }
    while (!letters_.empty()) {
      const auto [to_topic, letter] = std::exchange(letters_.front(), {});
      letters_.pop_front();
      dispatcher_.deliver(self_, to_topic, letter);  // its own words are well-formed
    }
  }

  void send(Rank to, Topic topic, Bytes message) override {
    if (to < 0 || to >= kRanks) throw FormatError("as a sideband says");
    if (to == self_) letters_.emplace_back(topic, std::move(message));
  }
  void tell_all(Topic, Bytes) override {}
  std::unique_ptr<Subscription> subscribe(Topic topic, Handler handler) override {
    topics.push_back(topic);
    return dispatcher_.subscribe(topic, std::move(handler));
  }

  Rank rank() const override { return self_; }
  int rank_count() const override { return kRanks; }
  int host_of(Rank rank) const override { return rank; }
  std::vector<Bytes> exchange(const std::vector<Rank>& members, std::string_view,
                              std::span<const std::byte> own, const Deadline&) override {
    return std::vector<Bytes>(members.size(), Bytes(own.begin(), own.end()));
  }
  std::shared_ptr<SharedRegion> shared(const std::vector<Rank>&, std::size_t, const Deadline&) override {
    return nullptr;
  }
  std::vector<LostRank> lost() const override { return {}; }
  std::vector<Rank> survivors(const std::vector<Rank>& members, std::string_view, const Deadline&) override {
    return members;
  }
  ClockReading clock() const override { return {1'000'000'000, 0}; }
  Courier* courier() override { return this; }
  void publish_cause(const std::optional<Cause>&) override {}

  std::vector<Topic> topics;

 private:
  const Rank self_;
  Dispatcher dispatcher_;
  std::deque<std::pair<Topic, Bytes>> letters_;
};

struct FuzzedJob {
  explicit FuzzedJob(Rank self)
      : rank(std::make_shared<FuzzedRank>(self)),
        exchanges(rank.get(), self,
                  {[] { return std::vector<LostRank>(); }, [] { return std::vector<std::string>(); },
                   [] { return std::int64_t{0}; }}),
        causes(
            rank.get(), [] { return std::vector<LostRank>(); }, [] { return std::int64_t{0}; }),
        roster(rank.get(), self, kRanks, "fuzzed"),
        survivors(rank.get(), self, [] { return std::vector<LostRank>(); }) {
    const Members members{rank, {Rank{0}, Rank{1}, Rank{2}}, self};
    control = HostsControl().connect(members, Deadline(60));
  }

  /// Whatever has been heard can be read.
  void read_all() const {
    for (Rank one : indices<Rank>(kRanks)) {
      control.pulse->last_sign_ns(one);
      for (const std::uint64_t number : {0, 1, 2}) {
        control.roll->has_completed(one, number);
        if (control.roll->has_arrived(one, number)) control.roll->entry(one, number);
      }
    }
    control.pulse->given_up();
  }

  std::shared_ptr<FuzzedRank> rank;
  ExchangeDesk exchanges;
  CauseDesk causes;
  Roster roster;
  SurvivorsDesk survivors;
  Control control;
};

/// Eight bytes of head: a topic by its place, the sender, and the length of what follows; modulo what there is.
void hear(const FuzzedJob& job, std::span<const std::byte> input) {
  while (input.size() >= 4) {
    const auto at = [&](std::size_t i) { return std::to_integer<std::size_t>(input[i]); };
    const Topic topic = job.rank->topics[at(0) % job.rank->topics.size()];
    const Rank from{static_cast<std::int32_t>(at(1) % kRanks)};
    const std::size_t bytes = std::min(at(2) | at(3) << 8, input.size() - 4);
    // Exactly as large as its content, so that the sanitizer sees every byte beyond.
    const Bytes message(input.begin() + 4, input.begin() + 4 + static_cast<std::ptrdiff_t>(bytes));
    job.rank->deliver(from, topic, message);
    input = input.subspan(4 + bytes);
  }
  job.read_all();
}

std::pair<Descriptor, Descriptor> pair_with(std::span<const std::byte> input) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) std::abort();
  if (::write(ends[0], input.data(), input.size()) != static_cast<ssize_t>(input.size())) std::abort();
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

void read_frames(const FuzzedJob& job, std::span<const std::byte> input) {
  auto [there, here] = pair_with(input);
  FrameStream stream(std::move(here));
  try {
    stream.read([&](const FrameHead& head, std::span<const std::byte> content) {
      if (head.kind == FrameKind::message) job.rank->deliver(Rank{1}, head.topic, content);
    });
  } catch (const FormatError&) {
  }
}

void read_messages(std::span<const std::byte> input) {
  auto [there, here] = pair_with(input);
  StreamSocket socket(std::move(here));
  BounceBuffer bounce;
  MessageReceiver receiver(Rank{1});
  std::vector<std::byte> landed(64), added(64);
  std::size_t size = 0;
  receiver.post({landed.data(), nullptr, nullptr, &size}, landed.size());
  const auto copied = [](std::byte* dst, const std::byte*, const std::byte* b, std::size_t bytes) {
    std::copy(b, b + bytes, dst);
  };
  receiver.post({added.data(), added.data(), copied, nullptr}, added.size());
  OperationTag own{.operation = 1};
  try {
    for (int i = 0; i < 8; ++i) receiver.progress(&socket, &own, &bounce);
    receiver.foreign(own);
  } catch (const BadMessageError&) {
  }
}

}  // namespace

void fuzz_frames(std::span<const std::byte> input) {
  input = input.first(std::min<std::size_t>(input.size(), 64 << 10));
  for (const Rank self : {Rank{0}, Rank{1}}) {
    const FuzzedJob job(self);
    hear(job, input);
    read_frames(job, input);
  }
  read_messages(input);
}

std::vector<std::byte> likely_frames(Random& random) {
  std::vector<std::byte> input;
  const auto put = [&](std::uint64_t value, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i) input.push_back(std::byte(value >> (8 * i) & 0xff));
  };
  const auto number = [&]() -> std::uint64_t {
    switch (random.below(6)) {
      case 0:
        return ~std::uint64_t{0} - random.below(4);
      case 1:
        return random.next();
      case 2:
        return std::uint64_t{1} << random.below(64);
      default:
        return random.below(8);
    }
  };
  for (std::uint32_t messages = 1 + random.below(12); messages > 0; --messages) {
    const std::size_t words = random.below(random.below(4) == 0 ? 140 : 14);
    const std::size_t rest = random.below(4) == 0 ? random.below(8) : 0;
    put(random.below(256), 1), put(random.below(3), 1);
    put(words * 4 + rest, 2);
    for (std::size_t i = 0; i < words; ++i) put(number(), 4);
    put(random.next(), rest);
  }
  return input;
}

}  // namespace hemiola::testing
