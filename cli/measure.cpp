#include "cli/measure.hpp"

#include <algorithm>
#include <chrono>

namespace wgrad::cli {

std::vector<double> measure(const Executable& executable, const Workload& workload, Memory& memory,
                            int repeats) {
  std::vector<double> times;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    const auto start = std::chrono::steady_clock::now();
    executable.run(workload.device_operands());
    memory.wait();
    const std::chrono::duration<double, std::milli> elapsed =
        std::chrono::steady_clock::now() - start;
    times.push_back(elapsed.count());
  }
  return times;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

}  // namespace wgrad::cli
