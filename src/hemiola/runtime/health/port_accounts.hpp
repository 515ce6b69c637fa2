// SPDX-License-Identifier: Apache-2.0
// The bytes that have come to the ranks behind one port, from every other port and by their own, in stretches of time:
// kept by all of these ranks together where they share memory.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

namespace hemiola {

/// Ranks that share a port have now more, now less of it; its bandwidth shows only in their sum. The maker of the
/// accounts numbers the ports, the same on all ranks that keep them together. These count operations alike.
class PortAccounts {
 public:
  /// A stretch is so long, and so long that a healthy port would carry so many bytes.
  static constexpr double kLeast_ns = 20e6;
  static constexpr double kLeastBytes = 2 << 20;
  /// Of an operation's stretches the latest count, so many.
  static constexpr std::size_t kKept = 64;
  /// Of each kLeftOut stretches the best does not count, and of kLeastLeftOut the best.
  static constexpr std::size_t kLeftOut = 8, kLeastLeftOut = 4;

  static std::size_t memory_bytes(std::size_t port_count);
  /// For a rank with a port of its own.
  static std::shared_ptr<std::byte> own_memory(std::size_t port_count);

  /// `healthy`: by port, its bandwidth in bytes per nanosecond. `own`: the port of the ranks that keep these accounts.
  /// `memory`: memory_bytes(), zeros at first.
  PortAccounts(std::vector<double> healthy, std::size_t own, std::shared_ptr<std::byte> memory);

  struct Arrival {
    static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::min();

    std::size_t port = 0;  ///< from which it has come
    double bytes = 0;
    std::int64_t now_ns = 0;
    /// When that port began to send it: time in which none of its ranks has anything to send does not count. now_ns and
    /// no time: it is not known.
    std::int64_t since_ns = kNever;
    std::int64_t emptied_ns = kNever;  ///< it has come since then
  };
  /// Where another process has the accounts just now, or has died with them, it is kept for the next time.
  void note(const Arrival& arrival);

  /// Of the operation under way, the best share of its healthy speed that our port has reached in the bytes that came
  /// by it, and that each port has reached in the bytes that came from it; 0 if it is not known.
  struct Figures {
    float in = 0;
    std::vector<float> from;
  };
  Figures figures();
  /// Whether a stretch of this operation has ended.
  bool has_measured() const { return has_measured_; }

  /// Begins the next operation. Stretches of bytes from others go on.
  void next_operation();

 private:
  struct Stretch {
    double bytes;
    double taken_ns;
    std::int64_t until_ns;  ///< time is counted until then; of the own port since when
  };
  struct Shares {
    std::uint64_t count;
    std::array<float, kKept> latest;
  };
  /// Of one operation.
  struct Page {
    std::uint64_t number;
    Stretch in_now;
    Shares in;
  };
  struct Head {
    std::atomic<std::uint32_t> is_held;
  };
  /// Ranks that wait for each other are at most one operation apart; those that do not come to say nothing.
  static constexpr std::size_t kPages = 4;
  static constexpr std::size_t kMostPending = 4096;
  static constexpr int kTries = 1000;

  Page& page() { return pages_[number_ % kPages]; }
  Shares& from(std::size_t port) { return from_[(number_ % kPages) * healthy_.size() + port]; }
  bool is_ours();
  void settle();
  void settle(const Arrival& arrival);
  bool conclude(Stretch* stretch, std::size_t port, Shares* shares);
  static float figure_of(const Shares& shares);
  bool hold() { return head_->is_held.exchange(1, std::memory_order_acquire) == 0; }
  void let_go() { head_->is_held.store(0, std::memory_order_release); }

  std::vector<double> healthy_;
  std::size_t own_;
  std::shared_ptr<std::byte> memory_;
  Head* head_;
  std::span<Page> pages_;
  std::span<Stretch> from_now_;  ///< by port
  std::span<Shares> from_;       ///< by page and port
  std::vector<Arrival> pending_;
  std::uint64_t number_ = 1;
  bool has_measured_ = false;
};

}  // namespace hemiola
