// `matmul`: multiplies two square matrices, in the loop orders of textbooks. See recount-kernels(7).
#include "kernel/matmul.hpp"

#include "kernel/kernels.hpp"
#include "kernel/matmul_memory.hpp"
#include "kernel/matmul_run.hpp"
#include "kernel/native_matmul.hpp"

#include <fmt/format.h>

namespace recount::kernel {

namespace {

using Code = void (*)(void*);

Code code_of(const MatmulPoint& at) {
  using Variant = MatmulPoint::Variant;
  using namespace native;
  const bool doubles = at.element == 8;
  switch (at.variant) {
  case Variant::ijk: return doubles ? recount_kernel_matmul_ijk_f64 : recount_kernel_matmul_ijk_i16;
  case Variant::ijk_mem:
    return doubles ? recount_kernel_matmul_ijk_mem_f64 : recount_kernel_matmul_ijk_mem_i16;
  case Variant::ikj: return doubles ? recount_kernel_matmul_ikj_f64 : recount_kernel_matmul_ikj_i16;
  case Variant::transposed:
    if (at.transposes)
      return doubles ? recount_kernel_matmul_transposed_f64 : recount_kernel_matmul_transposed_i16;
    return doubles ? recount_kernel_matmul_by_transposed_f64 : recount_kernel_matmul_by_transposed_i16;
  case Variant::blocked:
    return doubles ? recount_kernel_matmul_blocked_f64 : recount_kernel_matmul_blocked_i16;
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
  explicit MatmulInstance(const MatmulPoint& at)
      : memory_(at.bytes(), at.offset, at.pages, fmt::format("matmul --n {}", at.n)),
        code_(code_of(at)),
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
    if (at.transposes) return;
    if (at.element == 8)
      native::recount_kernel_matmul_transpose_f64(&context_);
    else
      native::recount_kernel_matmul_transpose_i16(&context_);
  }

  Region region() override { return {code_, &context_}; }
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
  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] const std::string& prose() const override { return prose_; }
  [[nodiscard]] std::span<const Parameter> parameters() const override { return parameters_; }
  [[nodiscard]] std::int64_t bytes(const result::Params& point) const override {
    return matmul_point(*this, point).bytes();
  }
  [[nodiscard]] std::unique_ptr<Instance> prepare(const result::Params& point) const override {
    return std::make_unique<MatmulInstance>(matmul_point(*this, point));
  }
  std::int64_t simulate(const result::Params& point, model::Hierarchy& caches) const override {
    return replay_matmul(point, caches);
  }

private:
  const std::string name_ = "matmul";
  const std::string prose_ = "multiplies two n x n matrices in a given loop order";
  const std::vector<Parameter> parameters_ = matmul_parameters();
};

} // namespace

std::int64_t replay_matmul(const result::Params& point, model::Hierarchy& caches) {
  const MatmulPoint at = matmul_point(matmul_kernel(), point);
  matmul_run(at, ReplayedMatrices(at, caches));
  return at.accesses();
}

model::Nest matmul_nest(const result::Params& point) {
  const MatmulPoint at = matmul_point(matmul_kernel(), point);
  model::Recorder recorder;
  matmul_run(at, RecordedMatrices(at, recorder));
  return recorder.nest();
}

const Kernel& matmul_kernel() {
  static const MatmulKernel kernel;
  return kernel;
}

} // namespace recount::kernel
