// The one interface between the engine and whatever moves bytes between two ranks: shared memory, UCX, MPI, a
// GPU stream, or a wire around another. The engine knows no wire; a wire knows no schedule.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>

#include "hemiola/base/index.hpp"

namespace hemiola {

/// dst[i] = a[i] (op) b[i] over `bytes` bytes of whole elements; dst may be a or b. No alignment beyond the
/// element's.
using Combine = void (*)(std::byte* dst, const std::byte* a, const std::byte* b, std::size_t bytes);

/// What happens to a message's bytes as they arrive: copied to `dst`, or combined with `operand` into `dst`.
struct Landing {
  std::byte* dst = nullptr;
  const std::byte* operand = nullptr;  ///< may equal dst
  Combine combine = nullptr;           ///< null: plain copy, `operand` unused
};

/// What a rank does with the bytes it sends. A wire may use it to choose how to move them; the result is the same.
enum class Source : std::uint8_t {
  settled,  ///< they stay as they are for long, or are in no cache
  working,  ///< the rank rewrites them in its cache again and again: taking them from there would disturb it
};

/// Names a posted send or receive of one wire until it is reported done.
enum class Request : std::uint64_t {};

/// Ordered, non-blocking messages between the ranks of one group; completion is polled. Between two ranks the
/// k-th send meets the k-th receive and both state the same size. Nothing here blocks or allocates per
/// message in steady state. Used by one thread at a time.
class Wire {
 public:
  virtual ~Wire() = default;

  virtual int rank_count() const = 0;

  /// Starts a message. `data` must stay valid and unchanged until the send is done. Any number may be posted.
  virtual Request send(Rank dst, const std::byte* data, std::size_t bytes,
                       Source source = Source::settled) = 0;
  /// Starts to receive one. `landing` must stay valid until it is done; `landing.dst` is written only by
  /// then.
  virtual Request receive(Rank src, const Landing& landing, std::size_t bytes) = 0;

  /// Moves what can move without waiting; true when something moved. All posts since the last call may be
  /// launched together here (a group on a GPU stream).
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

  /// The clock by which its messages take their time, in nanoseconds: the real one, unless a wire emulates another.
  virtual std::int64_t now_ns() const {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
  }

  /// The message size from which cutting finer no longer helps pipelining; the engine slices larger chunks.
  virtual std::size_t slice_bytes() const = 0;
};

}  // namespace hemiola
