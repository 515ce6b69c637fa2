/* SPDX-License-Identifier: Apache-2.0 */
/* One rank of c_call.py: prints the median of so many all-reduces of so many bytes, in seconds. */
#include <hemiola.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int by_value(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

int main(int argc, char** argv) {
  hemiola_comm* comm;
  if (argc != 3 || hemiola_init(0, &comm) != HEMIOLA_OK) return 1;
  const int calls = atoi(argv[1]), count = atoi(argv[2]) / 4;
  double* taken_s = malloc((size_t)calls * sizeof *taken_s);
  float *in = calloc((size_t)count, 4), *out = calloc((size_t)count, 4);
  for (int call = 0; call < calls; ++call) {
    const double begin_s = now_s();
    if (hemiola_all_reduce(comm, in, out, count, HEMIOLA_FLOAT32, HEMIOLA_SUM) != HEMIOLA_OK) return 1;
    taken_s[call] = now_s() - begin_s;
  }
  qsort(taken_s, (size_t)calls, sizeof *taken_s, by_value);
  if (hemiola_rank(comm) == 0) printf("%.9f\n", taken_s[calls / 2]);
  return hemiola_close(comm) != HEMIOLA_OK;
}
