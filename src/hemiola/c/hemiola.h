/* SPDX-License-Identifier: Apache-2.0 */
/* Collective communication from C: libhemiola, the core of Hemiola without Python. docs/how-to/c.md has examples.
 *
 * A communicator is a set of ranks that run operations together. Every rank makes the same calls in the same order.
 * Calls block until this rank's part is done.
 *
 * Threads. Any thread may call anything. Operations of one communicator run one after the other, so two threads that
 * call operations of one communicator must see to the order themselves. Messages (hemiola_send, hemiola_recv) have no
 * order with operations. A forked child has no communicators: its calls return HEMIOLA_INVALID.
 *
 * Errors. A call returns HEMIOLA_OK or what went wrong; hemiola_error() has the sentence. No call crashes over a bad
 * argument, or over a communicator that is closed. After HEMIOLA_INVALID and HEMIOLA_MISMATCH the communicator can be
 * used further. After HEMIOLA_LOST_RANK and HEMIOLA_TIMEOUT it can be shrunk, grown or closed. Inputs are then as they
 * were; an output that is not an input may hold part of a result.
 */
#ifndef HEMIOLA_H
#define HEMIOLA_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define HEMIOLA_API __attribute__((visibility("default")))
#else
#define HEMIOLA_API
#endif

/* A communicator. Its pointer is only a name: it is never used again, and nobody may look behind it. */
typedef struct hemiola_comm hemiola_comm;

typedef enum {
  HEMIOLA_OK = 0,
  HEMIOLA_INVALID = 1,   /* this rank's arguments, environment or order of calls are wrong */
  HEMIOLA_MISMATCH = 2,  /* ranks disagree about an operation, options or encryption, or another's arguments are wrong */
  HEMIOLA_LOST_RANK = 3, /* a rank has died or left, which the sentence names */
  HEMIOLA_TIMEOUT = 4,   /* a rank lives and did not come, which the sentence names */
  HEMIOLA_MINORITY = 5,  /* the other ranks have gone on without this one */
  HEMIOLA_LEFT = 6,      /* hemiola_grow: this rank has left, as it said; close the communicator */
  HEMIOLA_SYSTEM = 7,    /* the system has refused memory, a descriptor or a thread */
  HEMIOLA_INTERNAL = 8   /* a bug in Hemiola */
} hemiola_result;

typedef enum {
  HEMIOLA_INT8 = 0,
  HEMIOLA_INT16 = 1,
  HEMIOLA_INT32 = 2,
  HEMIOLA_INT64 = 3,
  HEMIOLA_UINT8 = 4,
  HEMIOLA_UINT16 = 5,
  HEMIOLA_UINT32 = 6,
  HEMIOLA_UINT64 = 7,
  HEMIOLA_FLOAT16 = 8,  /* combined as float32 and rounded to nearest even, as is bfloat16 */
  HEMIOLA_BFLOAT16 = 9,
  HEMIOLA_FLOAT32 = 10,
  HEMIOLA_FLOAT64 = 11
} hemiola_type;

typedef enum {
  HEMIOLA_SUM = 0,
  HEMIOLA_PRODUCT = 1,
  HEMIOLA_MIN = 2,
  HEMIOLA_MAX = 3,
  HEMIOLA_AVERAGE = 4 /* of floats */
} hemiola_op;

/* The rank of a process that joins a running job. */
#define HEMIOLA_NEWCOMER (-1)
/* The sender of a message that may come from any rank. */
#define HEMIOLA_ANY (-1)

/* Join the ranks of this job, as a launcher's environment describes it: `hemiola launch`, torchrun, Open MPI's or
 * MPICH's mpirun, or Slurm's srun. A process has one such communicator at a time. `timeout_s`: how long to wait for the
 * others, here and in each operation; 0 means HEMIOLA_TIMEOUT, or 300. */
HEMIOLA_API hemiola_result hemiola_init(double timeout_s, hemiola_comm** comm);

/* Join without a launcher. `meet_at` is a name, the same on all ranks of one host, or the "host:port" at which rank 0
 * listens; then HEMIOLA_TOKEN has the job's secret. With HEMIOLA_NEWCOMER as `rank` and 0 as `rank_count` come into a
 * job that runs: return once its ranks have called hemiola_grow. A job of `hemiola launch` meets at
 * "hemiola-JOB-0", where JOB is its HEMIOLA_JOB. */
