// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/communicator/call_desk.hpp"

#include <algorithm>
#include <bit>

#include "hemiola/base/error.hpp"
#include "hemiola/base/hash.hpp"
#include "hemiola/runtime/communicator/call_check.hpp"
#include "hemiola/runtime/operation/late_course.hpp"
#include "hemiola/runtime/session/lost_member.hpp"

namespace hemiola {
namespace {

/// The array about whose dtype and number of elements all ranks must agree: the input of each, or, of a broadcast, the
/// output. The root of a scatter passes another number than the others, so for that only the block's size counts.
void describe(const Call& call, const CallShape& shape, Signature* signature) {
  const std::optional<ArrayView>& array = call.input ? call.input : call.output;
  if (!array || shape.block_elements == kBlocksByWeight) return;  // of which the schedule says all
  signature->dtype = array->dtype;
  if (!shape.block_sizes.empty())
    signature->set_blocks(shape.block_sizes);
  else if (call.kind == OperationKind::scatter)
    signature->set_shape(std::span(&shape.block_elements, 1));
  else
    signature->set_shape(array->shape);
}

/// Where nobody looks for zeros first.
Coding coding_of(SparseMode mode) {
  if (mode == SparseMode::eight_bits) return Coding::eight_bits;
  return mode == SparseMode::yes ? Coding::fastest : Coding::none;
}

/// Of the whole buffer, or of the larger of input and output.
std::int64_t bytes_of_whole(const CallKey& key, int rank_count) {
  const auto kind = static_cast<CollectiveKind>(key.kind);
  const bool has_blocks = kind != CollectiveKind::all_reduce && kind != CollectiveKind::broadcast &&
                          kind != CollectiveKind::reduce && kind != CollectiveKind::custom;
  return key.block_elements * static_cast<std::int64_t>(bytes_of(key.dtype)) * (has_blocks ? rank_count : 1);
}

/// So that ranks whose blocks differ in size do not run the same schedule.
std::uint64_t with_sizes(std::uint64_t digest, std::span<const std::int64_t> block_sizes) {
  Hasher hasher;
  hasher.add(digest);
  hasher.add_array(block_sizes);
  return hasher.finish().low | 1;
}

/// An operation that scales its input may do so in place if all of it is replaced, by a factor that is undone at the
/// end.
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
  prepared.operation.signature.kind = call.kind;
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
  return prepared;
}

void CallDesk::fill(const Call& call, const Check& check, PreparedCall* to) {
  const CallShape shape = check_call(call, communicator_->rank(), communicator_->rank_count());
  Signature& signature = to->operation.signature;
  Buffers& buffers = to->operation.buffers;
  describe(call, shape, &signature);
  signature.op = call.op;
  signature.root = static_cast<std::int32_t>(call.root);
  signature.sparse = call.sparse;
  if (call.input) buffers.input = call.input->data, buffers.input_blocks = call.input->blocks;
  if (call.rest) buffers.rounding = {reinterpret_cast<float*>(call.rest->data), call.rounds_to};
  if (call.output) buffers.output = call.output->data, buffers.output_blocks = call.output->blocks;
  std::lock_guard lock(mutex_);
  to->key = {call.kind,
             call.op,
             signature.dtype,
             shape.in_place && may_run_in_place(call),
             call.sparse,
             signature.root,
             shape.block_elements,
             buffers.in_blocks(),
             shape.block_sizes,
             call.schedule.get(),
             interned(call.algorithm)};
  to->factor = call.factor;
  make_operation(call.schedule, check, to);
}

/// The same call in another epoch.
PreparedCall CallDesk::renew(const PreparedCall& call, const Check& check) {
  PreparedCall renewed;
  renewed.operation.signature = call.operation.signature;
  renewed.operation.buffers = call.operation.buffers;
  renewed.key = call.key;
  renewed.factor = call.factor;
  renewed.timeout_s = call.timeout_s;
  try {
    std::lock_guard lock(mutex_);
    make_operation(nullptr, check, &renewed);
  } catch (const ArgumentError& e) {
    renewed.complaint = e.what();
  }
  return renewed;
}

void CallDesk::make_operation(const std::shared_ptr<const Schedule>& schedule, const Check& check,
                              PreparedCall* of) {
  const Prepared& prepared = look_up(*of, schedule, {timeout_of(of->timeout_s), check});
  if (of->key.is_ours_to_choose()) of->epoch = prepared.found.epoch;
  Operation& operation = of->operation;
  operation.signature.schedule_digest = prepared.digest;
  operation.program = prepared.program;
  operation.arithmetic = prepared.arithmetic;
  operation.arithmetic.factor = of->factor;
  if (of->key.block_elements == 0) return;
  operation.outlook = prepared.outlook;
  if (of->key.op == Op::premul_sum) return;  // its input is multiplied once, by one program
  if (prepared.late) seek_late_rank(prepared, of);
  if (!prepared.sparse) return;
  operation.sends_all = prepared.sparse->way(prepared.found.density) == SparseRule::Way::dense;
  if (!operation.course)
    operation.course =
        std::make_unique<SparseCourse>(prepared.found, prepared.source.collective().is_reducing(),
                                       prepared.sparse, sparse_programs(prepared, of->key));
}

const CallDesk::Prepared& CallDesk::look_up(const PreparedCall& call,
                                            const std::shared_ptr<const Schedule>& schedule,
                                            const Patient& patient) {
  const std::uint64_t epoch = communicator_->adaptation().epoch();
  if (latest_ != nullptr && latest_->first == call.key && latest_->second.found.epoch == epoch) [[likely]]
    return latest_->second;
  latest_ = nullptr;
  if (call.key.is_of_one_call()) {
    of_one_call_.emplace(call.key, make(call, schedule, patient));
    return (latest_ = &*of_one_call_)->second;
  }
  auto known = prepared_.find(call.key);
  if (known != prepared_.end() && known->second.found.epoch != epoch) {
    Findings found = findings(call.key, call.operation.signature);
    if (found.plan_as(known->second.found))
      known->second.found = std::move(found);
    else
      known = prepared_.end();
  }
  if (known == prepared_.end()) {
    Prepared made = make(call, schedule, patient);
    if (prepared_.size() >= kMaxPrepared) prepared_.clear();
    known = prepared_.insert_or_assign(call.key, std::move(made)).first;
  }
  latest_ = &*known;
  return latest_->second;
}

CallDesk::Prepared CallDesk::make(const PreparedCall& call, const std::shared_ptr<const Schedule>& schedule,
                                  const Patient& patient) {
  const Key& key = call.key;
  const int ranks = communicator_->rank_count();
  Prepared made;
  made.found = findings(key, call.operation.signature);
  made.coding = coding_of(key.sparse);
  made.source = schedule;
  if (!made.source && key.is_of_one_call())
    made = made_for_one_size(call, schedule, patient);
  else if (!made.source)
    choose(call, patient, &made);
  check_schedule(made.source.collective(), key, ranks);
  made.digest = key.block_elements == kBlocksByWeight ? made.source.digest() : digest(made.source);
  if (!key.block_sizes.empty()) made.digest = with_sizes(made.digest, key.block_sizes);
  const auto element_bytes = static_cast<int>(bytes_of(key.dtype));
  const bool reduces = made.source.collective().is_reducing();
  const bool average = key.op == Op::average && reduces;
  const ProgramCache::Key of_program{
      made.source.identity(), key.block_elements, element_bytes, key.in_place, average, made.coding,
      key.in_blocks,          key.block_sizes};
  ProgramCache& programs = communicator_->programs();
  made.program = key.is_of_one_call()
                     ? std::make_shared<const Program>(programs.compile(made.source, of_program))
                     : programs.get(made.source, of_program);
  made.arithmetic = {key.dtype, key.op == Op::premul_sum && !reduces ? Op::sum : key.op, ranks};
  return made;
}

/// For blocks of one size, as long as the longest or up to twice as long: what differs from call to call is made from that.
CallDesk::Prepared CallDesk::made_for_one_size(const PreparedCall& call,
                                               const std::shared_ptr<const Schedule>& schedule,
                                               const Patient& patient) {
  PreparedCall alike;
  alike.operation.signature = call.operation.signature;
  alike.key = call.key;
  alike.key.block_sizes.clear();
  alike.key.block_elements =
      static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(call.key.block_elements)));
  return look_up(alike, schedule, patient);
}

