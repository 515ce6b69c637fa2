// SPDX-License-Identifier: Apache-2.0
// The wire between ranks of one machine: a channel per ordered pair of ranks and a doorbell per rank, all in
// one region of shared memory. No system call unless somebody sleeps or a big message is fetched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "hemiola/runtime/wire/shm/bell.hpp"
#include "hemiola/runtime/wire/shm/channel.hpp"
#include "hemiola/runtime/wire/shm/doorbell.hpp"
#include "hemiola/runtime/wire/shm/rank_clocks.hpp"
#include "hemiola/runtime/wire/wire.hpp"

namespace hemiola {

struct ShmOptions {
  Waiting waiting = {};
  bool shares_core = false;  ///< ranks are more than cores: nothing that a rank does is done for nothing
  bool carries_signatures = false;  ///< as of WireTraits; the same on all ranks
};

class ShmWire final : public Wire, private Wakeable {
 public:
  /// What a wire between so many ranks needs. Only what is used costs memory: a pair that never talks touches
  /// nothing.
  static std::size_t region_bytes(int rank_count);

  /// `region` is zero-filled at first, shared by all ranks, and outlives the wire. Throws ArgumentError when
  /// it is too small or not aligned to a page, or when `self` is out of range.
  ShmWire(std::span<std::byte> region, Rank self, int rank_count, const ShmOptions& options = {});
  /// Keeps the region, too.
  ShmWire(std::shared_ptr<SharedRegion> region, Rank self, int rank_count, const ShmOptions& options);
  ShmWire(const ShmWire&) = delete;

  Request send(Rank dst, const std::byte* data, std::size_t bytes, Source source = Source::settled) override;
  Request receive(Rank src, const Landing& landing, std::size_t capacity) override;
  bool progress() override;
  bool done(Request request) const override;
  std::optional<ForeignMessage> mismatch() const override;
  std::vector<LostRank> lost() const override;
  void wait(int timeout_us) override;
  void reset(std::uint64_t epoch) override;
  std::string carrier(Rank) const override { return "shm"; }
  Payload payload(Rank peer) const override;
  const WireTraits& traits() const override { return traits_; }

 private:
  struct Peer {
    ChannelWriter out;
    ChannelReader in;
    Doorbell& doorbell;
    bool listed;  ///< whether it is in busy_
    std::uint64_t sent_bytes = 0;
    bool idle() const { return out.idle() && in.idle(); }
  };

  int wake_descriptor() override;
  bool arm(int* timeout_us) override;
  void disarm() override;
  Peer& busy(Rank rank);
  Notice* shared_notice(const std::byte* data, std::size_t bytes);
  bool progress(Peer& peer);

  std::shared_ptr<SharedRegion> memory_;           ///< null: somebody else keeps it
  std::unique_ptr<const RankClocks> rank_clocks_;  ///< null: each rank has a core
  WireTraits traits_;
  const bool shares_core_;
  /// Two ranks, with no third to wait for, copy into the ring at the same time, and each waits for the other's last
  /// byte.
  const bool is_pair_;
  Doorbell& own_doorbell_;
  std::unique_ptr<Bell> bell_;  ///< null: nobody sleeps on descriptors
  MemoryOwner own_memory_;
  std::unique_ptr<std::byte[]> bounce_;  ///< not written before it is needed: untouched memory costs nothing
  /// The latest send, as long as nothing has moved since: another of the same bytes can share its notice.
  struct Latest {
    const std::byte* data = nullptr;
    std::size_t bytes = 0;
    Rank dst = {};
    Notice* notice = nullptr;
  };
  Latest latest_;
  bool is_followed_ = false;  ///< all ranks are in this epoch, and nobody reads what the board was before
  Board board_;
  std::vector<Peer> peers_;
  std::vector<Rank> busy_;  ///< ranks with something posted, so that progress does not look at all
};

}  // namespace hemiola
