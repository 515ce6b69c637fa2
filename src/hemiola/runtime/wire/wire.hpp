// SPDX-License-Identifier: Apache-2.0
// The one interface between the engine and the mover of bytes between two ranks: shared memory, UCX, MPI, a GPU stream,
// or a wire around another. The engine knows no wire; a wire knows no schedule.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <optional>
#include <string>
#include <vector>

#include "hemiola/base/index.hpp"
#include "hemiola/runtime/session/session.hpp"
#include "hemiola/runtime/wire/arrival_listener.hpp"
#include "hemiola/runtime/wire/emulated_clock.hpp"
#include "hemiola/runtime/wire/wakeable.hpp"
#include "hemiola/runtime/wire/wire_traits.hpp"

namespace hemiola {

/// dst[i] = a[i] (op) b[i] over `bytes` bytes of whole elements; dst may be a or b. No alignment beyond the
/// element's.
using Combine = void (*)(std::byte* dst, const std::byte* a, const std::byte* b, std::size_t bytes);

/// The use of a message's bytes as they arrive: copied to `dst`, or combined with `operand` into `dst`.
struct Landing {
  std::byte* dst = nullptr;
  const std::byte* operand = nullptr;  ///< may equal dst
  Combine combine = nullptr;           ///< null: plain copy, `operand` unused
  /// Where the message's size goes, to be read once it has landed. Null: it must be the capacity.
  std::size_t* received = nullptr;
};

/// A rank's later use of the bytes it sends. A wire may use it to choose how to move them; the result is the same.
enum class Source : std::uint8_t {
  settled,  ///< they stay as they are for long, or are in no cache
  working,  ///< the rank rewrites them in its cache again and again: taking them from there would disturb it
  idle,  ///< they stay, and the rank does nothing else: its peer, who takes them, is all that is waited for
};

/// A bit that an operation's messages spread (see Wire::spread).
enum class Hint : std::uint8_t {
  density = 1,  ///< data have become dense, or sparse, so that another program would suit them
  call = 2,     ///< as Roll::Word's: all are to agree on the next members
};
inline constexpr std::uint8_t kAllHints = 3;

/// A message's mark of its operation, on wires that carry it.
struct OperationTag {
  std::uint32_t operation = 0;  ///< its number, modulo 2^32
  std::uint16_t version = 0;    ///< of the conditions of choosing schedules
  std::uint64_t digest = 0;     ///< of the signature
  std::uint8_t hints = 0;       ///< bits of Hint, which do not tell operations apart
  friend bool operator==(const OperationTag& a, const OperationTag& b) {
    return a.operation == b.operation && a.version == b.version && a.digest == b.digest;
  }
};

/// A message that may not land where this rank is (see Wire::mismatch).
struct ForeignMessage {
  Rank peer;         ///< that has sent it
  OperationTag tag;  ///< which it bears
};

/// Bytes of messages between this rank and a peer, without a wire's own bytes: posted to it; come from it, or begun to
/// come.
struct Payload {
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  friend bool operator==(const Payload&, const Payload&) = default;
};

/// Names a posted send or receive of one wire until it is reported done.
enum class Request : std::uint64_t {};

/// Ordered, non-blocking messages between the ranks of one group; completion is polled. Between two ranks the
/// k-th send meets the k-th receive. A receive states a capacity, the message brings its size. Nothing here blocks or
/// allocates per message in steady state. Used by one thread at a time.
class Wire {
 public:
  virtual ~Wire() = default;

  /// Starts a message. `data` must stay valid and unchanged until the send is done. Any number may be posted.
  virtual Request send(Rank dst, const std::byte* data, std::size_t bytes,
                       Source source = Source::settled) = 0;
  /// Starts to receive one. `landing` must stay valid until it is done; `landing.dst` is written only by
  /// then.
  virtual Request receive(Rank src, const Landing& landing, std::size_t capacity) = 0;

