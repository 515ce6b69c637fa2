// SPDX-License-Identifier: Apache-2.0
// A control plane between threads of one process: what ranks say lies in maps under a lock.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "hemiola/runtime/control/control.hpp"
#include "hemiola/runtime/control/late_word.hpp"

namespace hemiola::testing {

/// What the ranks of one communicator have said.
struct Said {
  struct Publication {
    Signature signature;
    std::string complaint;
    Arrival arrival;
    bool calls = false;
  };
  using RankNumber = std::pair<Rank, std::uint64_t>;

  std::mutex mutex;  ///< guards everything
  std::map<RankNumber, Publication> published;
  std::map<Rank, std::uint64_t> completed;  ///< how many operations
  std::map<Rank, std::int64_t> beats;
  std::map<Rank, Pulse::GivenUp> given_up;
  std::map<std::uint64_t, std::uint64_t> late_words;  ///< by operation % 2
  std::map<RankNumber, std::vector<float>> figures;
  /// By epoch, of the last two, and digest.
  std::map<std::uint64_t, std::map<std::string, Choices::Answer>> choices;
};

/// One rank's view of it.
class InProcessPart {
 public:
  InProcessPart(std::shared_ptr<Said> said, const Members* members)
      : said_(std::move(said)),
        session_(members->session),
        self_(members->self),
        rank_count_(members->count()) {}

 protected:
  std::lock_guard<std::mutex> locked() const { return std::lock_guard(said_->mutex); }

  std::shared_ptr<Said> said_;
  std::shared_ptr<Session> session_;
  Rank self_;
  int rank_count_;
};

class InProcessRoll final : public Roll, InProcessPart {
 public:
  using InProcessPart::InProcessPart;
  void publish(std::uint64_t number, const Word& word) override {
    const auto lock = locked();
    said_->published[{self_, number}] = {word.signature, std::string(word.complaint), word.arrival,
                                         word.calls};
  }
  bool has_arrived(Rank rank, std::uint64_t number) const override {
    const auto lock = locked();
    return said_->published.contains({rank, number});
  }
  Entry entry(Rank rank, std::uint64_t number) const override {
    const auto lock = locked();
    const Said::Publication& found = said_->published.at({rank, number});
    return {found.signature, found.complaint, found.arrival};
  }
  bool is_called(std::uint64_t number) const override {
    const auto lock = locked();
    bool calls = false;
    for (Rank rank : indices<Rank>(rank_count_)) calls |= said_->published.at({rank, number}).calls;
    return calls;
  }
  void complete(std::uint64_t number) override {
    const auto lock = locked();
    said_->completed[self_] = number + 1;
  }
  bool has_completed(Rank rank, std::uint64_t number) const override {
    const auto lock = locked();
    return said_->completed[rank] > number;
  }
};

class InProcessPulse final : public Pulse, InProcessPart {
 public:
  using InProcessPart::InProcessPart;
  void beat() override {
    const auto lock = locked();
    said_->beats[self_] = session_->clock().now_ns;
  }
  std::int64_t last_sign_ns(Rank rank) const override {
    const auto lock = locked();
    return said_->beats[rank];
  }
  void give_up(Failure failure, const Cause& cause) override {
    const auto lock = locked();
    said_->given_up.try_emplace(self_, GivenUp{self_, failure, cause});
  }
  std::vector<GivenUp> given_up() const override {
    const auto lock = locked();
    std::vector<GivenUp> others;
    for (const auto& [rank, why] : said_->given_up)
      if (rank != self_) others.push_back(why);
    return others;
  }
  std::vector<LostRank> lost() const override { return {}; }
};

class InProcessLateRegister final : public LateRegister, InProcessPart {
 public:
  using InProcessPart::InProcessPart;
  std::uint64_t load(std::uint64_t operation, const Check&) override {
    const auto lock = locked();
    return said_->late_words[operation % 2];
  }
  std::uint64_t arrive(std::uint64_t operation, Rank self, int rank_count, const Check&) override {
    const auto lock = locked();
    std::uint64_t& word = said_->late_words[operation % 2];
    return word = LateWord(word, operation).with_arrival(self, rank_count).bits();
  }
  bool compare_exchange(std::uint64_t operation, std::uint64_t& expected, std::uint64_t desired,
                        const Check&) override {
    const auto lock = locked();
    std::uint64_t& word = said_->late_words[operation % 2];
    const std::uint64_t found = word;
    if (found == expected) word = desired;
    return std::exchange(expected, found) == found;
  }
  void await_arrivals(std::uint64_t operation, int count, const Check& check) override {
    while (LateWord(load(operation, check), operation).arrivals() < count) {
      std::this_thread::sleep_for(std::chrono::microseconds(100));
      check();
    }
  }
};

class InProcessFigures final : public Figures, InProcessPart {
 public:
  using InProcessPart::InProcessPart;
  void show(std::uint64_t number, std::span<const float> shares) override {
    const auto lock = locked();
    said_->figures[{self_, number}].assign(shares.begin(), shares.end());
  }
  bool read(std::uint64_t number, std::span<double> best_share, const Check&) const override {
    const auto lock = locked();
    std::ranges::fill(best_share, 0.0);
    for (const auto& [whose, shares] : said_->figures) {
      if (whose.second != number) continue;
      for (std::size_t of = 0; of < shares.size(); ++of)
        best_share[of] = std::max(best_share[of], static_cast<double>(shares[of]));
    }
    return std::ranges::any_of(best_share, [](double share) { return share > 0; });
  }
};

class InProcessChoices final : public Choices, InProcessPart {
 public:
  using InProcessPart::InProcessPart;
  bool claim(const ChoiceKey& key) override {
    const auto lock = locked();
    if (is_outdated(key)) return false;
    const bool is_mine = said_->choices[key.epoch]
                             .try_emplace(key.digest.hex(), Answer{Answer::State::claimed, self_, {}})
                             .second;
    std::erase_if(said_->choices, [&](const auto& one) { return one.first + 1 < key.epoch; });
    return is_mine;
  }
  void decide(const ChoiceKey& key, std::span<const std::byte> bytes) override {
    const auto lock = locked();
    if (is_outdated(key)) return;
    Answer& choice = said_->choices[key.epoch].at(key.digest.hex());
    choice.bytes.assign(bytes.begin(), bytes.end());
    choice.state = Answer::State::decided;
  }
  Answer look(const ChoiceKey& key) const override {
    const auto lock = locked();
    if (is_outdated(key)) return {Answer::State::outdated, {}, {}};
    const auto& of_epoch = said_->choices[key.epoch];
    const auto found = of_epoch.find(key.digest.hex());
    return found == of_epoch.end() ? Answer{} : found->second;
  }

