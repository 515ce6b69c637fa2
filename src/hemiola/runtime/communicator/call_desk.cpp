#include "hemiola/runtime/communicator/call_desk.hpp"

#include <algorithm>

#include "hemiola/base/error.hpp"
#include "hemiola/base/hash.hpp"
#include "hemiola/runtime/communicator/call_check.hpp"
#include "hemiola/runtime/operation/late_all_reduce.hpp"
#include "hemiola/runtime/operation/late_planned.hpp"
#include "hemiola/runtime/session/lost_member.hpp"

namespace hemiola {
namespace {

/// The array about whose dtype and number of elements all ranks must agree: what each brings, or, of a broadcast, gets. The root of a scatter
/// passes another number than the others, so for that only the block's size counts.
void describe(const Call& call, const CallShape& shape, Signature* signature) {
  const std::optional<ArrayView>& array = call.input ? call.input : call.output;
  if (!array) return;
  signature->dtype = array->dtype;
  if (call.kind == OperationKind::scatter)
    signature->set_shape(std::span(&shape.block_elements, 1));
  else
    signature->set_shape(array->shape);
}

/// Where nobody looks for zeros first.
Coding coding_of(SparseMode mode) {
  return mode == SparseMode::yes ? Coding::fastest : Coding::none;
}

/// Of the whole buffer, or of the larger of input and output.
std::int64_t bytes_of_whole(const CallKey& key, int rank_count) {
  const auto kind = static_cast<CollectiveKind>(key.kind);
  const bool has_blocks = kind != CollectiveKind::all_reduce && kind != CollectiveKind::broadcast &&
                          kind != CollectiveKind::reduce && kind != CollectiveKind::custom;
  return key.block_elements * static_cast<std::int64_t>(bytes_of(key.dtype)) * (has_blocks ? rank_count : 1);
}

/// What multiplies its input may do so in place where all of it is replaced, by a factor that is undone at the end.
bool may_run_in_place(const Call& call) {
  const bool replaces_all = call.kind == OperationKind::all_reduce || call.kind == OperationKind::reduce;
  return call.op == Op::average ? replaces_all : call.op != Op::premul_sum;
}

}  // namespace

CallDesk::CallDesk(Communicator* communicator, Chooser chooser)
    : communicator_(communicator),
      chooser_(std::move(chooser)),
      choice_(&communicator->members(), &communicator->control()) {
  communicator->when_outdated(
      [this](const PreparedCall& call, const Check& check) { return renew(call, check); });
}

PreparedCall CallDesk::prepare(const Call& call, const Check& interrupted) {
  const Check check = communicator_->until_closed(interrupted);
  PreparedCall prepared;
  prepared.signature.kind = call.kind;
  prepared.timeout_s = call.timeout_s;
  prepared.complaint = call.complaint;
  try {
    if (call.complaint.empty() && call.kind != OperationKind::barrier) fill(call, check, &prepared);
  } catch (const ArgumentError& e) {
    prepared.complaint = e.what();
  } catch (...) {
    communicator_->break_off(std::current_exception());
    throw;
  }
  if (!prepared.operation)
    prepared.operation =
        std::make_unique<PlainOperation>(prepared.signature, nullptr, Buffers{}, Arithmetic{});
  return prepared;
}

void CallDesk::fill(const Call& call, const Check& check, PreparedCall* to) {
  const CallShape shape = check_call(call, communicator_->rank(), communicator_->rank_count());
  describe(call, shape, &to->signature);
  to->signature.op = call.op;
  to->signature.root = static_cast<std::int32_t>(call.root);
  if (call.input) to->buffers.input = call.input->data, to->buffers.input_blocks = call.input->blocks;
  if (call.output) to->buffers.output = call.output->data, to->buffers.output_blocks = call.output->blocks;
  std::lock_guard lock(mutex_);
  to->signature.sparse = call.sparse;
  to->key = {call.kind,
             call.op,
             to->signature.dtype,
             shape.in_place && may_run_in_place(call),
             call.sparse,
             to->signature.root,
             shape.block_elements,
             to->buffers.in_blocks(),
             call.schedule.get(),
             interned(call.algorithm)};
  to->factor = call.factor;
  to->is_ours_to_choose = to->key.asked_for == nullptr && to->key.algorithm == nullptr;
  follow_conditions();
  make_operation(call.schedule, check, to);
}

/// The same call for other conditions.
PreparedCall CallDesk::renew(const PreparedCall& call, const Check& check) {
  PreparedCall renewed;
  renewed.signature = call.signature;
  renewed.key = call.key;
  renewed.buffers = call.buffers;
  renewed.factor = call.factor;
  renewed.timeout_s = call.timeout_s;
  try {
    std::lock_guard lock(mutex_);
    follow_conditions();
    make_operation(nullptr, check, &renewed);
  } catch (const ArgumentError& e) {
    renewed.complaint = e.what();
    renewed.operation = std::make_unique<PlainOperation>(renewed.signature, nullptr, Buffers{}, Arithmetic{});
  }
  return renewed;
}

void CallDesk::make_operation(const std::shared_ptr<const Schedule>& schedule, const Check& check,
                              PreparedCall* of) {
  of->key.late = expected_late(of->key);
  const Prepared& prepared = look_up(of->key, schedule, {timeout_of(of->timeout_s), check});
  of->planned_for = in_force_.version;
  Signature signature = of->signature;
  signature.schedule_digest = prepared.digest;
  Arithmetic arithmetic = prepared.arithmetic;
  arithmetic.factor = of->factor;
  PlainOperation plain(signature, prepared.program, of->buffers, arithmetic);
  // What multiplies its input does so once, in one program.
  const bool may_branch = of->key.block_elements > 0 && of->key.op != Op::premul_sum;
  // Fewer than three ranks have nobody to reduce with while they wait, and an empty buffer has nothing to reduce.
  const bool may_be_late = prepared.late && communicator_->rank_count() >= 3 && may_branch;
  std::unique_ptr<SparseOperation> sparse;
  if (prepared.sparse && may_branch) sparse = sparse_operation(prepared, *of, signature);
  if (may_be_late)
    of->operation = late_operation(prepared, of->key, std::move(plain), std::move(sparse));
  else if (sparse)
    of->operation = std::move(sparse);
  else
    of->operation = std::make_unique<PlainOperation>(std::move(plain));
  if (prepared.outlook && of->key.block_elements > 0) {
    const LateExpectation expectation{of->key.late, *prepared.outlook, &late_habits_,
                                      bytes_of_whole(of->key, communicator_->rank_count())};
    of->operation = std::make_unique<LatePlanned>(std::move(of->operation), expectation);
  }
}

const CallDesk::Prepared& CallDesk::look_up(const Key& key, const std::shared_ptr<const Schedule>& schedule,
                                            const Patient& patient) {
  if (latest_ != nullptr && latest_->first == key) [[likely]]
    return latest_->second;
  auto found = prepared_.find(key);
  if (found == prepared_.end()) {
    Prepared made = make(key, schedule, patient);
    if (prepared_.size() >= kMaxPrepared) prepared_.clear();
    found = prepared_.emplace(key, std::move(made)).first;
  }
  latest_ = &*found;
  return latest_->second;
}

CallDesk::Prepared CallDesk::make(const Key& key, const std::shared_ptr<const Schedule>& schedule,
                                  const Patient& patient) {
  const int ranks = communicator_->rank_count();
  Coding coding = coding_of(key.sparse);
  Prepared made;
  made.source = schedule;
  if (!made.source) {
    Question question{static_cast<CollectiveKind>(key.kind),
                      bytes_of_whole(key, ranks),
                      Rank{key.root},
                      key.algorithm == nullptr ? "" : *key.algorithm,
                      {},
                      key.sparse,
                      key.late};
    const Bytes recipe = agreed_recipe(&question, patient);
    Selection selection = followed(recipe, question);
    made.source = std::move(selection.source);
    made.late = std::move(selection.late);
    if (made.late) made.late->check();
    made.outlook = selection.outlook;
    if (selection.sparse) {
      selection.sparse->check();
      coding = Coding::none;
      if (selection.sparse->coded_below > 0 && ranks > 1)
        made.sparse = std::make_shared<const SparseRule>(*std::move(selection.sparse));
    }
  }
  check_schedule(made.source.collective(), key, ranks);
  made.digest = digest(made.source);
  const auto element_bytes = static_cast<int>(bytes_of(key.dtype));
  const bool average = key.op == Op::average && made.source.collective().is_reducing();
  made.program =
      communicator_->programs().get(made.source, {made.source.identity(), key.block_elements, element_bytes,
                                                  key.in_place, average, coding, key.in_blocks});
  const bool reduces = made.source.collective().is_reducing();
  made.arithmetic = {key.dtype, key.op == Op::premul_sum && !reduces ? Op::sum : key.op, ranks};
  return made;
}

Bytes CallDesk::recipe(CollectiveKind kind, std::int64_t byte_count, Rank root, const Check& interrupted) {
  const Check check = communicator_->until_closed(interrupted);
  std::lock_guard lock(mutex_);
  follow_conditions();
  Question question{kind, byte_count, root, "", {}, SparseMode::where_seen};  // as calls that say nothing
  if (kind == CollectiveKind::all_reduce && in_force_.slow.empty())
    question.late = late_habits_.expected(byte_count);
  return agreed_recipe(&question, {timeout_of(0), check});
}

/// Words that cannot be read are the fault of the rank that has sent them.
Selection CallDesk::followed(const Bytes& recipe, const Question& question) const try {
  return chooser_.follow(recipe, question);
} catch (const FormatError& e) {
  throw communicator_->members().named(BadMessageError(choice_.chooser(), e.what()));
}

/// Asks about the conditions in force, which may change while another rank chooses.
Bytes CallDesk::agreed_recipe(Question* question, const Patient& patient) {
  while (true) {
    question->slow = in_force_.slow;
    if (auto words = choice_.recipe(*question, in_force_.version, chooser_, patient.timeout_s, patient.check))
      return *std::move(words);
    follow_conditions();
  }
}

std::unique_ptr<Operation> CallDesk::late_operation(const Prepared& prepared, const Key& key,
                                                    PlainOperation plain,
                                                    std::unique_ptr<SparseOperation> sparse) {
  const LateRule& rule = *prepared.late;
  Hasher hasher;
  for (std::uint64_t word : {prepared.digest, static_cast<std::uint64_t>(rule.segments),
                             static_cast<std::uint64_t>(rule.chunks_per_owner),
                             static_cast<std::uint64_t>(rule.node_of_rank.size())})
    hasher.add(word);
  const LateKey late_key{prepared.program.get(), rule.segments, rule.chunks_per_owner,
                         !rule.node_of_rank.empty()};
  auto found = late_.find(late_key);
  if (found == late_.end()) {
    CompileOptions options = communicator_->compile_options();
    options.block_elements = key.block_elements;
    options.element_bytes = static_cast<int>(bytes_of(key.dtype));
    options.average = key.op == Op::average;
    options.keep_inputs = options.keep_inputs && key.in_place;
    options.coding = coding_of(key.sparse);
    if (late_.size() >= kMaxLate) late_.clear();
    auto programs =
        std::make_shared<LatePrograms>(communicator_->rank(), communicator_->rank_count(), rule, options);
    found = late_.emplace(late_key, Late{prepared.program, std::move(programs)}).first;
  }
  const std::int64_t bytes = bytes_of_whole(key, communicator_->rank_count());
  return std::make_unique<LateAllReduce>(std::move(plain), found->second.programs, hasher.finish().low | 1,
                                         LateQuestion{rule.forecast, &lateness_, bytes}, std::move(sparse));
}

/// Its programs but the dense one are looked up in its turn, where they are run for the first time.
std::unique_ptr<SparseOperation> CallDesk::sparse_operation(const Prepared& prepared,
                                                            const PreparedCall& call,
                                                            const Signature& signature) {
  using Way = SparseOperation::Way;
  const bool is_summed = prepared.source.collective().is_reducing();
  ProgramCache::Key coded{nullptr,
                          call.key.block_elements,
                          static_cast<int>(bytes_of(call.key.dtype)),
                          call.key.in_place,
                          is_summed && call.key.op == Op::average,
                          Coding::fastest,
                          call.key.in_blocks};
  const auto programs = [this, coded, rule = prepared.sparse, chosen = prepared.source,
                         dense = prepared.program](Way way) {
    if (way == Way::dense) return dense;
    const std::lock_guard lock(mutex_);
    if (way == Way::exchange)
      return communicator_->programs().get(
          rule->exchange, {rule->exchange.identity(), SparseOperation::kFigures, sizeof(std::int64_t)});
    const ProgramSource& source = way == Way::coded ? chosen : rule->without_fill_in;
    ProgramCache::Key key = coded;
    key.source = source.identity();
    return communicator_->programs().get(source, key);
  };
  return std::make_unique<SparseOperation>(
      SparseOperation::Call{signature, call.buffers, prepared.arithmetic, is_summed, &densities_},
      prepared.sparse, programs);
}

/// One copy of each name, so that keys compare pointers; null for none.
const std::string* CallDesk::interned(const std::string& algorithm) {
  return algorithm.empty() ? nullptr : &*algorithms_.insert(algorithm).first;
}

/// Only where the choice is ours, and ports are healthy and messages may carry everything, which plans for it take as given.
LateRank CallDesk::expected_late(const Key& key) const {
  const bool may_be_planned = key.kind == OperationKind::all_reduce && key.asked_for == nullptr &&
                              key.algorithm == nullptr && in_force_.slow.empty() &&
                              key.sparse != SparseMode::yes;
  return may_be_planned ? late_habits_.expected(bytes_of_whole(key, communicator_->rank_count()))
                        : LateRank{};
}

double CallDesk::timeout_of(double asked_for_s) const {
  return asked_for_s > 0 ? asked_for_s : communicator_->options().timeout_s;
}

std::uint64_t CallDesk::digest(const ProgramSource& source) {
  const auto found = digests_.find(source.identity());
  if (found != digests_.end()) return found->second.digest;
  if (digests_.size() >= kMaxDigests) digests_.clear();
  return digests_.emplace(source.identity(), Digest{source, source.digest()}).first->second.digest;
}

/// Choices are forgotten when conditions change; programs and plans are remembered elsewhere, so coming back is cheap.
void CallDesk::follow_conditions() {
  if (communicator_->ports_version() == in_force_.version) [[likely]]
    return;
  in_force_ = communicator_->ports_in_force();
  latest_ = nullptr;
  prepared_.clear();
}

}  // namespace hemiola
