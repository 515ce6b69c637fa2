#include "hemiola/runtime/control/arbiter/arbiter_control.hpp"

#include <cstring>

#include "hemiola/runtime/control/arbiter/late_arbiter.hpp"

namespace hemiola {
namespace {

/// All ranks are on this machine so far, so messages never leave it.
constexpr const char* kHost = "127.0.0.1";

/// A client, and on one rank the arbiter, which goes after its own client.
class ArbiterRegister final : public LateRegister {
 public:
  ArbiterRegister(const Members& members, const Deadline& deadline) {
    LateAddress address;
    if (members.self == 0) {
      arbiter_ = std::make_unique<LateArbiter>(kHost, members.count());
      address = arbiter_->address();
    }
    const std::vector<Bytes> cards = members.session->exchange(
        members.ranks, "arbiter of late ranks", std::as_bytes(std::span(&address, 1)), deadline);
    std::memcpy(&address, cards.front().data(), sizeof address);
    client_ = std::make_unique<LateClient>(kHost, address, deadline);
  }

  std::uint64_t load(std::uint64_t operation, const Check& check) override {
    return client_->load(operation, check);
  }
  bool compare_exchange(std::uint64_t operation, std::uint64_t& expected, std::uint64_t desired,
                        const Check& check) override {
    return client_->compare_exchange(operation, expected, desired, check);
  }
  void await_arrivals(std::uint64_t operation, int count, const Check& check) override {
    client_->await_arrivals(operation, count, check);
  }

 private:
  std::unique_ptr<LateArbiter> arbiter_;
  std::unique_ptr<LateClient> client_;
};

}  // namespace

Control ArbiterControl::connect(const Members& members, const Deadline& deadline) const {
  Control control = inner_->connect(members, deadline);
  control.late = std::make_unique<ArbiterRegister>(members, deadline);
  return control;
}

}  // namespace hemiola
