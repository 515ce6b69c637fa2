/* SPDX-License-Identifier: Apache-2.0 */
/* Every rank brings a number; all print the mean, and go on without a rank that dies. `hemiola launch -n 4 ./mean` */
#include <hemiola.h>
#include <stdio.h>

int main(void) {
  hemiola_comm* comm;
  if (hemiola_init(0, &comm) != HEMIOLA_OK) {
    fprintf(stderr, "%s\n", hemiola_error(NULL));
    return 1;
  }
  double mean = hemiola_rank(comm);
  const double own = mean;
  hemiola_result result;
  while ((result = hemiola_all_reduce(comm, &own, &mean, 1, HEMIOLA_FLOAT64, HEMIOLA_AVERAGE)) != HEMIOLA_OK) {
    fprintf(stderr, "%s\n", hemiola_error(comm));
    if (result != HEMIOLA_LOST_RANK || hemiola_shrink(comm) != HEMIOLA_OK) return 1;
  }
  printf("rank %d of %d: the mean is %g\n", hemiola_rank(comm), hemiola_size(comm), mean);
  return hemiola_close(comm) != HEMIOLA_OK;
}
