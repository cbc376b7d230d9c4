// `matmul`: multiplies two square matrices, in the loop orders of textbooks. See recount-kernels(7).
#include "kernel/matmul/matmul_point.hpp"

#include "kernel/kernels.hpp"
#include "kernel/matmul/ceilings.hpp"
#include "kernel/matmul/matmul_memory.hpp"
#include "kernel/matmul/native_matmul.hpp"
#include "model/nest_simulation.hpp"

#include "recount/error.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace recount::kernel {

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
