// Ordinary loads and stores by shared address (u32) or global address (u64), and fences between
// proxies. PTX: "ld", "st", "atom", "fence.proxy.async", "createpolicy".
#pragma once

namespace wgrad::device::arch {

extern __shared__ __align__(1024) u8 dynamic_shared_memory[];

struct Chunk {  // 16 bytes
  u32 word[4];
};

// Accumulators go to memory as what they are: a conversion to 32-bit words, which costs nothing
// elsewhere, makes the compiler move them about in the main loop
// (docs/notes/2026-11-30-accumulators-as-words.md).
struct Quad {
  float value[4];
};

WGRAD_DEVICE u32 shared_base() {
  return static_cast<u32>(__cvta_generic_to_shared(dynamic_shared_memory));
}

// Ordinary accesses to shared memory before it are ordered before copy engine and wgmma accesses
// after it.
WGRAD_DEVICE void fence_async_shared() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

WGRAD_DEVICE void store_shared(u32 address, Chunk c) {
  asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(c.word[0]),
               "r"(c.word[1]), "r"(c.word[2]), "r"(c.word[3])
               : "memory");
}
WGRAD_DEVICE Chunk load_shared(u32 address) {
  Chunk c;
  asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
               : "=r"(c.word[0]), "=r"(c.word[1]), "=r"(c.word[2]), "=r"(c.word[3])
               : "r"(address)
               : "memory");
  return c;
}
struct HalfChunk {  // 8 bytes
  u32 word[2];
};
WGRAD_DEVICE HalfChunk load_shared_half(u32 address) {
  HalfChunk c;
  asm volatile("ld.shared.v2.b32 {%0, %1}, [%2];"
               : "=r"(c.word[0]), "=r"(c.word[1])
               : "r"(address)
               : "memory");
  return c;
}
WGRAD_DEVICE Quad load_shared_quad(u32 address) {
  Quad q;
  asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(q.value[0]), "=f"(q.value[1]), "=f"(q.value[2]), "=f"(q.value[3])
               : "r"(address)
               : "memory");
  return q;
}
WGRAD_DEVICE void store_shared_quad(u32 address, const Quad& q) {
  asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(address), "f"(q.value[0]),
               "f"(q.value[1]), "f"(q.value[2]), "f"(q.value[3])
               : "memory");
}
WGRAD_DEVICE void store_shared_pair(u32 address, float x, float y) {
  asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(address), "f"(x), "f"(y) : "memory");
}
WGRAD_DEVICE void store_shared_u32(u32 address, u32 value) {
  asm volatile("st.shared.u32 [%0], %1;" ::"r"(address), "r"(value) : "memory");
}
WGRAD_DEVICE u32 load_shared_u32(u32 address) {
  u32 value;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(value) : "r"(address) : "memory");
  return value;
}
WGRAD_DEVICE void store_shared_u16(u32 address, u32 value) {
  asm volatile("st.shared.u16 [%0], %1;" ::"r"(address), "h"(static_cast<u16>(value)) : "memory");
}
WGRAD_DEVICE u32 load_shared_u16(u32 address) {
  u16 value;
  asm volatile("ld.shared.u16 %0, [%1];" : "=h"(value) : "r"(address) : "memory");
  return value;
}

// Offsets and pointers are constant from grid_dependency_wait on, not from the kernel's start on:
// so not by the read-only path.
WGRAD_DEVICE u32 load_shared_u8(u32 address) {
  u32 value;
  asm volatile("ld.shared.u8 %0, [%1];" : "=r"(value) : "r"(address) : "memory");
  return value;
}

WGRAD_DEVICE u32 load_global_u8(u64 address) {
  u32 value;
  asm volatile("ld.global.u8 %0, [%1];" : "=r"(value) : "l"(address) : "memory");
  return value;
}
WGRAD_DEVICE i32 load_global_i32(u64 address) {
  i32 value;
  asm volatile("ld.global.s32 %0, [%1];" : "=r"(value) : "l"(address) : "memory");
  return value;
}
WGRAD_DEVICE u64 load_global_u64(u64 address) {
  u64 value;
  asm volatile("ld.global.u64 %0, [%1];" : "=l"(value) : "l"(address) : "memory");
  return value;
}

// Output elements: read and written by one thread, so ordinary accesses.
WGRAD_DEVICE float load_output_f32(u64 address) {
  float value;
  asm volatile("ld.global.f32 %0, [%1];" : "=f"(value) : "l"(address) : "memory");
  return value;
}
WGRAD_DEVICE void store_output_f32(u64 address, float value) {
  asm volatile("st.global.f32 [%0], %1;" ::"l"(address), "f"(value) : "memory");
}
WGRAD_DEVICE u32 load_output_u16(u64 address) {
  u16 value;
  asm volatile("ld.global.u16 %0, [%1];" : "=h"(value) : "l"(address) : "memory");
  return value;
}
WGRAD_DEVICE void store_output_u16(u64 address, u32 value) {
  asm volatile("st.global.u16 [%0], %1;" ::"l"(address), "h"(static_cast<u16>(value)) : "memory");
}

// The value that was there.
WGRAD_DEVICE i32 compare_and_swap_global(u64 address, i32 expected, i32 desired) {
  i32 old;
  asm volatile("atom.global.cas.b32 %0, [%1], %2, %3;"
               : "=r"(old)
               : "l"(address), "r"(expected), "r"(desired)
               : "memory");
  return old;
}
WGRAD_DEVICE void store_global(u64 address, Chunk c) {
  asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(address), "r"(c.word[0]),
               "r"(c.word[1]), "r"(c.word[2]), "r"(c.word[3])
               : "memory");
}
WGRAD_DEVICE u32 add_global_u32(u64 address, u32 value) {
  u32 old;
  asm volatile("atom.global.add.u32 %0, [%1], %2;"
               : "=r"(old)
               : "l"(address), "r"(value)
               : "memory");
  return old;
}
// The same; what this thread did or knows of comes before it, and whatever follows it comes after
// what others released so at this address before: for the whole GPU.
WGRAD_DEVICE u32 add_global_release_u32(u64 address, u32 value) {
  u32 old;
  asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], %2;"
               : "=r"(old)
               : "l"(address), "r"(value)
               : "memory");
  return old;
}
WGRAD_DEVICE u32 load_global_acquire_u32(u64 address) {
  u32 value;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(address) : "memory");
  return value;
}
// Until the number there is at least that: as an acquiring load then.
WGRAD_DEVICE void wait_global_acquire(u64 address, u32 least) {
  while (load_global_acquire_u32(address) < least) {
  }
}
WGRAD_DEVICE void store_global_quad(u64 address, const Quad& q) {
  asm volatile("st.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(address), "f"(q.value[0]),
               "f"(q.value[1]), "f"(q.value[2]), "f"(q.value[3])
               : "memory");
}
WGRAD_DEVICE Quad load_global_quad(u64 address) {
  Quad q;
  asm volatile("ld.global.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(q.value[0]), "=f"(q.value[1]), "=f"(q.value[2]), "=f"(q.value[3])
               : "l"(address)
               : "memory");
  return q;
}
WGRAD_DEVICE void store_global_i32(u64 address, i32 value) {
  asm volatile("st.global.s32 [%0], %1;" ::"l"(address), "r"(value) : "memory");
}
WGRAD_DEVICE void store_global_i64(u64 address, i64 value) {
  asm volatile("st.global.s64 [%0], %1;" ::"l"(address), "l"(value) : "memory");
}

}  // namespace wgrad::device::arch
