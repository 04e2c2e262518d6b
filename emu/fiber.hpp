// Fibers: one for each device thread, on pooled stacks. Boost.Context switches them.
#pragma once

#include <boost/context/fiber.hpp>
#include <boost/context/stack_context.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

namespace wgrad::emu {

/// Stacks of one size, reused; freed with the pool.
class StackPool {
 public:
  explicit StackPool(std::size_t bytes) : bytes_(bytes) {}
  StackPool(const StackPool&) = delete;
  StackPool& operator=(const StackPool&) = delete;
  ~StackPool();

  boost::context::stack_context take();
  void give(const boost::context::stack_context& stack) { free_.push_back(stack); }

 private:
  std::size_t bytes_;
  std::vector<boost::context::stack_context> free_;
};

class Fiber {
 public:
  /// `body` runs at the first resume(); exceptions must not leave it.
  void start(StackPool& pool, std::function<void()> body);
  /// Runs the body until it pauses or ends.
  void resume() { fiber_ = std::move(fiber_).resume(); }
  /// Called from inside the body: back to whoever resumed it.
  void pause() { caller_ = std::move(caller_).resume(); }
  bool ended() const { return !fiber_; }
  /// Unwinds a body that has not ended.
  void cancel() { fiber_ = {}; }

 private:
  boost::context::fiber fiber_;
  boost::context::fiber caller_;
};

}  // namespace wgrad::emu
