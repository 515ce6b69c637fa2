// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/operation/program_source.hpp"

namespace hemiola {
namespace {

Program compiled(const Schedule& schedule, Rank rank, const CompileOptions& options) {
  return compile(schedule, rank, options);
}
Program compiled(const ScheduleParts& parts, Rank rank, const CompileOptions& options) {
  return compile(parts.collective, parts.chunk_weights, {rank, parts.part(rank)}, options);
}

const Collective& promise_of(const Schedule& schedule) {
  return schedule.collective();
}
const Collective& promise_of(const ScheduleParts& parts) {
  return parts.collective;
}

const Hash128& digest_of(const Schedule& schedule) {
  return schedule.digest();
}
const Hash128& digest_of(const ScheduleParts& parts) {
  return parts.digest;
}

}  // namespace

const void* ProgramSource::identity() const {
  return std::visit([](const auto& made) { return static_cast<const void*>(made.get()); }, made_);
}

const Collective& ProgramSource::collective() const {
  return std::visit([](const auto& made) -> const Collective& { return promise_of(*made); }, made_);
}

Program ProgramSource::compile(Rank rank, const CompileOptions& options) const {
  return std::visit([&](const auto& made) { return compiled(*made, rank, options); }, made_);
}

std::uint64_t ProgramSource::digest() const {
  return std::visit([](const auto& made) { return digest_of(*made).low | 1; }, made_);
}

}  // namespace hemiola
