// SPDX-License-Identifier: Apache-2.0
// UCC's collectives for benchmarks/ucc_library.py, as plain calls: one job, one team of all ranks, CPU memory. Requests
// are persistent, so a repeated collective costs a post and the progress until it is over.
#include <sched.h>
#include <ucc/api/ucc.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace {

// After so many in vain, another program may have the processor that a peer needs.
constexpr int kLooks = 1000;

// Gathers every rank's `size` bytes at `all`, one rank behind the other; returns when that is done.
using Gather = void (*)(void* own, void* all, std::size_t size);

struct Job {
  int rank, rank_count;
  bool yields;
  Gather gather;
  ucc_context_h context;
  ucc_team_h team;
} job;

void check(ucc_status_t status, const char* what) {
  if (status >= 0) return;
  std::fprintf(stderr, "rank %d: %s: %s\n", job.rank, what, ucc_status_string(status));
  std::abort();
}

ucc_status_t gather(void* own, void* all, size_t size, void*, void** request) {
  job.gather(own, all, size);
  *request = &job;
  return UCC_OK;
}

ucc_status_t over(void*) {
  return UCC_OK;
}

ucc_oob_coll_t out_of_band() {
  ucc_oob_coll_t calls = {};
  calls.allgather = gather;
  calls.req_test = over;
  calls.req_free = over;
  calls.n_oob_eps = static_cast<std::uint32_t>(job.rank_count);
  calls.oob_ep = static_cast<std::uint32_t>(job.rank);
  return calls;
}

void make_context() {
  ucc_lib_params_t wanted = {};
  wanted.mask = UCC_LIB_PARAM_FIELD_THREAD_MODE;
  wanted.thread_mode = UCC_THREAD_SINGLE;
  ucc_lib_config_h configuration = nullptr;
  check(ucc_lib_config_read(nullptr, nullptr, &configuration), "ucc_lib_config_read");
  ucc_lib_h library = nullptr;
  check(ucc_init(&wanted, configuration, &library), "ucc_init");
  ucc_lib_config_release(configuration);
  ucc_context_config_h settings = nullptr;
  check(ucc_context_config_read(library, nullptr, &settings), "ucc_context_config_read");
  ucc_context_params_t parameters = {};
  parameters.mask = UCC_CONTEXT_PARAM_FIELD_TYPE | UCC_CONTEXT_PARAM_FIELD_OOB;
  parameters.type = UCC_CONTEXT_SHARED;
  parameters.oob = out_of_band();
  check(ucc_context_create(library, &parameters, settings, &job.context), "ucc_context_create");
  ucc_context_config_release(settings);
}

void make_team() {
  ucc_team_params_t parameters = {};
  parameters.mask = UCC_TEAM_PARAM_FIELD_EP | UCC_TEAM_PARAM_FIELD_EP_RANGE | UCC_TEAM_PARAM_FIELD_OOB;
  parameters.oob = out_of_band();
  parameters.ep = static_cast<std::uint64_t>(job.rank);
  parameters.ep_range = UCC_COLLECTIVE_EP_RANGE_CONTIG;
  check(ucc_team_create_post(&job.context, 1, &parameters, &job.team), "ucc_team_create_post");
  ucc_status_t status = UCC_INPROGRESS;
  while ((status = ucc_team_create_test(job.team)) == UCC_INPROGRESS) ucc_context_progress(job.context);
  check(status, "ucc_team_create_test");
}

ucc_coll_buffer_info_t memory(void* at, std::size_t count, bool of_floats) {
  return {at, count, of_floats ? UCC_DT_FLOAT32 : UCC_DT_UINT8, UCC_MEMORY_TYPE_HOST};
}

}  // namespace

extern "C" {

// `yields`: whether ranks give the processor away while nothing has come, as they must where they share cores.
void ucc_calls_join(int rank, int rank_count, bool yields, Gather gather) {
  job = {rank, rank_count, yields, gather, nullptr, nullptr};
  make_context();
  make_team();
}

// Counts are of elements: those at `src` and at `dst`. The collective is in place where `src` is null.
void* ucc_calls_prepare(std::uint64_t collective, void* src, std::size_t src_count, void* dst,
                        std::size_t dst_count, bool of_floats) {
  ucc_coll_args_t arguments = {};
  arguments.mask = UCC_COLL_ARGS_FIELD_FLAGS;
  arguments.flags = UCC_COLL_ARGS_FLAG_PERSISTENT;
  if (src == nullptr && dst != nullptr) arguments.flags |= UCC_COLL_ARGS_FLAG_IN_PLACE;
  arguments.coll_type = static_cast<ucc_coll_type_t>(collective);
  arguments.src.info = memory(src, src_count, of_floats);
  arguments.dst.info = memory(dst, dst_count, of_floats);
  arguments.op = UCC_OP_SUM;
  ucc_coll_req_h request = nullptr;
  check(ucc_collective_init(&arguments, &request, job.team), "ucc_collective_init");
  return request;
}

void ucc_calls_run(void* prepared) {
  auto* const request = static_cast<ucc_coll_req_h>(prepared);
  check(ucc_collective_post(request), "ucc_collective_post");
  ucc_status_t status = UCC_INPROGRESS;
  for (int looks = 0; (status = ucc_collective_test(request)) == UCC_INPROGRESS; ++looks) {
    ucc_context_progress(job.context);
    if (job.yields || looks > kLooks) sched_yield();
  }
  check(status, "ucc_collective_test");
}

void ucc_calls_forget(void* prepared) {
  check(ucc_collective_finalize(static_cast<ucc_coll_req_h>(prepared)), "ucc_collective_finalize");
}
}
