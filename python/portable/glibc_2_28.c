// What g++'s static libstdc++ calls of a glibc later than 2.28, so that it runs on that one too.
// Hidden: the process's other libraries keep their own.
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>

#define HIDDEN __attribute__((visibility("hidden")))

// glibc 2.32: non-zero while the process has one thread, which would spare atomic operations.
HIDDEN char __libc_single_threaded = 0;

// glibc 2.36, for std::random_device.
HIDDEN uint32_t arc4random(void) {
  uint32_t word;
  if (getentropy(&word, sizeof word) != 0) abort();
  return word;
}
