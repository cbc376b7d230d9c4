// A value that many objects share in memory.
#pragma once

#include <concepts>
#include <initializer_list>
#include <memory>
#include <ostream>
#include <string>
#include <type_traits>
#include <utility>

namespace recount {

/// An immutable text, map or reason that copies share: the id of a run, the parameters of a point. Reads as a
/// `const T&`; a change is made in a copy. The empty value takes no memory of its own.
template <class T>
class Shared {
public:
  Shared() = default;
  Shared(T value) { // NOLINT(google-explicit-constructor): implicit, as for std::string
    if (!value.empty()) value_ = std::make_shared<const T>(std::move(value));
  }
  template <class U>
  requires(std::convertible_to<U, T> && !std::same_as<std::remove_cvref_t<U>, T> &&
           !std::same_as<std::remove_cvref_t<U>, Shared>)
      Shared(U&& value) // NOLINT(google-explicit-constructor,bugprone-forwarding-reference-overload)
      : Shared(T(std::forward<U>(value))) {}
  template <class Of = T>
  Shared(std::initializer_list<typename Of::value_type> values) : Shared(T(values)) {}

  [[nodiscard]] const T& get() const {
    static const T none;
    return value_ ? *value_ : none;
  }
  operator const T&() const { return get(); } // NOLINT(google-explicit-constructor)
  const T* operator->() const { return &get(); }

  /// Cache key: equal for copies; equal values may have different keys.
  [[nodiscard]] const void* identity() const { return value_.get(); }

  [[nodiscard]] bool empty() const { return !value_; }
  [[nodiscard]] auto size() const { return get().size(); }
  [[nodiscard]] auto begin() const { return get().begin(); }
  [[nodiscard]] auto end() const { return get().end(); }
  template <class Key>
  [[nodiscard]] auto find(const Key& key) const {
    return get().find(key);
  }
  template <class Key>
  [[nodiscard]] bool contains(const Key& key) const {
    return get().contains(key);
  }
  template <class Key>
  [[nodiscard]] const auto& at(const Key& key) const {
    return get().at(key);
  }
  /// The entry of a map. Copies the whole map on each call.
  template <class Key>
  auto& operator[](const Key& key) {
    auto own = std::make_shared<T>(get());
    auto& entry = (*own)[key];
    value_ = std::move(own);
    return entry;
  }
  void clear() { value_.reset(); }

  friend bool operator==(const Shared& a, const Shared& b) {
    return a.value_ == b.value_ || a.get() == b.get();
  }
  friend bool operator==(const Shared& a, const T& b) { return a.get() == b; }
  friend bool operator==(const Shared& a, const char* b) requires std::same_as<T, std::string> {
    return a.get() == b;
  }
  friend std::ostream& operator<<(std::ostream& out,
                                  const Shared& text) requires std::same_as<T, std::string> {
    return out << text.get();
  }

private:
  std::shared_ptr<const T> value_;
};

} // namespace recount
