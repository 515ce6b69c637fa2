// SPDX-License-Identifier: Apache-2.0
#include "hemiola/bindings/python_communicator.hpp"

#include <algorithm>
#include <chrono>

#include "hemiola/base/deadline.hpp"
#include "hemiola/base/error.hpp"
#include "hemiola/bindings/bytes.hpp"
#include "hemiola/bindings/left_to_python.hpp"

namespace nb = nanobind;

namespace hemiola::bindings {
namespace {

const std::function<void()>& interrupted() {
  static const std::function<void()> raise = raise_signals;
  return raise;
}

}  // namespace

PyCommunicator::PyCommunicator(std::shared_ptr<Session> session, const std::vector<int>& members,
                               const CommunicatorOptions& options, Chooser chooser,
                               const PyCommunicator* parent) {
  const std::vector<Rank> ranks(members.begin(), members.end());
  Communicator::Expected expected{.ranks = ranks};
  const std::shared_ptr<CommunicatorCore> above = parent != nullptr ? parent->core() : nullptr;
  const auto check = [&] {
    raise_signals();
    if (above) above->communicator.expect(&expected);
  };
  CommunicatorCore* core = nullptr;
  {
    GilReleased release;
    core = new CommunicatorCore(std::move(session), ranks, options, std::move(chooser), check);
  }
  core_ = {core, &CommunicatorCore::destroy};
}

void PyCommunicator::close() {
  const std::shared_ptr<CommunicatorCore> core = std::move(core_);
  if (!core) return;
  if (!home_.is_here()) {
    new std::shared_ptr<CommunicatorCore>(core);  // its threads and its memory are in another process
    return;
  }
  core->communicator.close();
  const Deadline patience(kLongestLeave_s);
  while (others_are_inside() && !patience.passed()) {
    const GilReleased release;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void PyCommunicator::abort(const std::string& reason) {
  const std::shared_ptr<CommunicatorCore> core = core_;
  if (core && home_.is_here()) {
    {
      const GilReleased release;
      core->communicator.abort(reason);
    }
    aborted_ = core->communicator.ending_text();
  }
  close();
}

void PyCommunicator::call() {
  home_.check();
  if (const std::shared_ptr<CommunicatorCore> core = core_) core->communicator.call();
}

std::shared_ptr<CommunicatorCore> PyCommunicator::core() const {
  home_.check();
  if (!core_ && !aborted_.empty()) throw LostRankError(aborted_ + "; it can no longer be used");
  if (!core_) throw ArgumentError("this communicator is closed");
  return core_;
}

void PyCommunicator::run(const Call& call) {
  const Visit visit(this, Purpose::take_part);
  PreparedCall prepared;
  {
    const GilReleased release;
    prepared = visit->desk->prepare(call, interrupted());
    visit->communicator.run(prepared, interrupted());
  }
  latest_ = {latest_.count + 1, std::this_thread::get_id(), std::move(prepared)};
}

std::optional<nb::object> PyCommunicator::run_again(OperationKind kind,
                                                    const CallMemo::Arguments& arguments) {
  std::unique_ptr<CallMemo>& place = memos_[static_cast<std::size_t>(kind)];
  if (!place || !place->is_for(arguments)) return std::nullopt;
  const Visit visit(this, Purpose::take_part);
  if (!visit->communicator.is_current(place->prepared())) return std::nullopt;
  std::unique_ptr<CallMemo> memo = std::move(place);
  nb::object result = memo->result(arguments);
  {
    const GilThroughShortWaits gil;
    if (memo->moves_much()) KeptThroughShortWaits::end();
    visit->communicator.run(memo->prepared(), interrupted());
  }
  place = std::move(memo);
  return result;
}

void PyCommunicator::remember(OperationKind kind, const CallMemo::Arguments& arguments, nb::handle result) {
  Latest latest = std::exchange(latest_, {});
  if (latest.count != 1 || latest.thread != std::this_thread::get_id()) return;
  if (latest.prepared->operation.signature.kind != kind) return;
  memos_[static_cast<std::size_t>(kind)] = CallMemo::of(arguments, result, *std::move(latest.prepared));
}

std::shared_ptr<PendingOperation> PyCommunicator::start(const Call& call, std::shared_ptr<const void> owner) {
  end_what_is_left();  // here, so that no more is kept than running operations
  const Visit visit(this, Purpose::take_part);
  const GilReleased release;
  PreparedCall prepared = visit->desk->prepare(call, interrupted());
  prepared.keep_alive = std::move(owner);
  const std::string wrong = prepared.complaint;
  auto pending = visit->communicator.start(std::move(prepared));
  if (!wrong.empty()) throw ArgumentError(wrong);  // the others learn of it in the operation's turn
  return pending;
}

int PyCommunicator::run_message(const PyMessage& from) {
  const Visit visit(this, Purpose::take_part);
  const auto request = request_of(from, visit->communicator);
  const GilReleased release;
  visit->communicator.messages().run(request, visit->communicator.until_closed(interrupted()));
  return request->source;
}

PendingMessage PyCommunicator::start_message(const PyMessage& from) {
  end_what_is_left();
  const Visit visit(this, Purpose::take_part);
  const auto request = request_of(from, visit->communicator);
  const GilReleased release;
  visit->communicator.messages().post(request);
  return {std::shared_ptr<Communicator>(core_, &core_->communicator), request};
}

nb::bytes PyCommunicator::recipe(std::string_view kind, std::int64_t byte_count, int root) {
  const CollectiveKind collective = kind_from_name(kind);
  const Visit visit(this, Purpose::take_part);
  Bytes words;
  {
    const GilReleased release;
    words = visit->desk->recipe(collective, byte_count, Rank{root}, interrupted());
  }
  return to_python(words);
}

/// An operation in the background may need the GIL to get done, so a thread that waits for its end releases it.
template <typename Ask>
auto PyCommunicator::between_operations(Ask ask) {
  const Visit visit(this, Purpose::look);
  const GilReleased release;
  return ask(visit->communicator);
}

static nb::bytes bytes_of(const std::vector<Arrival>& rows) {
  static_assert(sizeof(Arrival) == 2 * sizeof(std::int64_t));
  return nb::bytes(rows.data(), rows.size() * sizeof(Arrival));
}

nb::bytes PyCommunicator::arrivals() {
  return bytes_of(between_operations([](Communicator& c) { return c.arrivals(interrupted()); }));
}

nb::bytes PyCommunicator::own_arrivals() {
  return bytes_of(between_operations([](Communicator& c) { return c.own_arrivals(interrupted()); }));
}

void PyCommunicator::forget_arrivals() {
  between_operations([](Communicator& c) { c.forget_arrivals(interrupted()); });
}

std::vector<std::pair<std::string, std::int64_t>> PyCommunicator::operations() {
  std::vector<std::pair<std::string, std::int64_t>> told;
  for (const OperationSize& size :
       between_operations([](Communicator& c) { return c.operations(interrupted()); }))
    told.emplace_back(name_of(size.kind), size.bytes);
  return told;
}

std::vector<std::pair<float, float>> PyCommunicator::pair_shares() {
  std::vector<std::pair<float, float>> told;
  for (const auto& [to, from] :
       between_operations([](Communicator& c) { return c.pair_shares(interrupted()); }))
    told.emplace_back(to, from);
  return told;
}

std::vector<std::pair<std::uint64_t, std::uint64_t>> PyCommunicator::payloads() {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> told;
  for (const auto& [sent, received] :
       between_operations([](Communicator& c) { return c.payloads(interrupted()); }))
    told.emplace_back(sent, received);
  return told;
}

nb::bytes PyCommunicator::recorded_transfers() const {
  const std::vector<RecordedTransfer> found = core()->communicator.recorded_transfers();
  return nb::bytes(reinterpret_cast<const char*>(found.data()), found.size() * sizeof(RecordedTransfer));
}

std::pair<PyCommunicator::CountByFormat, PyCommunicator::CountByFormat> PyCommunicator::sent_forms() {
  const SentForms sent = between_operations([](Communicator& c) { return c.sent_forms(interrupted()); });
  const auto named = [](const SentForms::ByFormat& counts) {
    CountByFormat told;
    for (std::size_t format = 0; format < codec::kFormatNames.size(); ++format)
      told.emplace(codec::kFormatNames[format], counts[format]);
    return told;
  };
  return {named(sent.added), named(sent.copied)};
}

Communicator::Health PyCommunicator::health() {
  return between_operations([](Communicator& c) { return c.health(interrupted()); });
}

bool PyCommunicator::expects_late_rank(std::int64_t bytes) {
  return between_operations([&](Communicator& c) { return c.expects_late_rank(bytes, interrupted()); });
}

std::vector<std::string> PyCommunicator::carriers() const {
  const Communicator& communicator = core()->communicator;
  std::vector<std::string> told;
  for (Rank peer : indices<Rank>(communicator.rank_count()))
    told.push_back(peer == communicator.rank() ? "" : communicator.carrier(peer));
  return told;
}

bool PyCommunicator::watch_ports(const std::vector<int>& port, const std::vector<double>& healthy) {
  const Visit visit(this, Purpose::take_part);
  RankPorts ports;
  for (int rank : port) ports.port.emplace_back(rank);
  for (double bandwidth : healthy) ports.healthy.push_back(1e-9 * bandwidth);
  const GilReleased release;
  return visit->communicator.watch_ports(std::move(ports), interrupted());
}

void PyCommunicator::adopt_ports(const std::map<Rank, double>& measured) {
  const Visit visit(this, Purpose::take_part);
  const GilReleased release;
  visit->communicator.adopt_ports(measured, interrupted());
}

PyCommunicator::Visit::Visit(PyCommunicator* host, Purpose purpose) : core_(host->core()), host_(host) {
  const auto self = std::this_thread::get_id();
  if (purpose == Purpose::take_part && std::ranges::find(host->inside_, self) != host->inside_.end())
    throw ArgumentError(
        "this thread is in a call of this communicator already, which a signal handler has interrupted; a "
        "collective from in there could not be told its place among the calls of the other ranks. Take a "
        "note in the handler, and call when that call has returned");
  host->inside_.push_back(self);
}

PyCommunicator::Visit::~Visit() {
  host_->inside_.erase(std::ranges::find(host_->inside_, std::this_thread::get_id()));
}

bool PyCommunicator::others_are_inside() const {
  return std::ranges::any_of(inside_,
                             [](std::thread::id thread) { return thread != std::this_thread::get_id(); });
}

bool wait_hearing_signals(PendingOperation& pending, double timeout_s) {
  constexpr double kGlance_s = 0.05;
  for (double left = timeout_s; left > 0; left -= kGlance_s) {
    if (pending.wait_for(std::min(left, kGlance_s))) return true;
    raise_signals();
  }
  return pending.wait_for(0);
}

}  // namespace hemiola::bindings
