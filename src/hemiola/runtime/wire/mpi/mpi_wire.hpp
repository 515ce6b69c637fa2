// SPDX-License-Identifier: Apache-2.0
// The wire between ranks that an MPI has started: its point-to-point messages, the way to networks that nothing else
// here speaks (Slingshot). MPI has no descriptor to sleep on, so a waiting rank looks again after ever longer naps.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "hemiola/runtime/wire/mpi/mpi_receiver.hpp"
#include "hemiola/runtime/wire/mpi/mpi_sender.hpp"
#include "hemiola/runtime/wire/mpi/mpi_world.hpp"
#include "hemiola/runtime/wire/wire.hpp"

namespace hemiola {

/// The tags of the ways to a peer and back.
struct MpiPeer {
  int mpi_rank = 0;
  int send_tag = 0, receive_tag = 0;
};

class MpiWire final : public Wire {
 public:
  /// `peers` by their numbers in the group, this rank among them. `world` has been entered.
  MpiWire(std::shared_ptr<MpiWorld> world, Rank self, const std::vector<MpiPeer>& peers);
  ~MpiWire() override;

  Request send(Rank dst, const std::byte* data, std::size_t bytes, Source source) override;
  Request receive(Rank src, const Landing& landing, std::size_t capacity) override;
  bool progress() override;
  bool done(Request request) const override;
  std::optional<ForeignMessage> mismatch() const override;
  std::vector<LostRank> lost() const override;
  void wait(int timeout_us) override;
  void reset(std::uint64_t epoch) override;
  std::string carrier(Rank) const override { return "mpi"; }
  Payload payload(Rank peer) const override;
  const WireTraits& traits() const override { return traits_; }

 private:
  struct Line {
    Line(MpiLibrary* library, Rank number, const MpiPeer& to)
        : peer(to),
          out(library, to.mpi_rank, to.send_tag),
          in(library, number, to.mpi_rank, to.receive_tag) {}
    MpiPeer peer;
    MpiSender out;
    MpiReceiver in;
    std::uint64_t sent_bytes = 0;
    std::string lost;  ///< why nothing goes there any more
    bool is_listed = false;
    bool has_posts() const { return out.has_posts() || !in.idle(); }
    bool has_work() const { return !out.idle() || !in.idle() || in.is_taking(); }
  };

  Line& line_to(Rank peer);
  void list(std::size_t line);
  bool go_on_with_listed();
  bool go_on(Line* line);
  bool look_for_others();

  std::shared_ptr<MpiWorld> world_;
  Rank self_;
  WireTraits traits_;
  std::uint32_t epoch_ = 0;
  std::shared_ptr<MpiFramePool> pool_;
  std::vector<std::unique_ptr<Line>> lines_;  ///< by peer
  std::vector<std::size_t> listed_;           ///< those with something to do
  std::vector<int> tags_;                     ///< by which peers come, each once
  unsigned idle_calls_ = 0;                   ///< of progress
  bool is_sound_ = true;                      ///< something has moved since the last reset
};

}  // namespace hemiola
