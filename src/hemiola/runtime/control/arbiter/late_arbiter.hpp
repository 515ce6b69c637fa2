// The late register where no shared memory reaches: a thread of one rank's process that answers messages, whatever else
// the process is busy with, and what the ranks use to ask it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "hemiola/base/deadline.hpp"
#include "hemiola/base/descriptor.hpp"
#include "hemiola/base/index.hpp"
#include "hemiola/runtime/control/late_register.hpp"

namespace hemiola {

/// Where an arbiter is found. `token` keeps strangers out that happen to try the port.
struct LateAddress {
  std::uint64_t token = 0;
  std::uint16_t port = 0;
};

/// What a rank asks for. Both kinds are one access to one word, at the moment at which the arbiter comes to it, so
/// ranks that ask an arbiter interleave like ranks that share memory.
struct LateRequest {
  enum class Kind : std::uint64_t { greeting, exchange, await_arrivals };
  Kind kind = Kind::greeting;
  std::uint64_t number = 0;     ///< counts the rank's requests; a later one replaces one that still waits
  std::uint64_t operation = 0;  ///< of a greeting: the token
  std::uint64_t expected = 0;   ///< of await_arrivals: how many; the answer comes once so many are there
  std::uint64_t desired = 0;
};

/// What the word was. The arbiter's last message, unasked, is a farewell that says what both words are: whoever
/// ends it has completed an operation to which all have come, so nothing changes them any more.
struct LateAnswer {
  enum class Kind : std::uint64_t { word, farewell };
  Kind kind = Kind::word;
  std::uint64_t number = 0;              ///< of the request that this answers
  std::array<std::uint64_t, 2> words{};  ///< by operation % 2
};

class LateArbiter {
 public:
  /// Listens on a numeric IPv4 address, any free port. Throws LostRankError where the system refuses.
  LateArbiter(const std::string& host, int rank_count);
  /// Says farewell.
  ~LateArbiter();
  LateArbiter(const LateArbiter&) = delete;

  LateAddress address() const { return address_; }

 private:
  struct Guest {
    Descriptor socket;
    bool is_known = false;
    std::array<std::byte, sizeof(LateRequest)> bytes{};
    std::size_t filled = 0;
    bool waits = false;
    LateRequest waits_for;
  };

  void serve();
  void admit();
  bool read(Guest* guest);
  bool handle(Guest* guest);
  bool answer(const Guest& guest, LateAnswer::Kind kind, std::uint64_t number);
  bool is_due(const LateRequest& request) const;

  std::size_t most_guests_;
  LateAddress address_;
  Descriptor listener_, closing_;
  std::array<std::uint64_t, 2> words_{};
  std::vector<Guest> guests_;
  std::thread thread_;
};

/// One rank's connection to the arbiter.
class LateClient final : public LateRegister {
 public:
  /// Tries until the deadline has passed; then throws TimeoutError.
  LateClient(const std::string& host, const LateAddress& address, const Deadline& deadline);

  /// These throw LostRankError when the arbiter is gone without a farewell.
  std::uint64_t load(std::uint64_t operation, const Check& check) override;
  bool compare_exchange(std::uint64_t operation, std::uint64_t& expected, std::uint64_t desired,
                        const Check& check) override;
  void await_arrivals(std::uint64_t operation, int count, const Check& check) override;

 private:
  std::uint64_t ask(LateRequest::Kind kind, std::uint64_t operation, std::uint64_t expected,
                    std::uint64_t desired, const Check& check);
  LateAnswer receive(const Check& check);
  LateAnswer receive_next(const Check& check);

  Descriptor socket_;
  std::uint64_t asked_ = 0;
  std::array<std::byte, sizeof(LateAnswer)> bytes_{};
  std::size_t filled_ = 0;
  bool has_farewell_ = false;
  LateAnswer farewell_;
};

}  // namespace hemiola
