// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/communicator/call_check.hpp"

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "hemiola/base/error.hpp"
#include "hemiola/runtime/executor/program/buffer_layout.hpp"

namespace hemiola {
namespace {

bool reduces(OperationKind kind) {
  return kind == OperationKind::all_reduce || kind == OperationKind::reduce ||
         kind == OperationKind::reduce_scatter;
}
bool gathers(OperationKind kind) {
  return kind == OperationKind::all_gather || kind == OperationKind::gather;
}
bool scatters(OperationKind kind) {
  return kind == OperationKind::reduce_scatter || kind == OperationKind::scatter;
}

bool needs_input(const Call& call, Rank self) {
  const bool only_root = call.kind == OperationKind::broadcast || call.kind == OperationKind::scatter;
  return !only_root || call.root == self;
}
bool needs_output(const Call& call, Rank self) {
  const bool only_root = call.kind == OperationKind::reduce || call.kind == OperationKind::gather;
  return !only_root || call.root == self;
}

std::string describe(const ArrayView& array) {
  Signature s;
  s.dtype = array.dtype;
  s.set_shape(array.shape);
  return describe_array(s);
}

void check_array(const ArrayView& array, const char* what, bool written) {
  if (!array.contiguous)
    throw ArgumentError(std::string(what) +
                        " is not contiguous in C order; pass numpy.ascontiguousarray() of it");
  if (written && !array.writable)
    throw ArgumentError(std::string(what) +
                        " is read-only, but the result goes there; pass a writable array as out");
}

/// Elements of one block of an array that holds `blocks` of them.
std::int64_t block_of(const ArrayView& array, int blocks, const char* what) {
  const std::int64_t elements = array.element_count();
  if (elements % blocks != 0)
    throw ArgumentError(std::string(what) + " is " + describe(array) + ", which does not divide into " +
                        std::to_string(blocks) + " equal blocks, one per rank");
  return elements / blocks;
}

/// A list of arrays is for buffers with a block for each rank.
void check_blocks(const ArrayView& array, const char* what, bool has_blocks, int rank_count) {
  if (!array.blocks) return;
  const std::string found =
      std::string(what) + " is a list of " + std::to_string(array.blocks->size()) + " arrays, expected ";
  if (!has_blocks) throw ArgumentError(found + "one array");
  if (static_cast<int>(array.blocks->size()) != rank_count)
    throw ArgumentError(found + "one for each of " + std::to_string(rank_count) + " ranks");
}

/// The memory of each of its blocks, or of it all.
std::vector<std::span<const std::byte>> memory_of(const ArrayView& array) {
  const auto bytes = static_cast<std::size_t>(array.byte_count());
  std::vector<std::span<const std::byte>> memory;
  if (!array.blocks) return {{array.data, bytes}};
  for (std::size_t i = 0; i < array.blocks->size(); ++i)
    memory.emplace_back((*array.blocks)[i],
                        array.block_elements
                            ? static_cast<std::size_t>((*array.block_elements)[i]) * bytes_of(array.dtype)
                            : bytes / array.blocks->size());
  return memory;
}

void check_apart(const ArrayView& input, const ArrayView& output) {
  for (const auto in : memory_of(input))
    for (const auto out : memory_of(output))
      if (in.data() < out.data() + out.size() && out.data() < in.data() + in.size())
        throw ArgumentError("input and out overlap; where one is a list of arrays, they must be apart");
}

/// In place is: the same bytes, or the rank's own block of the larger array. Any other overlap would let results
/// overwrite elements that are still needed.
bool is_in_place(const Call& call, Rank self, std::int64_t block_bytes) {
  if (call.input->blocks || call.output->blocks) {
    check_apart(*call.input, *call.output);
    return false;
  }
  const std::byte* in = call.input->data;
  const std::byte* out = call.output->data;
  const std::byte* const own_in = gathers(call.kind) ? in - self * block_bytes : in;
  const std::byte* const own_out = scatters(call.kind) ? out - self * block_bytes : out;
  if (own_in == own_out) return true;
  if (in < out + call.output->byte_count() && out < in + call.input->byte_count())
    throw ArgumentError(
        "input and out overlap; they must be apart, or the same (for a gather or scatter: the rank's own "
        "block of the larger array)");
  return false;
}

/// Throws unless a list has an array of each of these sizes.
void check_sizes(const std::optional<ArrayView>& array, const std::vector<std::int64_t>& sizes,
                 const char* what) {
  if (!array || !array->block_elements || array->block_elements->size() != sizes.size())
    throw ArgumentError(std::string(what) + ": expected a list with an array for each rank");
  for (std::size_t i = 0; i < sizes.size(); ++i)
    if ((*array->block_elements)[i] != sizes[i])
      throw ArgumentError(std::string(what) + " for rank " + std::to_string(i) + ": expected " +
                          std::to_string(sizes[i]) + " elements, as was agreed, found " +
                          std::to_string((*array->block_elements)[i]));
}

/// The elements of an all_to_all's blocks, as its table or its schedule's weights say.
std::vector<std::int64_t> table_of(const Call& call, int rank_count) {
  const auto ranks = static_cast<std::size_t>(rank_count);
  if (call.block_table && call.block_table->size() == ranks * ranks) return *call.block_table;
  if (call.block_table || !call.schedule ||
      call.schedule->collective().kind() != CollectiveKind::all_to_all ||
      call.schedule->collective().rank_count() != rank_count)
    throw ArgumentError("expected a table or a schedule of an all_to_all of " + std::to_string(rank_count) +
                        " ranks, which says how long blocks are");
  const auto chunks = static_cast<std::size_t>(call.schedule->chunk_count()) / (ranks * ranks);
  const auto weights = call.schedule->chunk_weights();
  std::vector<std::int64_t> table(ranks * ranks, weights.empty() ? static_cast<std::int64_t>(chunks) : 0);
  for (std::size_t chunk = 0; chunk < weights.size(); ++chunk) table[chunk / chunks] += weights[chunk];
  return table;
}

/// Blocks must be as long as all ranks have agreed.
CallShape check_exchange(const Call& call, Rank self, int rank_count) {
  const std::vector<std::int64_t> table = table_of(call, rank_count);
  std::vector<std::int64_t> given, taken;
  for (Rank other : indices<Rank>(rank_count)) {
    given.push_back(table[static_cast<std::size_t>(self * rank_count + other)]);
    taken.push_back(table[static_cast<std::size_t>(other * rank_count + self)]);
  }
  check_sizes(call.input, given, "the array");
  check_sizes(call.output, taken, "out");
  check_array(*call.input, "the array", false);
  check_array(*call.output, "out", true);
  check_apart(*call.input, *call.output);
  if (!call.block_table) return {kBlocksByWeight, false, {}};
  return {*std::ranges::max_element(table), false, table};
}

void check_reduction(const Call& call, DType dtype);

/// One side is a list with an array for each rank, the other an array as long as the rank's own in the list.
CallShape check_blocks_of_any_size(const Call& call, Rank self, int rank_count) {
  const bool brings_list = scatters(call.kind);
  const std::optional<ArrayView>&list = brings_list ? call.input : call.output,
        &one = brings_list ? call.output : call.input;
  const char *list_name = brings_list ? "the array" : "out", *one_name = brings_list ? "out" : "the array";
  if (!list || !list->block_elements || static_cast<int>(list->block_elements->size()) != rank_count)
    throw ArgumentError(std::string(list_name) + ": expected a list with an array for each of " +
                        std::to_string(rank_count) + " ranks, found " +
                        (list && list->blocks ? "one of " + std::to_string(list->blocks->size()) : "none"));
  const std::vector<std::int64_t>& sizes = *list->block_elements;
  const std::int64_t own = sizes[static_cast<std::size_t>(self)];
  if (!one || one->blocks || one->dtype != list->dtype || one->element_count() != own)
    throw ArgumentError(std::string(one_name) + ": expected an array of " + std::to_string(own) +
                        " elements of " + std::string(name_of(list->dtype)) + ", as in the list for rank " +
                        std::to_string(self) + ", found " +
                        (!one          ? "none"
                         : one->blocks ? "a list"
                                       : describe(*one)));
  check_array(*call.input, "the array", false);
  check_array(*call.output, "out", true);
  check_apart(*call.input, *call.output);
  if (reduces(call.kind)) check_reduction(call, list->dtype);
  if (std::ranges::all_of(sizes, [&](std::int64_t size) { return size == own; })) return {own, false, {}};
  return {(list->element_count() + rank_count - 1) / rank_count, false, sizes};
}

void check_reduction(const Call& call, DType dtype) {
  if (!is_defined(call.op, dtype))
    throw ArgumentError("op='" + std::string(name_of(call.op)) + "' makes no sense for " +
                        std::string(name_of(dtype)));
}

/// Eight bits are for all-reduces of float32 by a schedule that rounds a sum once in each direction.
void check_eight_bits(const Call& call, int rank_count) {
  if (call.sparse != SparseMode::eight_bits) return;
  const std::string expected = "messages of eight bits an element: expected ";
  if (call.kind != OperationKind::all_reduce || !call.schedule)
    throw ArgumentError(expected + "an all_reduce with a schedule, found " + std::string(name_of(call.kind)));
  if (call.input->dtype != DType::float32)
    throw ArgumentError(expected + "float32, found " + std::string(name_of(call.input->dtype)));
  if (call.op != Op::sum && call.op != Op::average)
    throw ArgumentError(expected + "op='sum' or 'average', found '" + std::string(name_of(call.op)) + "'");
  const bool fits = call.rest && call.rest->dtype == DType::float32 && call.rest->contiguous &&
                    call.rest->writable && call.rest->element_count() == call.input->element_count();
  if (!fits)
    throw ArgumentError(expected + "a writable residual for " + describe(*call.input) + ", found " +
                        (call.rest ? describe(*call.rest) : "none"));
  if (call.rounds_to && static_cast<int>(call.rounds_to->size()) != rank_count)
    throw ArgumentError(expected + "a choice for each of " + std::to_string(rank_count) + " ranks, found " +
                        std::to_string(call.rounds_to->size()));
}

}  // namespace

std::int64_t ArrayView::element_count() const {
  std::int64_t count = 1;
  for (std::int64_t extent : shape) count *= extent;
  return count;
}

CallShape check_call(const Call& call, Rank self, int rank_count) {
  if (call.kind == OperationKind::barrier) return {};
  if (call.root < 0 || call.root >= rank_count)
    throw ArgumentError("expected a root in 0 … " + std::to_string(rank_count - 1) + ", found " +
                        std::to_string(call.root));
  if (call.has_blocks_of_any_size)
    return call.kind == OperationKind::all_to_all ? check_exchange(call, self, rank_count)
                                                  : check_blocks_of_any_size(call, self, rank_count);
  const bool has_input = needs_input(call, self), has_output = needs_output(call, self);
  if (has_input && !call.input) throw ArgumentError("rank " + std::to_string(self) + " must pass an array");
  if (has_output && !call.output)
    throw ArgumentError("rank " + std::to_string(self) + " must pass an array as out");
  const bool brings_blocks = scatters(call.kind) || call.kind == OperationKind::all_to_all;
  const bool gets_blocks = gathers(call.kind) || call.kind == OperationKind::all_to_all;
  const int in_blocks = brings_blocks ? rank_count : 1, out_blocks = gets_blocks ? rank_count : 1;
  CallShape shape;
  if (has_input) {
    check_blocks(*call.input, "the array", brings_blocks, rank_count);
    check_array(*call.input, "the array", false);
    shape.block_elements = block_of(*call.input, in_blocks, "the array");
    if (reduces(call.kind)) check_reduction(call, call.input->dtype);
  }
  if (!has_output) return shape;
  check_blocks(*call.output, "out", gets_blocks, rank_count);
  check_array(*call.output, has_input && call.output->data != call.input->data ? "out" : "the array", true);
  const std::int64_t out_block = block_of(*call.output, out_blocks, "out");
  if (!has_input) return {out_block, false};
  if (call.output->dtype != call.input->dtype || out_block != shape.block_elements)
    throw ArgumentError("out is " + describe(*call.output) + ", expected " +
                        std::string(name_of(call.input->dtype)) + " with " +
                        std::to_string(shape.block_elements * out_blocks) + " elements for " +
                        describe(*call.input));
  const auto block_bytes = shape.block_elements * static_cast<std::int64_t>(bytes_of(call.input->dtype));
  shape.in_place = is_in_place(call, self, block_bytes);
  check_eight_bits(call, rank_count);
  return shape;
}

void check_schedule(const Collective& collective, const CallKey& key, int rank_count) {
  const auto kind = static_cast<CollectiveKind>(key.kind);
  if (collective.kind() != kind)
    throw ArgumentError("the schedule is for " + std::string(name_of(collective.kind())) + ", not for " +
                        std::string(name_of(kind)));
  if (collective.rank_count() != rank_count)
    throw ArgumentError("the schedule is for " + std::to_string(collective.rank_count()) +
                        " ranks, the communicator has " + std::to_string(rank_count));
  if (is_rooted(kind) && collective.root() != key.root)
    throw ArgumentError("the schedule is for root " + std::to_string(collective.root()) +
                        ", the call for root " + std::to_string(key.root));
}

}  // namespace hemiola
