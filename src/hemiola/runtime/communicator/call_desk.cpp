#include "hemiola/runtime/communicator/call_desk.hpp"

#include <algorithm>

#include "hemiola/base/error.hpp"
#include "hemiola/base/hash.hpp"
#include "hemiola/runtime/communicator/call_check.hpp"

namespace hemiola {
namespace {

/// The array whose shape all ranks must agree about: what each brings, or, of a broadcast, gets. The root of a scatter
/// passes another shape than the others, so for that only the block's size counts.
void describe(const Call& call, const CallShape& shape, Signature* signature) {
  const std::optional<ArrayView>& array = call.input ? call.input : call.output;
  if (!array) return;
  signature->dtype = array->dtype;
  if (call.kind == OperationKind::scatter)
    signature->set_shape(std::span(&shape.block_elements, 1));
  else
    signature->set_shape(array->shape);
}

}  // namespace

Operation CallDesk::prepare(const Call& call) {
  Operation operation;
  operation.signature.kind = call.kind;
  operation.timeout_s = call.timeout_s;
  operation.complaint = call.complaint;
  if (!call.complaint.empty() || call.kind == OperationKind::barrier) return operation;
  try {
    const CallShape shape = check_call(call, communicator_->rank(), communicator_->rank_count());
    describe(call, shape, &operation.signature);
    const Key key{call.kind,
                  call.op,
                  operation.signature.dtype,
                  shape.in_place,
                  static_cast<std::int32_t>(call.root),
                  shape.block_elements,
                  call.schedule.get()};
    follow_conditions();
    operation.key = key;
    operation.signature.op = call.op;
    operation.signature.root = key.root;
    assign(look_up(key, call), &operation);
    if (call.late) prepare_late(*call.late, &operation);
    if (call.input) operation.buffers.input = call.input->data;
    if (call.output) operation.buffers.output = call.output->data;
  } catch (const ArgumentError& e) {
    operation.complaint = e.what();
  }
  return operation;
}

/// What depends on the conditions for which it was chosen.
void CallDesk::assign(const Prepared& prepared, Operation* operation) {
  operation->planned_for = in_force_.version;
  operation->signature.schedule_digest = prepared.digest;
  operation->program = prepared.program;
  operation->arithmetic = prepared.arithmetic;
  operation->late.reset();
  operation->late_forecast.reset();
  if (prepared.late) prepare_late(*prepared.late, operation);
}

const CallDesk::Prepared& CallDesk::look_up(const Key& key, const Call& call) {
  if (latest_ != nullptr && latest_->first == key) [[likely]]
    return latest_->second;
  auto found = prepared_.find(key);
  if (found == prepared_.end()) {
    Prepared made = make(key, call);
    if (prepared_.size() >= kMaxPrepared) prepared_.clear();
    found = prepared_.emplace(key, std::move(made)).first;
  }
  latest_ = &*found;
  return latest_->second;
}

CallDesk::Prepared CallDesk::make(const Key& key, const Call& call) {
  const int ranks = communicator_->rank_count();
  const auto element_bytes = static_cast<int>(bytes_of(key.dtype));
  const auto kind = static_cast<CollectiveKind>(key.kind);
  const bool many_blocks = kind != CollectiveKind::all_reduce && kind != CollectiveKind::broadcast &&
                           kind != CollectiveKind::reduce && kind != CollectiveKind::custom;
  Prepared made;
  made.source = call.schedule;
  if (!made.source) {
    Choice choice = chooser_(kind, key.block_elements * element_bytes * (many_blocks ? ranks : 1),
                             Rank{key.root}, in_force_.slow);
    made.source = std::move(choice.source);
    made.late = std::move(choice.late);
  }
  check_schedule(made.source.collective(), call, ranks);
  made.digest = digest(made.source);
  const bool average = key.op == Op::average && made.source.collective().is_reducing();
  made.program = communicator_->programs().get(
      made.source, {made.source.identity(), key.block_elements, element_bytes, key.in_place, average});
  made.arithmetic = {combine_for(key.dtype, key.op), scale_for(key.dtype), ranks};
  return made;
}

/// Fewer than three ranks have nobody to reduce with while they wait, and an empty buffer has nothing to reduce.
void CallDesk::prepare_late(const LateRule& rule, Operation* operation) {
  rule.check();
  const Key& key = operation->key;
  if (communicator_->rank_count() < 3 || key.block_elements == 0) return;
  Hasher hasher;
  for (std::uint64_t word : {operation->signature.schedule_digest, static_cast<std::uint64_t>(rule.segments),
                             static_cast<std::uint64_t>(rule.chunks_per_owner)})
    hasher.add(word);
  operation->late_digest = hasher.finish().low | 1;
  operation->bytes = key.block_elements * static_cast<std::int64_t>(bytes_of(key.dtype));
  const LateKey late_key{operation->program.get(), rule.segments, rule.chunks_per_owner};
  auto found = late_.find(late_key);
  if (found == late_.end()) {
    CompileOptions options = communicator_->compile_options();
    options.block_elements = key.block_elements;
    options.element_bytes = static_cast<int>(bytes_of(key.dtype));
    options.average = key.op == Op::average;
    options.keep_inputs = options.keep_inputs && key.in_place;
    if (late_.size() >= kMaxLate) late_.clear();
    auto programs =
        std::make_shared<LatePrograms>(communicator_->rank(), communicator_->rank_count(), rule, options);
    found = late_.emplace(late_key, Late{operation->program, std::move(programs)}).first;
  }
  operation->late = found->second.programs;
  operation->late_forecast = rule.forecast;
}

std::uint64_t CallDesk::digest(const ProgramSource& source) {
  const auto found = digests_.find(source.identity());
  if (found != digests_.end()) return found->second.digest;
  if (digests_.size() >= kMaxDigests) digests_.clear();
  return digests_.emplace(source.identity(), Digest{source, source.digest()}).first->second.digest;
}

void CallDesk::renew(Operation* operation) {
  try {
    follow_conditions();
    Call call;
    call.kind = operation->key.kind;
    call.op = operation->key.op;
    call.root = operation->key.root;
    assign(look_up(operation->key, call), operation);
  } catch (const ArgumentError& e) {
    operation->complaint = e.what();
  }
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
