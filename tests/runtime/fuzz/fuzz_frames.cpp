// SPDX-License-Identifier: Apache-2.0
#include "fuzz_frames.hpp"

#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "hemiola/base/error.hpp"
#include "hemiola/runtime/control/hosts/hosts_control.hpp"
#include "hemiola/runtime/control/local/local_choices.hpp"
#include "hemiola/runtime/messages/mailbox.hpp"
#include "hemiola/runtime/session/dispatcher.hpp"
#include "hemiola/runtime/session/hosts/cause_desk.hpp"
#include "hemiola/runtime/session/hosts/exchange_desk.hpp"
#include "hemiola/runtime/session/hosts/frames.hpp"
#include "hemiola/runtime/session/hosts/roster.hpp"
#include "hemiola/runtime/session/hosts/survivors_desk.hpp"
#include "hemiola/runtime/session/local/packet_socket.hpp"
#include "hemiola/runtime/session/session.hpp"
#include "hemiola/runtime/wire/shm/channel.hpp"
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
  std::vector<Rank> next_members(const std::vector<Rank>& members, std::string_view, const Wishes&,
                                 const Deadline&) override {
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
        causes(rank.get(), [] { return std::vector<LostRank>(); }),
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

std::pair<Descriptor, Descriptor> pair_with(std::span<const std::byte> input, int type = SOCK_STREAM) {
  int ends[2];
  if (::socketpair(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) std::abort();
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

/// Packets of any length from a rank of this host.
void read_packets(std::span<const std::byte> input) {
  while (!input.empty()) {
    const bool is_whole = (std::to_integer<int>(input.front()) & 3) != 0;
    Bytes bytes(input.begin(),
                input.begin() + static_cast<std::ptrdiff_t>(std::min(input.size(), sizeof(Packet))));
    input = input.subspan(bytes.size());
    if (is_whole) bytes.resize(sizeof(Packet), bytes.back());
    auto [there, here] = pair_with(bytes, SOCK_SEQPACKET);
    Packet packet;
    std::vector<Descriptor> descriptors;
    if (receive_packet(here, packet, descriptors, 0) != Delivery::arrived) continue;
    try {
      throw_refusal(packet);
    } catch (const Error& e) {
      if (std::strlen(e.what()) > 2 * sizeof packet.text) std::abort();
    }
  }
}

/// Shared memory into which a writer has put anything: its words, and lines of the ring.
void read_channel(std::span<const std::byte> input) {
  static std::vector<std::byte> ring(Ring::memory_bytes(kLeastRingBytes) + kLineBytes);
  static std::vector<std::byte> bounce(kBounceBytes + kLineBytes);
  static const std::vector<std::byte> board(kBoardBytes);
  const auto aligned = [](std::vector<std::byte>& memory) {
    const auto at = reinterpret_cast<std::uintptr_t>(memory.data());
    return memory.data() + ((at + kLineBytes - 1) / kLineBytes * kLineBytes - at);
  };
  std::copy_n(input.begin(), std::min(input.size(), kLeastRingBytes), aligned(ring));
  MemoryCard card{};  // of nobody: nothing can be fetched
  OperationTag own{.operation = 1};
  const auto control = std::make_unique<ChannelControl>();
  ChannelReader reader(*control, Ring(aligned(ring), kLeastRingBytes), Rank{1}, PeerMemory(card),
                       board.data(), aligned(bounce), &own);
  std::vector<std::byte> landed(64), big(kBigBytes + 100);
  std::size_t size = 0;
  reader.post({{landed.data(), nullptr, nullptr, &size}, landed.size()});
  reader.post({{big.data(), nullptr, nullptr, &size}, big.size()});
  reader.post({{landed.data()}, landed.size()});
  try {
    for (std::size_t i = 0; i + 4 <= std::min<std::size_t>(input.size(), 80); i += 4) {
      std::uint32_t word = 0;
      std::memcpy(&word, input.data() + i, sizeof word);
      control->sizes[i / 4 % kSizesKept].store(static_cast<std::uint16_t>(word >> 16));
      control->written.store(word & (i % 8 == 0 ? 0xff : 0xffff'ffff));
      reader.foreign();
      reader.progress();
    }
  } catch (const BadMessageError&) {
  }
}

/// Words of the memory in which the ranks of a host share choices.
void read_choices(std::span<const std::byte> input) {
  constexpr std::size_t kWords = (48 << 10) / sizeof(std::uint64_t);  // all that six choices take
  static std::byte* const memory =
      static_cast<std::byte*>(::mmap(nullptr, LocalChoices::region_bytes(), PROT_READ | PROT_WRITE,
                                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  const auto key = [](std::uint64_t i) { return ChoiceKey{0, {i, i / 2 * 4096}}; };  // two in each list
  LocalChoices choices({memory, LocalChoices::region_bytes()}, Rank{0}, kRanks);
  static const bool is_filled = [&] {
    for (std::uint64_t i = 0; i < 6; ++i)
      if (choices.claim(key(i))) choices.decide(key(i), Bytes(100 * i, std::byte{1}));
    return true;
  }();
  const std::vector<std::byte> sound(memory, memory + kWords * sizeof(std::uint64_t));
  for (; is_filled && input.size() >= 10; input = input.subspan(10)) {
    std::uint16_t place = 0;
    std::memcpy(&place, input.data(), sizeof place);
    std::size_t word = place % kWords;
    for (std::size_t i = 0; i < kWords && sound[word * 8] == std::byte{0}; ++i) word = (word + 1) % kWords;
    std::memcpy(memory + word * 8, input.data() + 2, (place & 0x8000) != 0 ? 8 : 2);
    for (std::uint64_t i = 0; i < 7; ++i) try {
        choices.look(key(i));
      } catch (const FormatError&) {
      }
    std::copy(sound.begin(), sound.end(), memory);
  }
}

/// Brings what it is given, whatever is asked of it, and sends nothing.
class ScriptedWire final : public Wire {
 public:
  explicit ScriptedWire(std::span<const std::byte> input) : input_(input) {}

  Request send(Rank, const std::byte*, std::size_t, Source) override { return Request{0}; }
  Request receive(Rank src, const Landing& landing, std::size_t capacity) override {
    posted_.push_back({src, landing, capacity, ++count_});
    return Request{count_};
  }
  bool progress() override {
    if (input_.size() < 3 || posted_.empty()) return false;
    const auto at = [&](std::size_t i) { return std::to_integer<std::size_t>(input_[i]); };
    const auto to = posted_.begin() + static_cast<std::ptrdiff_t>(at(0) % posted_.size());
    const std::size_t there = std::min(at(1) | at(2) << 8, input_.size() - 3);
    const std::size_t bytes = to->landing.received != nullptr ? there : to->capacity;
    check_message_size(to->src, to->landing, to->capacity, bytes);
    std::copy_n(input_.begin() + 3, std::min(there, bytes), to->landing.dst);
    if (to->landing.received != nullptr) *to->landing.received = bytes;
    done_.push_back(to->number);
    posted_.erase(to);
    input_ = input_.subspan(3 + there);
    return true;
  }
  bool done(Request request) const override {
    const auto number = static_cast<std::uint64_t>(request);
    return number == 0 || std::ranges::find(done_, number) != done_.end();
  }
  void wait(int) override {}
  void reset(std::uint64_t) override {}
  std::string carrier(Rank) const override { return "a script"; }
  Payload payload(Rank) const override { return {}; }
  const WireTraits& traits() const override { return traits_; }

 private:
  struct Posted {
    Rank src;
    Landing landing;
    std::size_t capacity;
    std::uint64_t number;
  };
  std::span<const std::byte> input_;
  std::vector<Posted> posted_;
  std::vector<std::uint64_t> done_;
  std::uint64_t count_ = 0;
  WireTraits traits_;
};

/// Messages with tags, of which some are waited for and some are sent.
void read_mail(std::span<const std::byte> input) {
  ScriptedWire wire(input);
  const Members members{std::make_shared<FuzzedRank>(Rank{0}), {Rank{0}, Rank{1}, Rank{2}}, Rank{0}};
  Mailbox mailbox(&wire, &members);
  std::vector<std::byte> memory(40'000);
  for (std::int64_t i = 0; i < 6; ++i) {
    auto request = std::make_shared<MessageRequest>();
    request->is_send = i >= 4;
    if (i % 2 == 0) request->peer = Rank{1};
    if (i >= 4) request->peer = Rank{2};
    request->tag = i % 3;
    request->element_count = i < 4 ? 8 * i : 40'000;
    request->data = memory.data();
    mailbox.post(request);
  }
  try {
    while (mailbox.progress()) {
    }
  } catch (const BadMessageError&) {
  }
  mailbox.end_all(nullptr);
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
  read_packets(input);
  read_channel(input);
  read_choices(input);
  read_mail(input);
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