void CallDesk::choose(const PreparedCall& call, const Patient& patient, Prepared* made) {
  const Key& key = call.key;
  const int ranks = communicator_->rank_count();
  Question question{static_cast<CollectiveKind>(key.kind), bytes_of_whole(key, ranks), Rank{key.root},
                    key.algorithm == nullptr ? "" : *key.algorithm, key.sparse};
  const Bytes recipe = agreed_recipe(&question, key, call.operation.signature, patient);
  Selection selection = followed(recipe, question);
  made->found = std::move(question.found);
  made->source = std::move(selection.source);
  made->outlook = selection.outlook;
  if (selection.late) {
    selection.late->check();
    // Fewer than three ranks have nobody to reduce with while they wait.
    if (ranks >= 3) made->late = std::move(selection.late);
  }
  if (selection.sparse) {
    selection.sparse->check();
    made->coding = Coding::none;
    if (selection.sparse->coded_below > 0 && ranks > 1)
      made->sparse = std::make_shared<const SparseRule>(*std::move(selection.sparse));
  }
}

Bytes CallDesk::recipe(CollectiveKind kind, std::int64_t byte_count, Rank root, const Check& interrupted) {
  const Check check = communicator_->until_closed(interrupted);
  std::lock_guard lock(mutex_);
  constexpr SparseMode kUnsaid = SparseMode::where_seen;
  Question question{kind, byte_count, root, "", kUnsaid};
  const Signature call{.kind = operation_of(kind), .sparse = kUnsaid, .element_count = byte_count};
  return agreed_recipe(&question, {}, call, {timeout_of(0), check});
}

