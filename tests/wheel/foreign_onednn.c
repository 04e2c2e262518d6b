// Names of oneDNN in everybody's reach: whoever binds to them aborts.
#include <stdlib.h>

#define ABORTS(name) \
  void name(void) {  \
    abort();         \
  }

ABORTS(dnnl_version)
ABORTS(dnnl_sgemm)
ABORTS(dnnl_engine_create)
ABORTS(dnnl_memory_create)
ABORTS(dnnl_primitive_execute)
ABORTS(dnnl_get_effective_cpu_isa)
