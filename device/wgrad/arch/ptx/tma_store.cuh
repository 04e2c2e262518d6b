// Boxes of a 4-D tensor map from shared memory to global memory. PTX: "cp.async.bulk.tensor"
// (shared::cta to global), "cp.reduce.async.bulk.tensor", "createpolicy",
// "cp.async.bulk.commit_group / wait_group". Parts outside the tensor are not written. Groups
// belong to the issuing thread: only it can wait for them.
#pragma once

namespace wgrad::device::arch {

// First to leave L2, where the operands are to stay
// (docs/notes/2026-11-29-outputs-leave-l2-first.md).
WGRAD_DEVICE void store_box(const TensorMap& map, u32 source, const Coord& x) {
  asm volatile(
      "{\n.reg .b64 policy;\n"
      "createpolicy.fractional.L2::evict_first.b64 policy, 1.0;\n"
      "cp.async.bulk.tensor.4d.global.shared::cta.bulk_group.L2::cache_hint"
      " [%0, {%2, %3, %4, %5}], [%1], policy;\n}" ::"l"(&map),
      "r"(source), "r"(x.c[0]), "r"(x.c[1]), "r"(x.c[2]), "r"(x.c[3])
      : "memory");
}

// Adds in the map's element type, in L2.
WGRAD_DEVICE void add_box(const TensorMap& map, u32 source, const Coord& x) {
  asm volatile(
      "cp.reduce.async.bulk.tensor.4d.global.shared::cta.add.tile.bulk_group [%0, {%2, %3, %4, "
      "%5}], [%1];" ::"l"(&map),
      "r"(source), "r"(x.c[0]), "r"(x.c[1]), "r"(x.c[2]), "r"(x.c[3])
      : "memory");
}

WGRAD_DEVICE void commit_stores() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

// Until at most kPending of this thread's groups still read shared memory.
template <u32 kPending>
WGRAD_DEVICE void wait_stores_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(kPending) : "memory");
}

// Until all of this thread's groups are complete in global memory.
WGRAD_DEVICE void wait_stores() {
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

}  // namespace wgrad::device::arch
