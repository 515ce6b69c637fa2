// SPDX-License-Identifier: Apache-2.0
// The library that MPItrampoline, which jaxlib contains, loads from MPITRAMPOLINE_LIB. XLA calls 17 functions of MPI;
// each becomes a Call that hemiola.jax answers. It is no MPI: all other functions end the process with their name.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

/// A call of MPI with the arguments that the answer needs; hemiola/jax/call.py has the same fields.
struct Call {
  const char* function;
  const void* input = nullptr;
  void* output = nullptr;
  int64_t count = 0;
  int64_t type = 0;
  int64_t op = 0;
  int64_t communicator = 0;
  int64_t destination = 0;
  int64_t source = 0;
  int64_t tag = 0;
  int64_t request = 0;
  int64_t result = 0;
};

/// 0, or the number under which error_string tells the reason.
using Answer = int (*)(Call*);
Answer answer = nullptr;

constexpr int NOBODY_ANSWERS = 1;
constexpr int ALL_THREADS = 3;     // MPIABI_THREAD_MULTIPLE
constexpr int STRING_BYTES = 500;  // MPItrampoline's MPI_MAX_ERROR_STRING is longer

int ask(Call& call) {
  return answer == nullptr ? NOBODY_ANSWERS : answer(&call);
}

/// Ask for a number that the caller gets in `*result`, even where it ignores errors.
template <typename Number>
int ask_for(Number* result, Call call) {
  const int error = ask(call);
  *result = static_cast<Number>(call.result);
  return error;
}

