// Ordinary accesses and fences: arch/ptx/memory.cuh.
#pragma once

#include "wgrad/arch/emu/instructions.hpp"

namespace wgrad::device::arch {

struct Chunk {  // 16 bytes
  u32 word[4];
};

struct Quad {
  float value[4];
};

struct HalfChunk {  // 8 bytes
  u32 word[2];
};

template <typename T>
WGRAD_DEVICE T shared_value(u32 address) {
  T value{};
  emu::load_shared(address, &value, sizeof value);
  return value;
}
template <typename T>
WGRAD_DEVICE T global_value(u64 address) {
  T value{};
  emu::load_global(address, &value, sizeof value);
  return value;
}

WGRAD_DEVICE u32 shared_base() {
  return emu::shared_base();
}
WGRAD_DEVICE void fence_async_shared() {
  emu::fence_async_shared();
}

WGRAD_DEVICE void store_shared(u32 address, Chunk c) {
  emu::store_shared(address, &c, sizeof c);
}
WGRAD_DEVICE void store_shared_cluster(u32 mapped_address, const Quad& q) {
  emu::store_shared_cluster(mapped_address, &q, sizeof q);
}
WGRAD_DEVICE void store_shared_cluster_u32(u32 mapped_address, u32 value) {
  emu::store_shared_cluster(mapped_address, &value, sizeof value);
}
WGRAD_DEVICE Quad load_shared_quad(u32 address) {
  return shared_value<Quad>(address);
}
WGRAD_DEVICE void store_shared_quad(u32 address, const Quad& q) {
  emu::store_shared(address, &q, sizeof q);
}
WGRAD_DEVICE HalfChunk load_shared_half(u32 address) {
  return shared_value<HalfChunk>(address);
}
WGRAD_DEVICE Chunk load_shared(u32 address) {
  return shared_value<Chunk>(address);
}
WGRAD_DEVICE void store_shared_pair(u32 address, float x, float y) {
  const float pair[2] = {x, y};
  emu::store_shared(address, pair, sizeof pair);
}
WGRAD_DEVICE void store_shared_u32(u32 address, u32 value) {
  emu::store_shared(address, &value, sizeof value);
}
WGRAD_DEVICE u32 load_shared_u32(u32 address) {
  return shared_value<u32>(address);
}
WGRAD_DEVICE void store_shared_u16(u32 address, u32 value) {
  const u16 half = static_cast<u16>(value);
  emu::store_shared(address, &half, sizeof half);
}
WGRAD_DEVICE u32 load_shared_u16(u32 address) {
  return shared_value<u16>(address);
}

WGRAD_DEVICE u32 load_shared_u8(u32 address) {
  return shared_value<u8>(address);
}

WGRAD_DEVICE u32 load_global_u8(u64 address) {
  return global_value<u8>(address);
}
WGRAD_DEVICE i32 load_global_i32(u64 address) {
  return global_value<i32>(address);
}
WGRAD_DEVICE float load_global_f32(u64 address) {
  return global_value<float>(address);
}
WGRAD_DEVICE u64 load_global_u64(u64 address) {
  return global_value<u64>(address);
}
WGRAD_DEVICE i32 compare_and_swap_global(u64 address, i32 expected, i32 desired) {
  return emu::compare_and_swap_global(address, expected, desired);
}
WGRAD_DEVICE void store_global(u64 address, Chunk c) {
  emu::store_global(address, &c, sizeof c);
}
WGRAD_DEVICE u32 add_global_u32(u64 address, u32 value) {
  return emu::add_global(address, value);
}
WGRAD_DEVICE u32 add_global_release_u32(u64 address, u32 value) {
  return emu::add_global_release(address, value);
}
WGRAD_DEVICE u32 load_global_acquire_u32(u64 address) {
  return emu::load_global_acquire(address);
}
WGRAD_DEVICE void wait_global_acquire(u64 address, u32 least) {
  emu::wait_global_acquire(address, least);
}
WGRAD_DEVICE void store_global_quad(u64 address, const Quad& q) {
  emu::store_global(address, &q, sizeof q);
}
WGRAD_DEVICE Quad load_global_quad(u64 address) {
  return global_value<Quad>(address);
}
WGRAD_DEVICE void store_global_i32(u64 address, i32 value) {
  emu::store_global(address, &value, sizeof value);
}
WGRAD_DEVICE void store_global_i64(u64 address, i64 value) {
  emu::store_global(address, &value, sizeof value);
}
WGRAD_DEVICE float load_output_f32(u64 address) {
  return global_value<float>(address);
}
WGRAD_DEVICE void store_output_f32(u64 address, float value) {
  emu::store_global(address, &value, sizeof value);
}
WGRAD_DEVICE u32 load_output_u16(u64 address) {
  return global_value<u16>(address);
}
WGRAD_DEVICE void store_output_u16(u64 address, u32 value) {
  const u16 half = static_cast<u16>(value);
  emu::store_global(address, &half, sizeof half);
}

}  // namespace wgrad::device::arch
