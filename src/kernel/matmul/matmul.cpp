#include "kernel/kernels.hpp"
#include "kernel/matmul/ceilings.hpp"
#include "kernel/matmul/matmul_point.hpp"
#include "kernel/matmul/native_matmul.hpp"
#include "model/hierarchy.hpp"
#include "model/nest.hpp"
#include "model/nest_simulation.hpp"
#include "recount/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

// Abstract memories of `matmul`: one replays accesses, one records the loop nest.
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

// `matmul`: multiplies two square matrices, in the loop orders of textbooks. See recount-kernels(7).

namespace {

using Code = native::MatmulLoops::Code;

Code code_of(const MatmulPoint& at, const native::MatmulLoops& loops) {
  using Variant = MatmulPoint::Variant;
  switch (at.variant) {
  case Variant::ijk: return loops.ijk;
  case Variant::ijk_mem: return loops.ijk_mem;
  case Variant::ikj: return loops.ikj;
  case Variant::transposed: return at.transposes ? loops.transposed : loops.by_transposed;
  case Variant::blocked: return loops.blocked;
  }
  return nullptr;
}

/// Small whole numbers, so that sums of doubles are exact and of normal size.
template <class T>
void fill(void* matrix, std::int64_t n, std::int64_t factor) {
  auto* const element = static_cast<T*>(matrix);
  for (std::int64_t i = 0; i < n * n; ++i)
    element[i] = static_cast<T>(1 + i * factor % 7);
}

class MatmulInstance : public Instance {
public:
  MatmulInstance(const MatmulPoint& at, const native::MatmulLoops& loops)
      : memory_(at.bytes(), at.offset, at.pages, fmt::format("matmul --n {}", at.n)),
        code_(code_of(at, loops)),
        accesses_(at.accesses()) {
    const auto matrix = [&](std::int64_t i) { return memory_.data() + i * at.pitch(); };
    context_ = {matrix(0), matrix(1), matrix(2), nullptr, at.n, at.block};
    const auto both = [&](auto element) {
      fill<decltype(element)>(context_.a, at.n, 3);
      fill<decltype(element)>(context_.b, at.n, 5);
    };
    at.element == 8 ? both(double{}) : both(std::int16_t{});
    if (at.variant != MatmulPoint::Variant::transposed) return;
    context_.t = matrix(3);
    if (!at.transposes) loops.transpose(&context_);
  }

  Region region() override { return {code_, &context_}; }
  /// A corner: the caches have just seen all matrices, and the whole region may take minutes.
  void warm() override {
    native::Matmul corner = context_;
    corner.n = std::min<std::int64_t>(corner.n, 64);
    code_(&corner);
  }
  [[nodiscard]] std::int64_t accesses() const override { return accesses_; }
  [[nodiscard]] Placement placement() const override { return memory_.placement(); }

private:
  Memory memory_;
  Code code_;
  std::int64_t accesses_;
  native::Matmul context_;
};

class MatmulKernel : public Kernel {
public:
  MatmulKernel(std::string name, std::string prose, bool vectorised)
      : name_(std::move(name)), prose_(std::move(prose)), vectorised_(vectorised) {}
  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] const std::string& prose() const override { return prose_; }
  [[nodiscard]] std::span<const Parameter> parameters() const override { return parameters_; }
  [[nodiscard]] std::int64_t bytes(const result::Params& point) const override {
    return matmul_point(*this, point).bytes();
  }
  [[nodiscard]] std::unique_ptr<Instance> prepare(const result::Params& point) const override {
    const MatmulPoint at = matmul_point(*this, point);
    if (vectorised_) need_vectors(name_);
    return std::make_unique<MatmulInstance>(at, vectorised_ ? native::vectorised_matmul(at.element == 8)
                                                            : native::plain_matmul(at.element == 8));
  }
  std::int64_t simulate(const result::Params& point, model::Hierarchy& caches) const override {
    if (vectorised_) throw unavailable(name_, unsimulated());
    model::simulate_nest(matmul_nest(point, caches.machine().placement), caches);
    return matmul_point(*this, point).accesses();
  }
  std::int64_t simulate_warm(const result::Params& point, model::Hierarchy& caches) const override {
    model::simulate_nest_warm(matmul_nest(point, caches.machine().placement), caches);
    return matmul_point(*this, point).accesses();
  }
  [[nodiscard]] std::string unsimulated() const override {
    return vectorised_ ? "its loads and stores depend on the compiler, not on the source text" : "";
  }
  [[nodiscard]] std::vector<Expectation> expected(const result::Params& point) const override {
    const MatmulPoint at = matmul_point(*this, point);
    const double n = static_cast<double>(at.n), flop = at.element == 8 ? 2 * n * n * n : 0;
    const std::string form = at.element == 8 ? "2 n^3: one multiplication and one addition per step"
                                             : "none: its elements are integers";
    return {{"PAPI_FP_OPS", flop, 0, 0, form}, {"PAPI_DP_OPS", flop, 0, 0, form}};
  }

private:
  const std::string name_, prose_;
  const bool vectorised_;
  const std::vector<Parameter> parameters_ = matmul_parameters();
};

} // namespace

std::int64_t replay_matmul(const result::Params& point, model::Hierarchy& caches) {
  const MatmulPoint at = matmul_point(matmul_kernel(), point);
  matmul_run(at, ReplayedMatrices(at, caches));
  return at.accesses();
}

model::Nest matmul_nest(const result::Params& point, const std::optional<model::Placement>& placement) {
  const MatmulPoint at = matmul_point(matmul_kernel(), point);
  model::Recorder recorder;
  matmul_run(at, RecordedMatrices(at, placement, recorder));
  return recorder.nest();
}

const Kernel& matmul_kernel() {
  static const MatmulKernel kernel("matmul", "multiplies two n x n matrices in a given loop order", false);
  return kernel;
}

const Kernel& matmul_vectorised_kernel() {
  static const MatmulKernel kernel("matmul-vectorised",
                                   "runs the loops of matmul, fully optimised by the compiler", true);
  return kernel;
}

} // namespace recount::kernel
