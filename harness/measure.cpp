#include "harness/measure.hpp"

#include <algorithm>

namespace wgrad::harness {

std::vector<double> measure(const Executable& executable, const Workload& workload, Device& device,
                            int repeats) {
  std::vector<double> times;
  times.reserve(static_cast<std::size_t>(repeats));
  for (int repeat = 0; repeat < repeats; ++repeat) {
    times.push_back(device.milliseconds([&] { executable.run(workload.device_operands()); }));
  }
  return times;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

}  // namespace wgrad::harness
