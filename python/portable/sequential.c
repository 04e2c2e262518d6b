// The part of GNU's OpenMP that oneDNN calls, for one thread: wgrad brings its own, and a wheel
// that held a second OpenMP would share or fight over that of torch. Names and types: GCC's libgomp
// (libgomp_g.h, omp.h.in).
#include <stdbool.h>
#include <stddef.h>

void omp_set_num_threads(int threads) {
  (void)threads;
}
int omp_get_max_threads(void) {
  return 1;
}
int omp_get_num_threads(void) {
  return 1;
}
int omp_get_thread_num(void) {
  return 0;
}
int omp_in_parallel(void) {
  return 0;
}

// The caller runs the region's function itself, between these two.
void GOMP_parallel_start(void (*region)(void*), void* data, unsigned threads) {
  (void)region, (void)data, (void)threads;
}
void GOMP_parallel_end(void) {}
void GOMP_barrier(void) {}

// One thread's share is the whole loop.
bool GOMP_loop_static_start(long start, long end, long step, long chunk, long* first, long* last) {
  (void)chunk;
  *first = start;
  *last = end;
  return step > 0 ? start < end : start > end;
}
bool GOMP_loop_static_next(long* first, long* last) {
  (void)first, (void)last;
  return false;
}
void GOMP_loop_end_nowait(void) {}
