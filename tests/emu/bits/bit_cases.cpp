#include "emu/bits/bit_cases.hpp"

#include <fmt/format.h>

#include <utility>

#include "core/digest.hpp"
#include "emu/kernels/kernel_configs.hpp"
#include "emu/kernels/sm100_case_config.hpp"
#include "emu/kernels/sm100_kernel_configs.hpp"
#include "wgrad/scale_layout.hpp"

namespace wgrad::test {
namespace {

using shared::Config;

constexpr std::int64_t kAlignment = 256;

class AlignedDevice final : public Device {
 public:
  explicit AlignedDevice(std::shared_ptr<Device> inner) : inner_(std::move(inner)) {}

  // Allocations end at a page: whole multiples of the alignment start at one, too.
  void* allocate(std::int64_t bytes) override { return inner_->allocate(size(bytes)); }
  void release(void* pointer, std::int64_t bytes) noexcept override {
    inner_->release(pointer, size(bytes));
  }
  void upload(void* to, const void* from, std::int64_t bytes) override {
    inner_->upload(to, from, bytes);
  }
  void download(void* to, const void* from, std::int64_t bytes) override {
    inner_->download(to, from, bytes);
  }
  void protect(void* pointer, std::int64_t bytes) override {
    inner_->protect(pointer, size(bytes));
  }
  void synchronize() override { inner_->synchronize(); }
  double milliseconds(const std::function<void()>& work) override {
    return inner_->milliseconds(work);
  }
  bool is_host() const override { return inner_->is_host(); }

 private:
  static std::int64_t size(std::int64_t bytes) { return round_up(bytes, kAlignment); }

  std::shared_ptr<Device> inner_;
};

const char* name(shared::OperandLayout layout) {
  constexpr const char* kNames[] = {"mn64", "mn", "k", "k-ragged"};
  return kNames[static_cast<int>(layout)];
}
const char* name(shared::OutputType type) {
  constexpr const char* kNames[] = {"bf16", "fp16", "fp32"};
  return kNames[static_cast<int>(type)];
}

}  // namespace

BitKernels sm90_bit_kernels() {
  return {{std::begin(kKernelConfigs), std::end(kKernelConfigs)}};
}

BitKernels sm100_bit_kernels() {
  BitKernels kernels{{}, true};
  for (const auto& config : kSm100Configs) kernels.configs.push_back(case_config(config));
  return kernels;
}

std::vector<KernelCase> bit_cases(const BitKernels& kernels) {
  std::vector<KernelCase> out;
  const auto add = [&](std::size_t kernel, std::uint64_t number, Values values) {
    KernelCase k = random_kernel_case(kernels.configs[kernel], kernel, number);
    k.values = values;
    out.push_back(std::move(k));
  };
  const std::uint64_t normal = kernels.few ? 1 : 4, wide = kernels.few ? 5 : 6;
  for (std::size_t i = 0; i < kernels.configs.size(); ++i) {
    const Config& c = kernels.configs[i];
    if (!is_recorded(c)) continue;
    for (std::uint64_t number = 1; number <= normal; ++number) add(i, number, Values::kNormal);
    for (std::uint64_t number = 5; number <= wide; ++number) add(i, number, Values::kWide);
    if (c.input == shared::InputType::kBf16) add(i, 7, Values::kTiny);
  }
  return out;
}

std::string bit_case_name(const BitKernels& kernels, const KernelCase& k) {
  const Config& c = kernels.configs[k.kernel];
  return fmt::format("128x{} {} stages {} cluster {}{} ring {} {} {}/{} to {}{}{}{} | {}", c.tile_n,
                     c.split == shared::WarpgroupSplit::kTiles ? "pingpong" : "cooperative",
                     c.stages, c.cluster_m, c.split_k, c.ring_slots,
                     c.input == shared::InputType::kBf16 ? "bf16" : "fp16", name(c.a), name(c.b),
                     name(c.output), c.accumulate ? " accumulate" : "",
                     c.output_mode == shared::OutputMode::kDiscrete ? " discrete" : "",
                     c.partial_columns ? " partial" : "", arguments(k));
}

CaseData bit_case_data(const BitKernels& kernels, const KernelCase& k) {
  return CaseData(full_case(kernels.configs[k.kernel], k));
}

std::shared_ptr<Device> aligned(std::shared_ptr<Device> inner) {
  return std::make_shared<AlignedDevice>(std::move(inner));
}

std::string bits_digest(const Bytes& image) {
  const auto* bytes = reinterpret_cast<const char*>(image.data());
  return core::sha256_hex({bytes, image.size()}).substr(0, 16);
}

}  // namespace wgrad::test