 private:
  bool is_outdated(const ChoiceKey& key) const {
    return !said_->choices.empty() && said_->choices.rbegin()->first > key.epoch + 1;
  }
};

/// Ranks of one communicator find the same words by a number that the first of them draws.
class InProcessControl final : public ControlKind {
 public:
  std::string_view name() const override { return "in process"; }

  Control connect(const Members& members, const Deadline& deadline) const override {
    std::uint64_t number = 0;
    if (members.self == 0) number = next_++;
    const std::vector<Bytes> all = members.session->exchange(members.ranks, "in-process control",
                                                             std::as_bytes(std::span(&number, 1)), deadline);
    std::memcpy(&number, all.front().data(), sizeof number);
    const std::shared_ptr<Said> said = find(number);
    Control control;
    control.roll = std::make_unique<InProcessRoll>(said, &members);
    control.pulse = std::make_unique<InProcessPulse>(said, &members);
    control.late = std::make_unique<InProcessLateRegister>(said, &members);
    control.figures = std::make_unique<InProcessFigures>(said, &members);
    control.choices = std::make_unique<InProcessChoices>(said, &members);
    return control;
  }

 private:
  std::shared_ptr<Said> find(std::uint64_t number) const {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<Said>& said = all_[number];
    if (!said) said = std::make_shared<Said>();
    return said;
  }

  mutable std::atomic<std::uint64_t> next_ = 0;
  mutable std::mutex mutex_;
  mutable std::map<std::uint64_t, std::shared_ptr<Said>> all_;
};

}  // namespace hemiola::testing
