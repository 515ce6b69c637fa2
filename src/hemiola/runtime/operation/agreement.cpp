// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/operation/agreement.hpp"

#include <cstdio>
#include <span>
#include <string>
#include <string_view>

#include "hemiola/base/error.hpp"
#include "hemiola/base/hash.hpp"

namespace hemiola {
namespace {

bool has_root(OperationKind kind) {
  return kind != OperationKind::barrier && is_rooted(static_cast<CollectiveKind>(kind));
}

std::string describe_schedule(const Signature& signature) {
  char text[40];
  std::snprintf(text, sizeof text, "a schedule with digest %016llx",
                static_cast<unsigned long long>(signature.schedule_digest));
  return text;
}

std::string describe_sparse(SparseMode mode) {
  if (mode == SparseMode::eight_bits) return "messages of eight bits an element";
  if (mode == SparseMode::where_seen) return "sparse=None";
  return mode == SparseMode::yes ? "sparse=True" : "sparse=False";
}

/// The disagreement of the two, as the object of "rank 2 passed …, rank 0 …": the most telling difference.
struct Difference {
  std::string_view verb;  ///< "passed", "called", "chose"
  std::string left;
  std::string right;
};

Difference difference(const Signature& left, const Signature& right) {
  if (left.kind != right.kind)
    return {"called", std::string(name_of(left.kind)), std::string(name_of(right.kind))};
  const bool have_other_blocks = (left.has_blocks() || right.has_blocks()) && left.shape != right.shape;
  if (left.dtype != right.dtype || left.element_count != right.element_count || have_other_blocks)
    return {"passed", describe_array(left), describe_array(right)};
  if (left.op != right.op)
    return {"passed", "op='" + std::string(name_of(left.op)) + "'",
            "op='" + std::string(name_of(right.op)) + "'"};
  if (left.sparse != right.sparse)
    return {"passed", describe_sparse(left.sparse), describe_sparse(right.sparse)};
  if (left.root != right.root && has_root(left.kind))
    return {"passed", "root=" + std::to_string(left.root), "root=" + std::to_string(right.root)};
  return {"chose", describe_schedule(left), describe_schedule(right)};
}

[[noreturn]] void disagree(std::uint64_t number, const Members& members, Rank other, const Roll::Entry& said,
                           const Signature& own) {
  const std::string rank = members.name(other), self = members.name(members.self);
  const std::string where = "operation " + std::to_string(number);
  if (!said.complaint.empty()) {
    const std::string raised = "raised '" + std::string(said.complaint) + "'";
    throw DifferingMemberError(where + ": " + rank + " " + raised + ", " + self + " called " +
                                   std::string(name_of(own.kind)) + " with " + describe_array(own) +
                                   ". Inputs are as they were; correct the call on " + rank + ".",
                               members.cause(other, raised));
  }
  const Difference d = difference(said.signature, own);
  const std::string call = " (" + std::string(name_of(own.kind)) + ")";
  const std::string did = std::string(d.verb) + " " + d.left;
  throw DifferingMemberError(
      where + call + ": " + rank + " " + did + ", " + self + " " + d.right +
          ". Inputs are as they were; every rank must make the same calls in the same order.",
      members.cause(other, did + " in " + where + call));
}

}  // namespace

OperationTag Tags::of(std::uint64_t number, const Signature& signature) {
  const Signature::Common common = signature.common();
  if (latest_ != common) {
    digest_ = hash64(std::as_bytes(std::span(&common, 1)));
    latest_ = common;
  }
  return {.operation = static_cast<std::uint32_t>(number), .digest = digest_};
}

void check_agreement(std::uint64_t number, const Members& members, Rank rank, const Roll::Entry& said,
                     const Signature& own) {
  if (!said.complaint.empty() || !said.signature.agrees_with(own)) [[unlikely]]
    disagree(number, members, rank, said, own);
}

}  // namespace hemiola
