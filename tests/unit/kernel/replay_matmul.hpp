// The accesses of `matmul` in program order, without any shortcut: the reference for its simulation.
#pragma once

#include "kernel/kernel.hpp"
#include "kernel/matmul/matmul.hpp"
#include "model/hierarchy.hpp"

namespace recount::test {

struct NoValue {
  friend NoValue operator*(NoValue, NoValue) { return {}; }
  NoValue& operator+=(NoValue) { return *this; }
};

struct ReplayedMatrices {
  model::Hierarchy& caches;
  std::uint64_t bases[4];
  unsigned element;

  static NoValue zero() { return {}; }
  template <class Body>
  static void separate(Body body) {
    body();
  }
  static std::int64_t least(std::int64_t x, std::int64_t y) { return x < y ? x : y; }
  template <class Body>
  static void loop(std::int64_t first, std::int64_t last, std::int64_t step, Body body) {
    for (std::int64_t i = first; i < last; i += step)
      body(i);
  }
  NoValue load(unsigned matrix, std::int64_t i) const {
    caches.load(bases[matrix] + static_cast<std::uint64_t>(i) * element, element);
    return {};
  }
  void store(unsigned matrix, std::int64_t i) const {
    caches.store(bases[matrix] + static_cast<std::uint64_t>(i) * element, element);
  }
  NoValue a(std::int64_t i) const { return load(0, i); }
  NoValue b(std::int64_t i) const { return load(1, i); }
  NoValue t(std::int64_t i) const { return load(3, i); }
  void set_c(std::int64_t i, NoValue) const { store(2, i); }
  void set_t(std::int64_t i, NoValue) const { store(3, i); }
  void add_c(std::int64_t i, NoValue) const {
    load(2, i);
    store(2, i);
  }
  void keep_in_c(std::int64_t i, NoValue v) const { add_c(i, v); }
};

/// Returns the accesses.
inline std::int64_t replay_matmul(const kernel::Params& point, model::Hierarchy& caches) {
  const kernel::MatmulPoint at = kernel::matmul_point(kernel::matmul_kernel(), point);
  ReplayedMatrices memory{caches, {}, static_cast<unsigned>(at.element)};
  for (unsigned matrix = 0; matrix < 4; ++matrix) {
    const auto& placement = caches.machine().placement;
    memory.bases[matrix] = model::array_base(placement, kernel::assumed_base, matrix) +
                           static_cast<std::uint64_t>(at.offset) +
                           (placement ? 0 : matrix * static_cast<std::uint64_t>(at.pitch()));
  }
  kernel::matmul_run(at, memory);
  return at.accesses();
}

} // namespace recount::test
