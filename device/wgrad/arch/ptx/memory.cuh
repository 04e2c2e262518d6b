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

// One instruction; `kind` is the register's constraint, `space` the address's: "r" shared, "l"
// global.
#define WGRAD_LOAD(Register, kind, instruction, space)                                  \
  Register value;                                                                       \
  asm volatile(instruction " %0, [%1];" : "=" kind(value) : space(address) : "memory"); \
  return value
#define WGRAD_STORE(instruction, space, kind, value) \
  asm volatile(instruction " [%0], %1;" ::space(address), kind(value) : "memory")
#define WGRAD_LOAD_4(Result, field, kind, instruction, space)                      \
  Result c;                                                                        \
  asm volatile(instruction " {%0, %1, %2, %3}, [%4];"                              \
               : "=" kind(c.field[0]), "=" kind(c.field[1]), "=" kind(c.field[2]), \
                 "=" kind(c.field[3])                                              \
               : space(address)                                                    \
               : "memory");                                                        \
  return c
#define WGRAD_STORE_4(instruction, space, kind, words)                                  \
  asm volatile(instruction " [%0], {%1, %2, %3, %4};" ::space(address), kind(words[0]), \
               kind(words[1]), kind(words[2]), kind(words[3])                           \
               : "memory")

WGRAD_DEVICE void store_shared(u32 address, Chunk c) {
  WGRAD_STORE_4("st.shared.v4.b32", "r", "r", c.word);
}
WGRAD_DEVICE Chunk load_shared(u32 address) {
  WGRAD_LOAD_4(Chunk, word, "r", "ld.shared.v4.b32", "r");
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
  WGRAD_LOAD_4(Quad, value, "f", "ld.shared.v4.f32", "r");
}
WGRAD_DEVICE void store_shared_quad(u32 address, const Quad& q) {
  WGRAD_STORE_4("st.shared.v4.f32", "r", "f", q.value);
}
WGRAD_DEVICE void store_shared_pair(u32 address, float x, float y) {
  asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(address), "f"(x), "f"(y) : "memory");
}
WGRAD_DEVICE void store_shared_u32(u32 address, u32 value) {
  WGRAD_STORE("st.shared.u32", "r", "r", value);
}
WGRAD_DEVICE u32 load_shared_u32(u32 address) {
  WGRAD_LOAD(u32, "r", "ld.shared.u32", "r");
}
WGRAD_DEVICE void store_shared_u16(u32 address, u32 value) {
  WGRAD_STORE("st.shared.u16", "r", "h", static_cast<u16>(value));
}
WGRAD_DEVICE u32 load_shared_u16(u32 address) {
  WGRAD_LOAD(u16, "h", "ld.shared.u16", "r");
}
WGRAD_DEVICE u32 load_shared_u8(u32 address) {
  WGRAD_LOAD(u32, "r", "ld.shared.u8", "r");
}

// Offsets and pointers are constant from grid_dependency_wait on, not from the kernel's start on:
// so not by the read-only path.
WGRAD_DEVICE u32 load_global_u8(u64 address) {
  WGRAD_LOAD(u32, "r", "ld.global.u8", "l");
}
WGRAD_DEVICE i32 load_global_i32(u64 address) {
  WGRAD_LOAD(i32, "r", "ld.global.s32", "l");
}
WGRAD_DEVICE float load_global_f32(u64 address) {
  WGRAD_LOAD(float, "f", "ld.global.f32", "l");
}
WGRAD_DEVICE u64 load_global_u64(u64 address) {
  WGRAD_LOAD(u64, "l", "ld.global.u64", "l");
}

// Output elements: read and written by one thread, so ordinary accesses.
WGRAD_DEVICE float load_output_f32(u64 address) {
  WGRAD_LOAD(float, "f", "ld.global.f32", "l");
}
WGRAD_DEVICE void store_output_f32(u64 address, float value) {
  WGRAD_STORE("st.global.f32", "l", "f", value);
}
WGRAD_DEVICE u32 load_output_u16(u64 address) {
  WGRAD_LOAD(u16, "h", "ld.global.u16", "l");
}
WGRAD_DEVICE void store_output_u16(u64 address, u32 value) {
  WGRAD_STORE("st.global.u16", "l", "h", static_cast<u16>(value));
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
  WGRAD_STORE_4("st.global.v4.b32", "l", "r", c.word);
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
  WGRAD_LOAD(u32, "r", "ld.acquire.gpu.global.u32", "l");
}
// Until the number there is at least that: as an acquiring load then.
WGRAD_DEVICE void wait_global_acquire(u64 address, u32 least) {
  while (load_global_acquire_u32(address) < least) {
  }
}
WGRAD_DEVICE void store_global_quad(u64 address, const Quad& q) {
  WGRAD_STORE_4("st.global.v4.f32", "l", "f", q.value);
}
WGRAD_DEVICE Quad load_global_quad(u64 address) {
  WGRAD_LOAD_4(Quad, value, "f", "ld.global.v4.f32", "l");
}
WGRAD_DEVICE void store_global_i32(u64 address, i32 value) {
  WGRAD_STORE("st.global.s32", "l", "r", value);
}
WGRAD_DEVICE void store_global_i64(u64 address, i64 value) {
  WGRAD_STORE("st.global.s64", "l", "l", value);
}

#undef WGRAD_LOAD
#undef WGRAD_STORE
#undef WGRAD_LOAD_4
#undef WGRAD_STORE_4

}  // namespace wgrad::device::arch
