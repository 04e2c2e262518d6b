#include "emu/fiber.hpp"

#include <sys/mman.h>

#include <stdexcept>

namespace wgrad::emu {
namespace {

// Adapts the pool to Boost.Context's allocator concept.
struct PooledStack {
  StackPool* pool;
  boost::context::stack_context allocate() { return pool->take(); }
  void deallocate(boost::context::stack_context& stack) noexcept { pool->give(stack); }
};

}  // namespace

StackPool::~StackPool() {
  for (const auto& stack : free_) munmap(static_cast<char*>(stack.sp) - stack.size, stack.size);
}

boost::context::stack_context StackPool::take() {
  if (!free_.empty()) {
    const boost::context::stack_context stack = free_.back();
    free_.pop_back();
    return stack;
  }
  void* memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    throw std::runtime_error(
        "emulated GPU: no more stacks for its threads; each takes two of the mappings that a "
        "process "
        "may have (vm.max_map_count): emulate fewer SMs");
  }
  mprotect(memory, 4096, PROT_NONE);  // an overflow stops here instead of in a neighbour's stack
  boost::context::stack_context stack;
  stack.size = bytes_;
  stack.sp = static_cast<char*>(memory) + bytes_;
  return stack;
}

void Fiber::start(StackPool& pool, std::function<void()> body) {
  fiber_ = boost::context::fiber(std::allocator_arg, PooledStack{&pool},
                                 [this, run = std::move(body)](boost::context::fiber&& caller) {
                                   caller_ = std::move(caller);
                                   run();
                                   return std::move(caller_);
                                 });
}

}  // namespace wgrad::emu
