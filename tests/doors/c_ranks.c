/* SPDX-License-Identifier: Apache-2.0 */
/* A rank in C for tests. The first argument says what it does; the last line that it prints, what came of it. */
#include <hemiola.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MOST 70000
#define RANKS 16

static hemiola_comm* comm;
static int rank, size;

static double now_s(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void require(int holds, const char* what) {
  if (holds) return;
  printf("rank %d: wrong: %s: %s\n", rank, what, hemiola_error(comm));
  exit(1);
}

static void done(hemiola_result result, const char* what) { require(result == HEMIOLA_OK, what); }

static void place(void) {
  rank = hemiola_rank(comm);
  size = hemiola_size(comm);
}

/* A value that tells rank and index apart, small enough that a float16 holds sums of them. */
static int value(int of_rank, int64_t index) { return of_rank + 1 + (int)(index % 5); }

static int64_t sum_at(int64_t index) {
  int64_t sum = 0;
  for (int r = 0; r < size; ++r) sum += value(r, index);
  return sum;
}

/* A number as an element of a type, and back; float16 and bfloat16 hold whole numbers up to 256 exactly. */
static void put(void* data, hemiola_type type, int64_t index, double number) {
  switch (type) {
    case HEMIOLA_INT8: ((int8_t*)data)[index] = (int8_t)number; break;
    case HEMIOLA_INT16: ((int16_t*)data)[index] = (int16_t)number; break;
    case HEMIOLA_INT32: ((int32_t*)data)[index] = (int32_t)number; break;
    case HEMIOLA_INT64: ((int64_t*)data)[index] = (int64_t)number; break;
    case HEMIOLA_UINT8: ((uint8_t*)data)[index] = (uint8_t)number; break;
    case HEMIOLA_UINT16: ((uint16_t*)data)[index] = (uint16_t)number; break;
    case HEMIOLA_UINT32: ((uint32_t*)data)[index] = (uint32_t)number; break;
    case HEMIOLA_UINT64: ((uint64_t*)data)[index] = (uint64_t)number; break;
    case HEMIOLA_FLOAT32: ((float*)data)[index] = (float)number; break;
    case HEMIOLA_FLOAT64: ((double*)data)[index] = number; break;
    case HEMIOLA_FLOAT16:
    case HEMIOLA_BFLOAT16: {
      float f = (float)number;
      uint32_t bits;
      memcpy(&bits, &f, sizeof bits);
      const uint32_t half = ((bits >> 23) - 112) << 10 | ((bits >> 13) & 1023);
      ((uint16_t*)data)[index] = (uint16_t)(type == HEMIOLA_BFLOAT16 ? bits >> 16 : number == 0 ? 0 : half);
    }
  }
}

static double get(const void* data, hemiola_type type, int64_t index) {
  switch (type) {
    case HEMIOLA_INT8: return ((const int8_t*)data)[index];
    case HEMIOLA_INT16: return ((const int16_t*)data)[index];
    case HEMIOLA_INT32: return ((const int32_t*)data)[index];
    case HEMIOLA_INT64: return (double)((const int64_t*)data)[index];
    case HEMIOLA_UINT8: return ((const uint8_t*)data)[index];
    case HEMIOLA_UINT16: return ((const uint16_t*)data)[index];
    case HEMIOLA_UINT32: return ((const uint32_t*)data)[index];
    case HEMIOLA_UINT64: return (double)((const uint64_t*)data)[index];
    case HEMIOLA_FLOAT32: return ((const float*)data)[index];
    case HEMIOLA_FLOAT64: return ((const double*)data)[index];
    case HEMIOLA_FLOAT16:
    case HEMIOLA_BFLOAT16: {
      const uint32_t bits = ((const uint16_t*)data)[index];
      const uint32_t wide = type == HEMIOLA_BFLOAT16 ? bits << 16
                            : bits == 0              ? 0
                                                     : ((bits >> 10) + 112) << 23 | (bits & 1023) << 13;
      float f;
      memcpy(&f, &wide, sizeof f);
      return f;
    }
  }
  return -1;
}

static double reduced(hemiola_op op, int64_t index) {
  double found = value(0, index);
  for (int r = 1; r < size; ++r) {
    const double other = value(r, index);
    switch (op) {
      case HEMIOLA_SUM:
      case HEMIOLA_AVERAGE: found += other; break;
      case HEMIOLA_PRODUCT: found *= other; break;
      case HEMIOLA_MIN: found = other < found ? other : found; break;
      case HEMIOLA_MAX: found = other > found ? other : found; break;
    }
  }
  return op == HEMIOLA_AVERAGE ? found / size : found;
}

static char in[8 * MOST * RANKS], out[8 * MOST * RANKS];

/* Every type with every operation that it has; averages only where they are exact. */
static void all_reduces(void) {
  for (int type = HEMIOLA_INT8; type <= HEMIOLA_FLOAT64; ++type)
    for (int op = HEMIOLA_SUM; op <= (type >= HEMIOLA_FLOAT16 ? HEMIOLA_AVERAGE : HEMIOLA_MAX); ++op) {
      if (op == HEMIOLA_PRODUCT && (size > 2 || type == HEMIOLA_INT8)) continue; /* beyond what small types hold */
      if (op == HEMIOLA_AVERAGE && (size & (size - 1)) != 0) continue;
      const int64_t count = 1037;
      for (int64_t i = 0; i < count; ++i) put(in, (hemiola_type)type, i, value(rank, i));
      done(hemiola_all_reduce(comm, in, out, count, (hemiola_type)type, (hemiola_op)op), "all_reduce");
      for (int64_t i = 0; i < count; ++i)
        require(get(out, (hemiola_type)type, i) == reduced((hemiola_op)op, i), "a reduced element");
    }
}

static void sizes(void) {
  static const int64_t counts[] = {0, 1, 2, 3, 255, 4096, MOST};
  for (unsigned c = 0; c < sizeof counts / sizeof *counts; ++c) {
    const int64_t count = counts[c];
    int64_t* from = (int64_t*)in;
    int64_t* to = (int64_t*)out;
    for (int64_t i = 0; i < count; ++i) from[i] = value(rank, i);
    done(hemiola_all_reduce(comm, from, from, count, HEMIOLA_INT64, HEMIOLA_SUM), "all_reduce in place");
    for (int64_t i = 0; i < count; ++i) require(from[i] == sum_at(i), "a sum in place");
    for (int64_t i = 0; i < count; ++i) from[i] = value(rank, i);
    done(hemiola_all_gather(comm, from, to, count, HEMIOLA_INT64), "all_gather");
    for (int64_t i = 0; i < count * size; ++i)
      require(to[i] == value((int)(i / count), i % count), "a gathered element");
    for (int64_t i = 0; i < count * size; ++i) from[i] = value(rank, i);
    done(hemiola_reduce_scatter(comm, from, to, count, HEMIOLA_INT64, HEMIOLA_SUM), "reduce_scatter");
    for (int64_t i = 0; i < count; ++i) require(to[i] == sum_at(rank * count + i), "a scattered sum");
    for (int64_t i = 0; i < count * size; ++i) from[i] = 1000 * rank + i % 997;
    done(hemiola_all_to_all(comm, from, to, count, HEMIOLA_INT64), "all_to_all");
    for (int64_t i = 0; i < count * size; ++i)
      require(to[i] == 1000 * (i / count) + (rank * count + i % count) % 997, "an exchanged element");
    for (int root = 0; root < size; ++root) {
      for (int64_t i = 0; i < count; ++i) from[i] = rank == root ? value(root, i) : -1;
      done(hemiola_broadcast(comm, from, count, HEMIOLA_INT64, root), "broadcast");
      for (int64_t i = 0; i < count; ++i) require(from[i] == value(root, i), "a broadcast element");
    }
  }
}

static void* send_on(void* data) {
  done(hemiola_send(comm, data, 1000, HEMIOLA_INT32, (rank + 1) % size, 7), "send");
  return NULL;
}

/* Everybody sends to the next, and so must receive meanwhile. */
static void messages(void) {
  static int32_t own[1000], got[1000];
  for (int i = 0; i < 1000; ++i) own[i] = 1000 * rank + i;
  pthread_t sender;
  require(pthread_create(&sender, NULL, send_on, own) == 0, "a thread");
  int who = -2;
  done(hemiola_recv(comm, got, 1000, HEMIOLA_INT32, HEMIOLA_ANY, 7, &who), "recv");
  pthread_join(sender, NULL);
  const int before = (rank + size - 1) % size;
  require(who == before, "the sender");
  for (int i = 0; i < 1000; ++i) require(got[i] == 1000 * before + i, "a received element");
}

static int maps_have(const char* word) {
  char line[4096];
  int found = 0;
  FILE* maps = fopen("/proc/self/maps", "r");
  require(maps != NULL, "/proc/self/maps");
  while (fgets(line, sizeof line, maps) != NULL) found |= strstr(line, word) != NULL;
  fclose(maps);
  return found;
}

static void right(void) {
  all_reduces();
  sizes();
  if (size > 1) messages();
  done(hemiola_barrier(comm), "barrier");
  require(maps_have("libhemiola"), "the library is mapped");
  printf("all right, %s\n", maps_have("python") ? "beside Python" : "no Python");
}

/* A call that must fail: prints its result and sentence. */
static void failed(const char* what, hemiola_result result) {
  printf("%s: %d: %s\n", what, (int)result, hemiola_error(NULL));
}

static void bad_alone(void) {
  hemiola_comm* other = NULL;
  float x[4] = {0};
  failed("null communicator", hemiola_all_reduce(NULL, x, x, 1, HEMIOLA_FLOAT32, HEMIOLA_SUM));
  failed("made-up communicator", hemiola_barrier((hemiola_comm*)x));
  failed("null result", hemiola_init(0, NULL));
  failed("second init", hemiola_init(0, &other));
  failed("bad timeout", hemiola_join("x", 0, 1, -1, &other));
  failed("no name", hemiola_join(NULL, 0, 1, 0, &other));
  failed("bad rank", hemiola_join("x", 3, 2, 0, &other));
  failed("message without memory", hemiola_send(comm, NULL, 1, HEMIOLA_FLOAT32, 0, 0));
  failed("message to nobody", hemiola_send(comm, x, 1, HEMIOLA_FLOAT32, size, 0));
  failed("message of bad type", hemiola_recv(comm, x, 1, (hemiola_type)99, 0, 0, NULL));
  failed("message with bad tag", hemiola_recv(comm, x, 1, HEMIOLA_FLOAT32, 0, -1, NULL));
  require(hemiola_rank(NULL) == -1 && hemiola_size(NULL) == -1 && hemiola_is_called(NULL) == -1, "-1");
}

/* Mistakes in operations, which rank 0 makes: the others learn of them. */
static void bad_together(void) {
  float x[64] = {0}, y[64] = {0};
  const int is_bad = rank == 0;
  failed("bad type", hemiola_all_reduce(comm, x, y, 1, is_bad ? (hemiola_type)99 : HEMIOLA_INT8, HEMIOLA_SUM));
  failed("bad op", hemiola_all_reduce(comm, x, y, 1, HEMIOLA_FLOAT32, is_bad ? (hemiola_op)-1 : HEMIOLA_SUM));
  failed("average of integers",
         hemiola_all_reduce(comm, x, y, 1, HEMIOLA_INT32, is_bad ? HEMIOLA_AVERAGE : HEMIOLA_SUM));
  failed("no memory", hemiola_all_reduce(comm, is_bad ? NULL : x, y, 1, HEMIOLA_FLOAT32, HEMIOLA_SUM));
  failed("negative count", hemiola_all_gather(comm, x, y, is_bad ? -1 : 1, HEMIOLA_FLOAT32));
  failed("endless count", hemiola_all_gather(comm, x, y, is_bad ? INT64_MAX : 1, HEMIOLA_FLOAT32));
  failed("overlap", hemiola_all_reduce(comm, x, is_bad ? x + 1 : y, 4, HEMIOLA_FLOAT32, HEMIOLA_SUM));
  failed("bad root", hemiola_broadcast(comm, x, 1, HEMIOLA_FLOAT32, is_bad ? -5 : 0));
  failed("other count", hemiola_all_reduce(comm, x, y, is_bad ? 2 : 1, HEMIOLA_FLOAT32, HEMIOLA_SUM));
  failed("other call", is_bad ? hemiola_barrier(comm) : hemiola_all_gather(comm, x, y, 1, HEMIOLA_FLOAT32));
}

static void bad(void) {
  bad_alone();
  if (size > 1) bad_together();
  int32_t one = 1;
  done(hemiola_all_reduce(comm, &one, &one, 1, HEMIOLA_INT32, HEMIOLA_SUM), "an operation afterwards");
  require(one == size, "its sum");
  const pid_t child = fork();
  if (child == 0) _exit(hemiola_barrier(comm) == HEMIOLA_INVALID ? 0 : 1);
  int status = 0;
  waitpid(child, &status, 0);
  require(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a forked child is refused");
  hemiola_comm* const closed = comm;
  done(hemiola_close(closed), "close");
  failed("closed communicator", hemiola_barrier(closed));
  failed("closed twice", hemiola_close(closed));
  comm = NULL;
  printf("refused all\n");
}

/* The last rank dies while the others are in an operation. */
static void die(void) {
  int64_t one = 1;
  for (int i = 0; i < 20; ++i) done(hemiola_all_reduce(comm, &one, &one, 1, HEMIOLA_INT64, HEMIOLA_MAX), "before");
  if (rank == size - 1) {
    usleep(200000);
    raise(SIGKILL);
  }
  const hemiola_result result = hemiola_all_reduce(comm, &one, &one, 1, HEMIOLA_INT64, HEMIOLA_SUM);
  printf("%d: %s\n", (int)result, hemiola_error(comm));
  require(one == 1, "the input is as it was");
  done(hemiola_shrink(comm), "shrink");
  place();
  done(hemiola_all_reduce(comm, &one, &one, 1, HEMIOLA_INT64, HEMIOLA_SUM), "all_reduce afterwards");
  require(one == size, "the survivors' sum");
  printf("%d of us go on\n", size);
}

/* Members work until the job has `most` ranks; then the last one leaves, and the others have `most` - 1. */
static void grow(int most) {
  for (int has_said = 0;;) {
    int64_t one = 1;
    done(hemiola_all_reduce(comm, &one, &one, 1, HEMIOLA_INT64, HEMIOLA_SUM), "all_reduce");
    require(one == size, "a sum");
    if (size == most && rank == size - 1 && !has_said) {
      done(hemiola_leave(comm), "leave");
      has_said = 1;
    }
    if (hemiola_is_called(comm)) {
      const hemiola_result result = hemiola_grow(comm);
      if (result == HEMIOLA_LEFT) {
        printf("left\n");
        return;
      }
      done(result, "grow");
      const int before = size;
      place();
      if (before == most && size == most - 1) {
        printf("%d stay\n", size);
        return;
      }
    }
    usleep(1000);
  }
}

/* Prints the median of 1 KiB all-reduces, in seconds. */
static int by_value(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static void timed(int repetitions) {
  static float x[256], y[256];
  double* taken = malloc(sizeof *taken * (size_t)repetitions);
  for (int i = 0; i < repetitions; ++i) {
    const double begin = now_s();
    done(hemiola_all_reduce(comm, x, y, 256, HEMIOLA_FLOAT32, HEMIOLA_SUM), "all_reduce");
    taken[i] = now_s() - begin;
  }
  qsort(taken, (size_t)repetitions, sizeof *taken, by_value);
  printf("%.9f\n", taken[repetitions / 2]);
  free(taken);
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  const char* meet_at = argc > 4 ? argv[4] : NULL;
  const hemiola_result result = meet_at != NULL ? hemiola_join(meet_at, atoi(argv[2]), atoi(argv[3]), 0, &comm)
                                                : hemiola_init(0, &comm);
  if (result != HEMIOLA_OK) {
    printf("%d: %s\n", (int)result, hemiola_error(NULL));
    return 1;
  }
  place();
  setvbuf(stdout, NULL, _IOLBF, 0);
  if (strcmp(what, "right") == 0) right();
  if (strcmp(what, "bad") == 0) bad();
  if (strcmp(what, "die") == 0) die();
  if (strcmp(what, "grow") == 0) grow(3);
  if (strcmp(what, "time") == 0) timed(argc > 2 ? atoi(argv[2]) : 1000);
  if (comm != NULL) done(hemiola_close(comm), "close");
  return 0;
}
