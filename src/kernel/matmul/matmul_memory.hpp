// Abstract memories of `matmul`: one replays accesses, one records the loop nest.
#pragma once

#include "kernel/matmul/matmul_point.hpp"
#include "model/hierarchy.hpp"
#include "model/nest.hpp"

#include <array>
#include <optional>

namespace recount::kernel {

/// Addresses of the first elements of a, b, c and t.
inline std::array<std::uint64_t, 4> matmul_bases(const MatmulPoint& at,
                                                 const std::optional<model::Placement>& placement) {
  std::array<std::uint64_t, 4> bases{};
  for (unsigned matrix = 0; matrix < bases.size(); ++matrix)
    bases[matrix] = model::array_base(placement, assumed_base, matrix) +
                    static_cast<std::uint64_t>(at.offset) +
                    (placement ? 0 : matrix * static_cast<std::uint64_t>(at.pitch()));
  return bases;
}

/// A placeholder for a value.
struct Unvalued {
  friend Unvalued operator*(Unvalued, Unvalued) { return {}; }
  Unvalued& operator+=(Unvalued) { return *this; }
};

/// What both have in common: `Touch` is called with (cause, array, index).
template <class Self, class Index>
struct TouchedMatrices {
  static Unvalued zero() { return {}; }
  template <class Body>
  static void apart(Body body) {
    body();
  }
  Unvalued a(Index i) const { return self().touch(model::Cause::load, 0, i); }
  Unvalued b(Index i) const { return self().touch(model::Cause::load, 1, i); }
  Unvalued t(Index i) const { return self().touch(model::Cause::load, 3, i); }
  void set_c(Index i, Unvalued) const { self().touch(model::Cause::store, 2, i); }
  void set_t(Index i, Unvalued) const { self().touch(model::Cause::store, 3, i); }
  void add_c(Index i, Unvalued) const {
    self().touch(model::Cause::load, 2, i);
    self().touch(model::Cause::store, 2, i);
  }
  void keep_in_c(Index i, Unvalued v) const { add_c(i, v); }

private:
  const Self& self() const { return static_cast<const Self&>(*this); }
};

/// Replays each access into a hierarchy, one after the other.
class ReplayedMatrices : public TouchedMatrices<ReplayedMatrices, std::int64_t> {
public:
  ReplayedMatrices(const MatmulPoint& at, model::Hierarchy& caches)
      : caches_(&caches),
        bases_(matmul_bases(at, caches.machine().placement)),
        element_(static_cast<unsigned>(at.element)) {}

  static std::int64_t least(std::int64_t x, std::int64_t y) { return x < y ? x : y; }
  template <class Body>
  static void loop(std::int64_t first, std::int64_t last, std::int64_t step, Body body) {
    for (std::int64_t i = first; i < last; i += step)
      body(i);
  }
  Unvalued touch(model::Cause cause, unsigned matrix, std::int64_t i) const {
    const std::uint64_t address = bases_[matrix] + static_cast<std::uint64_t>(i) * element_;
    if (cause == model::Cause::store)
      caches_->store(address, element_);
    else
      caches_->load(address, element_);
    return {};
  }

private:
  model::Hierarchy* caches_;
  std::array<std::uint64_t, 4> bases_;
  unsigned element_;
};

/// Records the loop nest.
class RecordedMatrices : public TouchedMatrices<RecordedMatrices, model::Affine> {
public:
  RecordedMatrices(const MatmulPoint& at, const std::optional<model::Placement>& placement,
                   model::Recorder& recorder)
      : recorder_(&recorder), bases_(matmul_bases(at, placement)), element_(at.element) {}

  template <class X>
  static model::Bound least(const X& x, std::int64_t y) {
    return {model::Recorder::affine(x), model::Recorder::affine(y)};
  }
  template <class First, class Last, class Body>
  void loop(const First& first, const Last& last, std::int64_t step, Body body) const {
    recorder_->loop(first, last, step, body);
  }
  Unvalued touch(model::Cause cause, unsigned matrix, const model::Affine& i) const {
    recorder_->access(cause, matrix, i * element_ + static_cast<std::int64_t>(bases_[matrix]),
                      static_cast<unsigned>(element_));
    return {};
  }

private:
  model::Recorder* recorder_;
  std::array<std::uint64_t, 4> bases_;
  std::int64_t element_;
};

} // namespace recount::kernel
