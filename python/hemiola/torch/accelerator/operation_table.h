/* What compiled code beside the core may call: the operations of a communicator, as functions of C. The core exports one
 * table as the capsule `hemiola._core._operation_table`; whoever uses it reads `version` first. So what is compiled
 * against PyTorch needs no part of the core, runs in the core's one engine, and works with ranks that do without it. */
#ifndef HEMIOLA_OPERATION_TABLE_H
#define HEMIOLA_OPERATION_TABLE_H

#include <Python.h>
#include <stdint.h>

#define HEMIOLA_OPERATION_TABLE "hemiola._core._operation_table"
/* Changes with whatever is below. */
#define HEMIOLA_OPERATION_TABLE_VERSION 1

/* One rank's call of a collective, as of hemiola.Communicator. Arrays are contiguous. */
struct HemiolaCall {
  int kind;         /* of `kind` below */
  int op;           /* of `op`; 0 where nothing is reduced */
  int dtype;        /* of `dtype` */
  int64_t root;     /* 0 where there is none */
  double timeout_s; /* 0: the communicator's */
  void* input;      /* what this rank brings */
  int64_t input_count; /* in elements; -1: it brings nothing */
  void* output;     /* where its result goes; may be the input */
  int64_t output_count; /* in elements; -1: it gets nothing */
};

/* An operation in the background. */
struct HemiolaPending;
/* Why one has failed. */
struct HemiolaFailure;

struct HemiolaOperationTable {
  uint32_t version;

  /* The numbers of names as Python writes them; -1: there is none such. */
  int (*kind)(const char* name);
  int (*op)(const char* name);
  int (*dtype)(const char* name);

  /* These are called with the GIL, which they let go of while they wait, and on failure set Python's error.
   *
   * Runs an operation on a `hemiola._core.Communicator`; 0, or -1 on failure. */
  int (*run)(PyObject* communicator, const struct HemiolaCall* call);
  /* Starts one; null on failure. `release(owner)` is called, without the GIL and by any thread, once the arrays are no
   * longer needed, also on failure. */
  struct HemiolaPending* (*start)(PyObject* communicator, const struct HemiolaCall* call, void (*release)(void*),
                                  void* owner);
  /* The same operation as a `hemiola._core.PendingOperation`, a new reference. */
  PyObject* (*as_python)(struct HemiolaPending* pending);
  /* Sets Python's error; the failure is gone. */
  void (*raise)(struct HemiolaFailure* failure);

  /* These are called without the GIL.
   *
   * 1: it is over; 0: it still runs after the time; -1: it has failed, or a signal's handler has raised, in `*failure`. */
  int (*wait)(struct HemiolaPending* pending, double timeout_s, struct HemiolaFailure** failure);
  int (*is_over)(struct HemiolaPending* pending);
  /* Calls `then(what)` once it is over, in the thread that runs operations, which must not be held up, or at once. */
  void (*when_over)(struct HemiolaPending* pending, void (*then)(void*), void* what);
  /* The pointer is of no more use; the operation goes on. */
  void (*forget)(struct HemiolaPending* pending);
};

#endif