/// Words that cannot be read are the fault of the rank that has sent them.
Selection CallDesk::followed(const Bytes& recipe, const Question& question) const try {
  return chooser_.follow(recipe, question);
} catch (const FormatError& e) {
  throw communicator_->members().named(BadMessageError(choice_.chooser(), e.what()));
}

/// Findings may change while another rank chooses.
Bytes CallDesk::agreed_recipe(Question* question, const Key& key, const Signature& call,
                              const Patient& patient) {
  while (true) {
    question->found = findings(key, call);
    if (auto words = choice_.recipe(*question, chooser_, patient.timeout_s, patient.check))
      return *std::move(words);
  }
}

/// A schedule or an algorithm that the user named runs for any late rank.
Findings CallDesk::findings(const Key& key, const Signature& call) const {
  Findings found = communicator_->adaptation().findings(call);
  if (!key.is_ours_to_choose()) found.late = {};
  return found;
}

/// Where that pays, or always where the rule has no forecast.
void CallDesk::seek_late_rank(const Prepared& prepared, PreparedCall* of) {
  const LateRule& rule = *prepared.late;
  of->operation.forecast = rule.forecast;
  if (rule.forecast && !prepared.found.seeks_late) return;
  Hasher hasher;
  for (std::uint64_t word :
       {prepared.digest, static_cast<std::uint64_t>(rule.segments),
        static_cast<std::uint64_t>(rule.chunks_per_owner),
        static_cast<std::uint64_t>(rule.node_of_rank.size()), static_cast<std::uint64_t>(rule.direct_finish)})
    hasher.add(word);
  for (const auto& schedule : rule.around) hasher.add(schedule->digest().low);
  of->operation.signature.schedule_digest = hasher.finish().low | 1;
  of->operation.course = std::make_unique<LateCourse>(late_programs(prepared, *of));
}

std::shared_ptr<LatePrograms> CallDesk::late_programs(const Prepared& prepared, const PreparedCall& call) {
  const Key& key = call.key;
  const LateKey late_key{prepared.program.get(), call.operation.signature.schedule_digest};
  auto found = late_.find(late_key);
  if (found == late_.end()) {
    CompileOptions options = communicator_->compile_options();
    options.block_elements = key.block_elements;
    options.element_bytes = static_cast<int>(bytes_of(key.dtype));
    options.average = key.op == Op::average;
    options.keep_inputs = options.keep_inputs && key.in_place;
    options.coding = coding_of(key.sparse);
    if (late_.size() >= kMaxLate) late_.clear();
    auto programs = std::make_shared<LatePrograms>(communicator_->rank(), communicator_->rank_count(),
                                                   *prepared.late, options);
    found = late_.emplace(late_key, Late{prepared.program, std::move(programs)}).first;
  }
  return found->second.programs;
}

/// All but the dense one are looked up in the operation's turn, where they are run for the first time.
SparseCourse::Programs CallDesk::sparse_programs(const Prepared& prepared, const Key& key) {
  using Way = SparseRule::Way;
  const bool is_average = key.op == Op::average && prepared.source.collective().is_reducing();
  const ProgramCache::Key coded{nullptr,       key.block_elements, static_cast<int>(bytes_of(key.dtype)),
                                key.in_place,  is_average,         Coding::fastest,
                                key.in_blocks, key.block_sizes};
  return [this, coded, rule = prepared.sparse, chosen = prepared.source, dense = prepared.program](Way way) {
    if (way == Way::dense) return dense;
    const std::lock_guard lock(mutex_);
    if (way == Way::exchange)
      return communicator_->programs().get(
          rule->exchange, {rule->exchange.identity(), SparseCourse::kFigures, sizeof(std::int64_t)});
    const ProgramSource& source = way == Way::coded ? chosen : rule->without_fill_in;
    ProgramCache::Key of_way = coded;
    of_way.source = source.identity();
    return communicator_->programs().get(source, of_way);
  };
}

/// One copy of each name, so that keys compare pointers; null for none.
const std::string* CallDesk::interned(const std::string& algorithm) {
  return algorithm.empty() ? nullptr : &*algorithms_.insert(algorithm).first;
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

}  // namespace hemiola
