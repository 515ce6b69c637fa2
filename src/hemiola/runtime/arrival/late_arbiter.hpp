// The word by which ranks agree on who is late, kept where no shared memory reaches: a thread of one rank's process
// that answers messages, whatever else the process is busy with, and what the other ranks use in place of the word.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "hemiola/base/index.hpp"
#include "hemiola/runtime/rendezvous/deadline.hpp"
#include "hemiola/runtime/rendezvous/descriptor.hpp"

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
  std::uint64_t operation = 0;  ///< of a greeting: the token
  std::uint64_t expected = 0;   ///< of await_arrivals: how many; the answer comes once so many are there
  std::uint64_t desired = 0;
};

/// What the word was. The arbiter's last message, unasked, is a farewell that says what both words are: whoever
/// ends it has completed an operation to which all have come, so nothing changes them any more.
struct LateAnswer {
  enum class Kind : std::uint64_t { word, farewell };
  Kind kind = Kind::word;
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
  bool answer(Guest* guest, LateAnswer::Kind kind);
  bool is_due(const LateRequest& request) const;

  std::size_t most_guests_;
  LateAddress address_;
  Descriptor listener_, closing_;
  std::array<std::uint64_t, 2> words_{};
  std::vector<Guest> guests_;
  std::thread thread_;
};

/// One rank's connection to the arbiter.
class LateClient {
 public:
  /// Tries until the deadline has passed; then throws TimeoutError.
  LateClient(const std::string& host, const LateAddress& address, const Deadline& deadline);

  /// In place of std::atomic, for one operation. `check` is called now and then while an answer takes time, and
  /// throws to abort; the client cannot be used after that. Throws LostRankError when the arbiter is gone without a
  /// farewell.
  class Cell {
   public:
    Cell(LateClient* client, std::uint64_t operation, std::function<void()> check)
        : client_(client), operation_(operation), check_(std::move(check)) {}

    std::uint64_t load() { return ask(LateRequest::Kind::exchange, 0, 0); }
    bool compare_exchange_strong(std::uint64_t& expected, std::uint64_t desired);
    /// Blocks until so many ranks have come to the operation.
    void await_arrivals(int count) {
      ask(LateRequest::Kind::await_arrivals, static_cast<std::uint64_t>(count), 0);
    }

   private:
    std::uint64_t ask(LateRequest::Kind kind, std::uint64_t expected, std::uint64_t desired);

    LateClient* client_;
    std::uint64_t operation_;
    std::function<void()> check_;
  };

 private:
  LateAnswer receive(const std::function<void()>& check);

  Descriptor socket_;
  bool has_farewell_ = false;
  LateAnswer farewell_;
};

}  // namespace hemiola
