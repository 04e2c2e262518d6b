#include "cpu/tiles/tile_matmul.hpp"

#include <fmt/format.h>
#include <pthread.h>
#include <sys/mman.h>

#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <vector>

#include "cpu/tiles/aligned_buffer.hpp"
#include "wgrad/errors.hpp"

#if DNNL_CPU_THREADING_RUNTIME != DNNL_RUNTIME_OMP && DNNL_CPU_THREADING_RUNTIME != DNNL_RUNTIME_SEQ
#error "wgrad needs oneDNN built for OpenMP or sequential: it brings its own threads"
#endif
#if DNNL_CPU_THREADING_RUNTIME == DNNL_RUNTIME_OMP
#include <omp.h>
#endif

namespace wgrad::cpu {
namespace {

using dnnl::matmul;
using dnnl::memory;

class Float32Matmul final : public TileMatmul {
 public:
  void multiply(const TileExtents& x, const TileFactor& a, const TileFactor& b, float* c,
                std::int64_t ldc, bool add) const override {
    // 'T' stores A as k lines of m and B as n lines of k.
    const dnnl_status_t status =
        dnnl_sgemm(a.major == Major::kK ? 'N' : 'T', b.major == Major::kK ? 'T' : 'N', x.m, x.n,
                   x.k, 1.0F, static_cast<const float*>(a.data), a.ld,
                   static_cast<const float*>(b.data), b.ld, add ? 1.0F : 0.0F, c, ldc);
    if (status != dnnl_success) {
      throw RuntimeError(
          fmt::format("wgrad: oneDNN's sgemm failed with status {}", static_cast<int>(status)));
    }
  }
};

/// Guards primitives: found or created. Creating one takes the library's own locks too, and a child
/// forked meanwhile would inherit them locked, so forks wait for this mutex.
std::mutex& library_mutex() {
  static std::mutex& mutex = *new std::mutex;  // outlives every thread
  static const int kRegistered =
      pthread_atfork([] { library_mutex().lock(); }, [] { library_mutex().unlock(); },
                     [] { library_mutex().unlock(); });
  static_cast<void>(kRegistered);
  return mutex;
}

/// Where the library cannot map memory for the code that it writes, it follows a null pointer. It
/// takes some MiB for a primitive; threads that start beside it take their stacks.
void require_address_space() {
  constexpr std::size_t kRoom = std::size_t{64} << 20;
  void* const room =
      mmap(nullptr, kRoom, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) {
    throw RuntimeError(
        "wgrad: this process may map less than 64 MiB more; it must be one in which oneDNN, the "
        "CPU "
        "backend's library, has room for machine code (RLIMIT_AS, ulimit -v)");
  }
  munmap(room, kRoom);
}

const dnnl::engine& cpu_engine() {
  static const dnnl::engine& engine = *new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

/// m, n, k and `add`.
using ShapeKey = std::array<std::int64_t, 4>;

struct CompiledMatmul {
  memory::desc a;
  memory::desc b;
  memory::desc c;
  memory::desc scratchpad;
  matmul primitive;
  std::string implementation;
};

matmul::primitive_desc describe(const memory::desc& a, const memory::desc& b, const memory::desc& c,
                                bool add) {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (add) {
    dnnl::post_ops ops;
    ops.append_sum(1.0F);
    attr.set_post_ops(ops);
  }
#if DNNL_VERSION_MAJOR >= 3
  return {cpu_engine(), a, b, c, attr};
#else
  return {matmul::desc(a, b, c), attr, cpu_engine()};
#endif
}

memory::desc plain(std::int64_t rows, std::int64_t cols, memory::data_type type) {
  return {{rows, cols}, type, memory::format_tag::ab};
}

/// Packed factors and a result without gaps are what the library's best implementation takes as
/// they are; anything else it would copy first, or multiply with a slower one.
class Bf16Matmul final : public TileMatmul {
 public:
  explicit Bf16Matmul(CellOrder b_order) : b_order_(b_order) {}

  CellOrder b_order() const noexcept override { return b_order_; }

  void multiply(const TileExtents& x, const TileFactor& a, const TileFactor& b, float* c,
                std::int64_t ldc, bool add) const override {
    static_cast<void>(ldc);
    const auto compiled = find_or_compile({x.m, x.n, x.k, add ? 1 : 0});
    thread_local dnnl::stream stream(cpu_engine());
    thread_local AlignedBuffer scratchpad;
    // The library's handles are not const, but it only reads A and B.
    const auto wrap = [](const memory::desc& desc, const void* data) {
      return memory(desc, cpu_engine(), const_cast<void*>(data));
    };
    compiled->primitive.execute(
        stream,
        {{DNNL_ARG_SRC, wrap(compiled->a, a.data)},
         {DNNL_ARG_WEIGHTS, wrap(compiled->b, b.data)},
         {DNNL_ARG_DST, wrap(compiled->c, c)},
         {DNNL_ARG_SCRATCHPAD,
          wrap(compiled->scratchpad,
               scratchpad.at_least(static_cast<std::int64_t>(compiled->scratchpad.get_size())))}});
  }

  static std::shared_ptr<const CompiledMatmul> compile(const ShapeKey& key, CellOrder b_order) {
    const auto [m, n, k, add] = key;
    require_address_space();
    const memory::desc a = plain(m, k, memory::data_type::bf16);
    const memory::desc b{
        {k, n},
        memory::data_type::bf16,
        b_order == CellOrder::kPairs ? memory::format_tag::BA16a64b2a : memory::format_tag::ba};
    const memory::desc c = plain(m, n, memory::data_type::f32);
    const matmul::primitive_desc desc = describe(a, b, c, add != 0);
    return std::make_shared<const CompiledMatmul>(
        CompiledMatmul{a, b, c, desc.scratchpad_desc(), matmul(desc), desc.impl_info_str()});
  }

 private:
  /// A plan has two widths, a few heights and kTokenStep-grained depths.
  static constexpr std::size_t kMostPrimitives = 1024;

  std::shared_ptr<const CompiledMatmul> find_or_compile(const ShapeKey& key) const {
    const std::lock_guard lock(library_mutex());
    const auto found = compiled_.find(key);
    if (found != compiled_.end()) return found->second;
    if (compiled_.size() >= kMostPrimitives) compiled_.clear();
    return compiled_.emplace(key, compile(key, b_order_)).first->second;
  }

  CellOrder b_order_;
  mutable std::map<ShapeKey, std::shared_ptr<const CompiledMatmul>> compiled_;
};

/// A oneDNN that knows no paired factors would multiply them by its plain reference loops, or
/// refuse; rows it always takes. Throws dnnl::error where there is no bfloat16 matmul at all.
bool pairs_are_quick() {
  const std::lock_guard lock(library_mutex());
  const ShapeKey sample{64, 64, 64, 0};
  Bf16Matmul::compile(sample, CellOrder::kRows);
  try {
    return !Bf16Matmul::compile(sample, CellOrder::kPairs)->implementation.starts_with("ref");
  } catch (const dnnl::error&) {
    return false;
  }
}

std::unique_ptr<const TileMatmul> untried(TileType type) {
  if (type == TileType::kF32) return std::make_unique<Float32Matmul>();
  try {
    return std::make_unique<Bf16Matmul>(pairs_are_quick() ? CellOrder::kPairs : CellOrder::kRows);
  } catch (const dnnl::error& error) {
    throw RuntimeError(fmt::format(
        "wgrad: the device says that this CPU multiplies bfloat16, but oneDNN does not here: {}",
        error.what()));
  }
}

/// The library writes its machine code when it first multiplies, which must not be within a run.
/// Nothing where it can; in a sentence, what forbids it.
std::string why_no_code(const TileMatmul& matmul) {
  constexpr std::int64_t kEdge = 64;
  const SingleThreaded single_threaded;
  const std::vector<float> zeros(kEdge * kEdge);
  std::vector<float> result(kEdge * kEdge);
  try {
    for (const Major a : {Major::kK, Major::kMn}) {
      for (const Major b : {Major::kK, Major::kMn}) {
        matmul.multiply({kEdge, kEdge, kEdge}, {zeros.data(), kEdge, a}, {zeros.data(), kEdge, b},
                        result.data(), kEdge, false);
      }
    }
  } catch (const std::exception& error) {
    return fmt::format(
        "wgrad: this process is {}; it must be one in which oneDNN, the CPU backend's library, can "
        "write machine code and execute it ({})",
        "hardened (prctl PR_SET_MDWE, SELinux or a seccomp filter), or out of memory",
        error.what());
  }
  return {};
}

}  // namespace

std::unique_ptr<const TileMatmul> make_tile_matmul(TileType type) {
  std::unique_ptr<const TileMatmul> made = untried(type);
  static std::atomic<unsigned> tried{0};  // bit for bit the types that have been
  const unsigned bit = 1U << static_cast<unsigned>(type);
  if ((tried.load() & bit) != 0) return made;
  require_address_space();
  const std::string why = why_no_code(*made);
  if (!why.empty()) throw RuntimeError(why);
  tried |= bit;
  return made;
}

#if DNNL_CPU_THREADING_RUNTIME == DNNL_RUNTIME_OMP
SingleThreaded::SingleThreaded() noexcept : previous_(omp_get_max_threads()) {
  omp_set_num_threads(1);
}

SingleThreaded::~SingleThreaded() {
  omp_set_num_threads(previous_);
}
#else  // a sequential library knows no other thread
SingleThreaded::SingleThreaded() noexcept : previous_(1) {}

SingleThreaded::~SingleThreaded() = default;
#endif

}  // namespace wgrad::cpu