  /// Moves all bytes that can move without waiting; true when some moved. All posts since the last call may be launched
  /// together here (a group on a GPU stream). Throws BadMessageError, at every call until it is reset, once a message
  /// has come that does not fit where it is to land.
  virtual bool progress() = 0;
  /// Whether a request has finished: a send's data may be reused, a receive's bytes have landed. Stays true
  /// afterwards.
  virtual bool done(Request request) const = 0;
  /// Sleeps until a message may have moved or `timeout_us` has passed; may return early. Called after
  /// spinning and yielding have not helped.
  virtual void wait(int timeout_us) = 0;
  /// Forgets all that is posted and everything in flight, after a failure. Every surviving rank calls it
  /// before the next message; `epoch` is the same on all of them and greater than before.
  virtual void reset(std::uint64_t epoch) = 0;

  /// The peers (numbered as in the group) that are known to be gone, and how the wire knows. Messages to and from them
  /// may never be done; nothing else is told of it. This rank itself is among them where it can reach nobody.
  virtual std::vector<LostRank> lost() const { return {}; }
  /// A message that has come for an operation that this rank has left, for the present one with another version or
  /// digest, or for a later one where this rank waits for one of the present; nothing of it has landed. Ranks that
  /// disagree send such messages, so the wire draws no conclusion: the caller judges.
  virtual std::optional<ForeignMessage> mismatch() const { return std::nullopt; }

  /// The carrier of messages between this rank and that one, in a word or a few: "shm", "tcp".
  virtual std::string carrier(Rank peer) const = 0;
  /// The bytes to and from a peer since the wire was made.
  virtual Payload payload(Rank peer) const = 0;
  /// How it wants to be used. The same at any time.
  virtual const WireTraits& traits() const = 0;

  /// From now on `listener`, which lives as long as the wire is used, is told of all bytes as they come. This rank's port
  /// carries so much, in bytes per nanosecond: the queues below the wire hold about as much as keeps such a port busy, since
  /// longer ones let messages leave in another order than they were posted in. False where the wire does not learn when
  /// bytes come.
  virtual bool watch_port(ArrivalListener* /*listener*/, double /*port_bytes_per_ns*/) { return false; }

  /// Later posts are of this operation. On a wire that carries signatures a message lands only while this rank is in
  /// the message's operation, with the same version and digest; it waits while its operation is a later one.
  void begin_operation(const OperationTag& tag) { tag_ = bears_hints_alone_ ? OperationTag{} : tag; }
  /// The present operation's messages spread the hint where they carry hints: later posts bear it, and a rank that takes
  /// such a message has it, too. So at the end of a collective in which everybody depends on everybody all ranks have it,
  /// or none has.
  void spread(Hint hint) {
    if (traits().carries_hints) tag_.hints |= static_cast<std::uint8_t>(hint);
  }
  bool has(Hint hint) const { return (tag_.hints & static_cast<std::uint8_t>(hint)) != 0; }

  /// The clock of a wire that emulates a network; null elsewhere.
  EmulatedClock* clock() const { return clock_; }
  /// For a rank that waits for several wires at once; null where a wire cannot wake anybody.
  Wakeable* wakeable() const { return wakeable_; }
  /// The clock by which its messages take their time, in nanoseconds: the real one, unless it emulates another.
  std::int64_t now_ns() const { return clock_ != nullptr ? clock_->now_ns() : monotonic_ns(); }

 protected:
  /// For a wire around others: messages of `inner` bear this wire's tag.
  void lend_tag(Wire& inner) const {
    inner.begin_operation(tag_);
    inner.tag_.hints = tag_.hints;
  }
  /// The same for the length of a call of `inner`, whose messages bring hints to this wire.
  template <typename Call>
  auto lending_tag(Wire& inner, const Call& call) {
    lend_tag(inner);
    struct Return {
      Wire* outer;
      const Wire* inner;
      ~Return() { outer->tag_.hints |= inner->tag_.hints; }
    };
    const Return back{this, &inner};
    return call();
  }

  OperationTag tag_ = {};           ///< the tag of sent messages, with the hints of those that have come
  bool bears_hints_alone_ = false;  ///< messages say nothing else of their operation
  EmulatedClock* clock_ = nullptr;
  Wakeable* wakeable_ = nullptr;

 private:
  static std::int64_t monotonic_ns() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
  }
};

/// For wires: throws BadMessageError when a message of `bytes` from `peer` does not fit its posted receive.
void check_message_size(Rank peer, const Landing& landing, std::size_t capacity, std::size_t bytes);

}  // namespace hemiola
