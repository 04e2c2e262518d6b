// Where kernels leave word of faulty device data: pinned host memory that every device can write
// and the host reads without a synchronisation.
#pragma once

#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>

#include "launch/driver/driver_api.hpp"
#include "wgrad/executable.hpp"
#include "wgrad/shared/params.hpp"

namespace wgrad::launch {

/// Groups of records, one record a device. Grows by pages; never shrinks. A group given back is the
/// last to be handed out again, since a graph captured earlier may still write to it.
class FaultPool {
 public:
  FaultPool(const DriverApi& api, int records_per_group);

  struct Group {
    shared::FaultRecord* host = nullptr;
    CuAddress device = 0;
  };
  /// A cleared group. The first call, and one in some hundreds, takes pinned memory: a context must
  /// be current then.
  Group take();
  void give_back(Group group);

 private:
  void grow();

  const DriverApi& api_;
  std::size_t records_;
  std::mutex mutex_;
  std::deque<Group> free_;
};

/// One operator's records, from any pool to its end.
class FaultRecords {
 public:
  FaultRecords(FaultPool& pool, int devices);
  FaultRecords(const FaultRecords&) = delete;
  FaultRecords& operator=(const FaultRecords&) = delete;
  ~FaultRecords();

  /// Address of device `device`'s record, for a kernel.
  CuAddress address(int device) const noexcept;
  /// The first record that holds a fault.
  std::optional<DeviceFault> first() const;
  void clear() noexcept;

 private:
  FaultPool& pool_;
  int devices_;
  FaultPool::Group group_;
};

}  // namespace wgrad::launch
