#include "jit/kernel_key.hpp"

#include <functional>
#include <set>
#include <vector>

#include "jit/nvrtc_fixture.hpp"

namespace wgrad::jit {
namespace {

struct Change {
  const char* what;
  std::function<void(kernels::KernelSource&)> make;
};

/// Of everything that reaches the compiler but the headers: an option more, one less, one moved,
/// text that wandered from one field into its neighbour.
const std::vector<Change>& changes() {
  static const std::vector<Change> kChanges = {
      {"text", [](auto& s) { s.text += " "; }},
      {"entry", [](auto& s) { s.entry += "_"; }},
      {"architecture", [](auto& s) { s.options[0] = "--gpu-architecture=sm_100a"; }},
      {"an option more", [](auto& s) { s.options.emplace_back("-lineinfo"); }},
      {"an option less", [](auto& s) { s.options.pop_back(); }},
      {"no options", [](auto& s) { s.options.clear(); }},
      {"options of another order", [](auto& s) { std::swap(s.options[0], s.options[1]); }},
      {"two options in one", [](auto& s) { s.options[0] += s.options[1], s.options[1].clear(); }},
      {"entry moved to text", [](auto& s) { s.text = s.entry + s.text, s.entry.clear(); }},
  };
  return kChanges;
}

/// Adds the names of `kernel` to those seen, and demands that both are new.
void expect_new(std::set<std::string>& keys, std::set<std::string>& contracts,
                const KernelKey& kernel, const std::string& what) {
  EXPECT_TRUE(keys.insert(kernel.key).second) << what << " leaves the key as it was";
  EXPECT_TRUE(contracts.insert(kernel.contract).second) << what << " leaves the contract";
}

TEST(KernelKey, FollowsEverythingOfTheSource) {
  const KernelKeys names(device_headers());
  std::set<std::string> keys, contracts;
  expect_new(keys, contracts, names.of(small_kernel(2)), "nothing");
  for (const Change& change : changes()) {
    kernels::KernelSource source = small_kernel(2);
    change.make(source);
    expect_new(keys, contracts, names.of(source), change.what);
  }
  kernels::KernelSource named = small_kernel(2);
  named.name = "for people only";
  EXPECT_EQ(names.of(named).key, names.of(small_kernel(2)).key);
  EXPECT_EQ(names.of(named).contract, names.of(small_kernel(2)).contract);
}

/// The first, the middle and the last byte of each embedded header, and its name.
TEST(KernelKey, FollowsEveryByteOfEveryHeader) {
  const auto own = device_headers();
  ASSERT_GT(own.size(), 10U);
  std::vector<DeviceHeader> headers(own.begin(), own.end());
  std::set<std::string> keys, contracts;
  const auto expect_new_key = [&](const std::string& what) {
    expect_new(keys, contracts, KernelKeys(headers).of(small_kernel(2)), what);
  };
  expect_new_key("nothing");
  for (std::size_t h = 0; h < own.size(); ++h) {
    const std::string text = own[h].text;
    ASSERT_FALSE(text.empty()) << own[h].name;
    for (const std::size_t at : std::set{std::size_t{0}, text.size() / 2, text.size() - 1}) {
      std::string changed = text;
      changed[at] = static_cast<char>(changed[at] ^ 1);
      headers[h].text = changed.c_str();
      expect_new_key("byte " + std::to_string(at) + " of " + own[h].name);
    }
    headers[h].text = own[h].text;
    const std::string renamed = std::string(own[h].name) + "_";
    headers[h].name = renamed.c_str();
    expect_new_key("the name of " + std::string(own[h].name));
    headers[h].name = own[h].name;
  }
  headers.pop_back();
  expect_new_key("a header less");
}

}  // namespace
}  // namespace wgrad::jit