int ask_only(Call call) {
  return ask(call);
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

using Handle =
    uintptr_t;  // of a communicator, a datatype, an operation, a request: as in MPItrampoline's ABI

// MPItrampoline asks for these before all others.
extern const int mpiwrapper_version_major = 2;
extern const int mpiwrapper_version_minor = 10;
extern const int mpiwrapper_version_patch = 0;
extern const int mpiabi_version_major = 2;
extern const int mpiabi_version_minor = 10;
extern const int mpiabi_version_patch = 0;

/// Say who answers; null at the end of the process.
void hemiola_answer(Answer who) {
  answer = who;
}

int MPIABI_Init_thread(int*, char***, int, int* provided) {
  *provided = ALL_THREADS;
  return ask_only({.function = "init"});
}
int MPIABI_Init(int*, char***) {
  return ask_only({.function = "init"});
}
int MPIABI_Finalize() {
  return ask_only({.function = "finalize"});
}
int MPIABI_Is_thread_main(int* is_main) {
  *is_main = 1;
  return 0;
}
int MPIABI_Comm_rank(Handle communicator, int* rank) {
  return ask_for(rank, {.function = "rank", .communicator = static_cast<int64_t>(communicator)});
}
int MPIABI_Comm_size(Handle communicator, int* size) {
  return ask_for(size, {.function = "size", .communicator = static_cast<int64_t>(communicator)});
}
int MPIABI_Comm_split(Handle communicator, int color, int key, Handle* part) {
  return ask_for(
      part,
      {.function = "split", .communicator = static_cast<int64_t>(communicator), .source = key, .tag = color});
}
int MPIABI_Comm_free(Handle* communicator) {
  const auto freed = static_cast<int64_t>(*communicator);
  *communicator = 0;
  return ask_only({.function = "free", .communicator = freed});
}
int MPIABI_Allreduce(const void* input, void* output, int count, Handle type, Handle op,
                     Handle communicator) {
  return ask_only({.function = "all_reduce",
                   .input = input,
                   .output = output,
                   .count = count,
                   .type = static_cast<int64_t>(type),
                   .op = static_cast<int64_t>(op),
                   .communicator = static_cast<int64_t>(communicator)});
}
int MPIABI_Allgather(const void* input, int count, Handle type, void* output, int, Handle,
                     Handle communicator) {
  return ask_only({.function = "all_gather",
                   .input = input,
                   .output = output,
                   .count = count,
                   .type = static_cast<int64_t>(type),
                   .communicator = static_cast<int64_t>(communicator)});
}
/// XLA passes the same count for every rank.
int MPIABI_Reduce_scatter(const void* input, void* output, const int* counts, Handle type, Handle op,
                          Handle communicator) {
  return ask_only({.function = "reduce_scatter",
                   .input = input,
                   .output = output,
                   .count = counts[0],
                   .type = static_cast<int64_t>(type),
                   .op = static_cast<int64_t>(op),
                   .communicator = static_cast<int64_t>(communicator)});
}
int MPIABI_Isend(const void* input, int count, Handle type, int destination, int tag, Handle communicator,
                 Handle* request) {
  return ask_for(request, {.function = "start_send",
                           .input = input,
                           .count = count,
                           .type = static_cast<int64_t>(type),
                           .communicator = static_cast<int64_t>(communicator),
                           .destination = destination,
                           .tag = tag});
}
int MPIABI_Irecv(void* output, int count, Handle type, int source, int tag, Handle communicator,
                 Handle* request) {
  return ask_for(request, {.function = "start_recv",
                           .output = output,
                           .count = count,
                           .type = static_cast<int64_t>(type),
                           .communicator = static_cast<int64_t>(communicator),
                           .source = source,
                           .tag = tag});
}
int MPIABI_Wait(Handle* request, void*) {
  return ask_only({.function = "wait", .request = static_cast<int64_t>(*request)});
}
/// XLA passes the same tag and size for both directions.
int MPIABI_Sendrecv(const void* input, int count, Handle type, int destination, int tag, void* output, int,
                    Handle, int source, int, Handle communicator, void*) {
  return ask_only({.function = "exchange",
                   .input = input,
                   .output = output,
                   .count = count,
                   .type = static_cast<int64_t>(type),
                   .communicator = static_cast<int64_t>(communicator),
                   .destination = destination,
                   .source = source,
                   .tag = tag});
}
int MPIABI_Error_string(int error, char* text, int* length) {
  if (error == NOBODY_ANSWERS) {
    *length =
        std::snprintf(text, STRING_BYTES, "nobody answers for Hemiola's library; import hemiola.jax first");
    return 0;
  }
  return ask_for(length, {.function = "error_string", .output = text, .count = STRING_BYTES, .tag = error});
}
int MPIABI_Get_library_version(char* text, int* length) {
  *length = std::snprintf(text, STRING_BYTES, "Hemiola, for XLA through MPItrampoline");
  return 0;
}

void mpiwrapper_export_fortran_constants_() {}

// What XLA compares or passes on; the numbers of types and operations are those of hemiola/jax/call.py.
#define CONSTANT(name, value) extern const int64_t name = value;
#define OTHER_CONSTANT(name) CONSTANT(name, 1000 + __LINE__)
#define OTHER_FUNCTION(name)                                                                                 \
  int name() {                                                                                               \
    std::fprintf(                                                                                            \
        stderr, "hemiola.jax: XLA called " #name ", which Hemiola does not have; see docs/how-to/jax.md\n"); \
    std::abort();                                                                                            \
  }
CONSTANT(MPIABI_SUCCESS, 0)
CONSTANT(MPIABI_UNDEFINED, -32766)
CONSTANT(MPIABI_COMM_NULL, 0)
CONSTANT(MPIABI_COMM_WORLD, 1)
CONSTANT(MPIABI_STATUS_IGNORE, 0)
CONSTANT(MPIABI_THREAD_SINGLE, 0)
CONSTANT(MPIABI_THREAD_FUNNELED, 1)
CONSTANT(MPIABI_THREAD_SERIALIZED, 2)
CONSTANT(MPIABI_THREAD_MULTIPLE, ALL_THREADS)
CONSTANT(MPIABI_SUM, 1)
CONSTANT(MPIABI_PROD, 2)
CONSTANT(MPIABI_MIN, 3)
CONSTANT(MPIABI_MAX, 4)
CONSTANT(MPIABI_INT8_T, 1)
CONSTANT(MPIABI_UINT8_T, 2)
CONSTANT(MPIABI_INT16_T, 3)
CONSTANT(MPIABI_UINT16_T, 4)
CONSTANT(MPIABI_INT32_T, 5)
CONSTANT(MPIABI_UINT32_T, 6)
CONSTANT(MPIABI_INT64_T, 7)
CONSTANT(MPIABI_UINT64_T, 8)
CONSTANT(MPIABI_FLOAT, 9)
CONSTANT(MPIABI_DOUBLE, 10)
CONSTANT(MPIABI_C_COMPLEX, 11)
CONSTANT(MPIABI_C_DOUBLE_COMPLEX, 12)
CONSTANT(MPIABI_BYTE, 13)
#include "hemiola/bindings/jax/other_names.inc"

}  // extern "C"
#pragma GCC visibility pop