HEMIOLA_API hemiola_result hemiola_join(const char* meet_at, int rank, int rank_count, double timeout_s,
                                        hemiola_comm** comm);

/* This process's number, 0 … size - 1, and how many there are; -1 for what is no open communicator. */
HEMIOLA_API int hemiola_rank(const hemiola_comm* comm);
HEMIOLA_API int hemiola_size(const hemiola_comm* comm);

/* `input` and `output` may be the same memory. Of hemiola_all_gather, `input` may be the rank's own block of `output`,
 * and of hemiola_reduce_scatter the other way round. Any other overlap is an error. `count` is of elements. */

/* Combine `count` elements of every rank; all get the result. */
HEMIOLA_API hemiola_result hemiola_all_reduce(hemiola_comm* comm, const void* input, void* output, int64_t count,
                                              hemiola_type type, hemiola_op op);
/* Every rank brings `count` elements; all get size * count, in the order of ranks. */
HEMIOLA_API hemiola_result hemiola_all_gather(hemiola_comm* comm, const void* input, void* output, int64_t count,
                                              hemiola_type type);
/* Combine size * count elements of every rank; rank r gets the r-th `count` of the result. */
HEMIOLA_API hemiola_result hemiola_reduce_scatter(hemiola_comm* comm, const void* input, void* output,
                                                  int64_t count, hemiola_type type, hemiola_op op);
/* Every rank sends `count` elements to each rank: block r of `input` goes to rank r, whose blocks are in the order of
 * the senders. */
HEMIOLA_API hemiola_result hemiola_all_to_all(hemiola_comm* comm, const void* input, void* output, int64_t count,
                                              hemiola_type type);
/* The root's `count` elements go to all. */
HEMIOLA_API hemiola_result hemiola_broadcast(hemiola_comm* comm, void* data, int64_t count, hemiola_type type,
                                             int root);
/* Return once all ranks have called this. */
HEMIOLA_API hemiola_result hemiola_barrier(hemiola_comm* comm);

/* A message to one rank. It is received by a call with the same tag (0 or more), type and count. */
HEMIOLA_API hemiola_result hemiola_send(hemiola_comm* comm, const void* data, int64_t count, hemiola_type type,
                                        int to, int64_t tag);
/* `from` may be HEMIOLA_ANY; `sender`, which may be NULL, gets the rank whose message came. */
HEMIOLA_API hemiola_result hemiola_recv(hemiola_comm* comm, void* data, int64_t count, hemiola_type type, int from,
                                        int64_t tag, int* sender);

/* Go on with the ranks that live: from now on the communicator is theirs, numbered in the old order. Each of them calls
 * this. After HEMIOLA_TIMEOUT it may be called again. */
HEMIOLA_API hemiola_result hemiola_shrink(hemiola_comm* comm);
/* Go on with the ranks that live, without those that leave, and with newcomers. All call this after the same operation,
 * such as one after which hemiola_is_called is 1. A rank that leaves gets HEMIOLA_LEFT. */
HEMIOLA_API hemiola_result hemiola_grow(hemiola_comm* comm);
/* Say that this rank leaves at the next hemiola_grow. */
HEMIOLA_API hemiola_result hemiola_leave(hemiola_comm* comm);
/* 1 where a newcomer waits or a rank leaves, so that all are to call hemiola_grow; else 0. The same on all ranks after
 * the same operation; -1 for what is no open communicator. */
HEMIOLA_API int hemiola_is_called(const hemiola_comm* comm);

/* The sentence of the latest failed call of this communicator, or with NULL of this thread; "" where none failed. The
 * text stays until this thread asks again. */
HEMIOLA_API const char* hemiola_error(const hemiola_comm* comm);

/* End it; other threads' calls end with HEMIOLA_LOST_RANK. Every process closes what it opened before it ends: the
 * others take one that ends without it for dead. */
HEMIOLA_API hemiola_result hemiola_close(hemiola_comm* comm);

#ifdef __cplusplus
}
#endif

#endif
