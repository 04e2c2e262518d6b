#include "launch/fault_records.hpp"

#include <algorithm>
#include <atomic>

#include "launch/driver/driver.hpp"
#include "validate/fault_text.hpp"

namespace wgrad::launch {
namespace {

using shared::FaultKind;
using shared::FaultRecord;

constexpr std::size_t kPageBytes = 65536;

FaultKind kind_of(FaultRecord& record) {
  return static_cast<FaultKind>(std::atomic_ref(record.kind).load(std::memory_order_acquire));
}

void clear_record(FaultRecord& record) {
  record.expert = 0;
  record.value = 0;
  record.limit = 0;
  std::atomic_ref(record.kind).store(0, std::memory_order_release);
}

}  // namespace

FaultPool::FaultPool(const DriverApi& api, int records_per_group)
    : api_(api), records_(static_cast<std::size_t>(std::max(records_per_group, 1))) {}

void FaultPool::grow() {
  void* host = nullptr;
  CuAddress device = 0;
  check(api_, api_.host_alloc(&host, kPageBytes, kCuHostPortable | kCuHostDeviceMap),
        "no pinned host memory for fault records");
  check(api_, api_.host_device_pointer(&device, host, 0),
        "pinned host memory has no device address");
  const std::size_t bytes = records_ * sizeof(FaultRecord);
  for (std::size_t at = 0; at + bytes <= kPageBytes; at += bytes) {
    free_.push_back({reinterpret_cast<FaultRecord*>(static_cast<char*>(host) + at), device + at});
  }
}

FaultPool::Group FaultPool::take() {
  const std::lock_guard lock(mutex_);
  if (free_.empty()) grow();
  const Group group = free_.front();
  free_.pop_front();
  for (std::size_t i = 0; i < records_; ++i) clear_record(group.host[i]);
  return group;
}

void FaultPool::give_back(Group group) {
  const std::lock_guard lock(mutex_);
  free_.push_back(group);
}

FaultRecords::FaultRecords(FaultPool& pool, int devices)
    : pool_(pool), devices_(devices), group_(pool.take()) {}

FaultRecords::~FaultRecords() {
  pool_.give_back(group_);
}

CuAddress FaultRecords::address(int device) const noexcept {
  return group_.device + static_cast<CuAddress>(device) * sizeof(FaultRecord);
}

std::optional<DeviceFault> FaultRecords::first() const {
  for (int device = 0; device < devices_; ++device) {
    FaultRecord& record = group_.host[device];
    const FaultKind kind = kind_of(record);
    if (kind == FaultKind::kNone) continue;
    return DeviceFault{validate::fault_text(kind), record.expert, record.value, record.limit};
  }
  return std::nullopt;
}

void FaultRecords::clear() noexcept {
  for (int device = 0; device < devices_; ++device) clear_record(group_.host[device]);
}

}  // namespace wgrad::launch
