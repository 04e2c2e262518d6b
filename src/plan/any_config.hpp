// A configuration of any backend or kernel family, as a value that only its maker reads.
#pragma once

#include <concepts>
#include <memory>
#include <typeinfo>
#include <utility>

namespace wgrad::plan {

/// Copies share the value, which never changes. Empty where a backend has nothing to choose.
class AnyConfig {
 public:
  AnyConfig() = default;
  /// `T` has ==.
  template <typename T>
  requires(!std::same_as<T, AnyConfig>) AnyConfig(T value)
      : holder_(std::make_shared<const Holder<T>>(std::move(value))) {}

  /// Throws std::bad_cast where it holds something else.
  template <typename T>
  const T& as() const {
    // Read in every warm call: a comparison of types is cheaper than a dynamic_cast.
    const Anything* held = holder_.get();
    if (held == nullptr || typeid(*held) != typeid(Holder<T>)) throw std::bad_cast();
    return static_cast<const Holder<T>*>(held)->value;
  }

  friend bool operator==(const AnyConfig& x, const AnyConfig& y) {
    if (x.holder_ == y.holder_) return true;
    return x.holder_ != nullptr && y.holder_ != nullptr && x.holder_->equals(*y.holder_);
  }

 private:
  struct Anything {
    Anything() = default;
    Anything(const Anything&) = delete;
    Anything& operator=(const Anything&) = delete;
    virtual ~Anything() = default;
    virtual bool equals(const Anything& other) const = 0;
  };
  template <typename T>
  struct Holder final : Anything {
    explicit Holder(T held) : value(std::move(held)) {}
    bool equals(const Anything& other) const override {
      const auto* same = dynamic_cast<const Holder*>(&other);
      return same != nullptr && same->value == value;
    }
    const T value;
  };

  std::shared_ptr<const Anything> holder_;
};

}  // namespace wgrad::plan
