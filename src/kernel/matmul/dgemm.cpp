// `dgemm`: the multiplication of a tuned library, to compare with. See recount-kernels(7).
#include "kernel/closed_form.hpp"
#include "kernel/kernels.hpp"
#include "kernel/matmul/ceilings.hpp"
#include "kernel/matmul/matmul_point.hpp"
#include "kernel/memory.hpp"
#include "kernel/point.hpp"
#include "recount/error.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <dlfcn.h>

namespace recount::kernel {

namespace {

/// cblas_dgemm of the C interface to BLAS ("Basic Linear Algebra Subprograms Technical Forum Standard",
/// 2001); integers are int in the Debian packages of OpenBLAS.
using Dgemm = void (*)(int order, int a_transposed, int b_transposed, int m, int n, int k, double alpha,
                       const double* a, int lda, const double* b, int ldb, double beta, double* c, int ldc);
constexpr int by_rows = 101, as_it_is = 111;

struct Library {
  Dgemm dgemm = nullptr;
  std::string missing;
};

/// Opened when first needed, and never closed: its threads would outlive it. Single-threaded, as the
/// kernels it is compared with.
const Library& library() {
  static const Library library = [] {
    Library opened;
    ::setenv("OPENBLAS_NUM_THREADS", "1", 1);
    ::setenv("OMP_NUM_THREADS", "1", 1);
    void* const handle = ::dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    if (handle != nullptr) opened.dgemm = reinterpret_cast<Dgemm>(::dlsym(handle, "cblas_dgemm"));
    if (opened.dgemm == nullptr)
      opened.missing = handle == nullptr ? "libopenblas.so.0 is not installed (Debian: libopenblas0-serial)"
                                         : "libopenblas.so.0 has no cblas_dgemm";
    return opened;
  }();
  return library;
}

class DgemmInstance : public Instance {
public:
  DgemmInstance(std::int64_t n, std::int64_t pitch, std::int64_t bytes, std::int64_t offset)
      : memory_(bytes, offset, Memory::Pages::small, fmt::format("dgemm --n {}", n)),
        context_{library().dgemm, matrix(0, pitch), matrix(1, pitch), matrix(2, pitch), static_cast<int>(n)} {
    for (int i = 0; i < context_.n * context_.n; ++i) {
      context_.a[i] = 1 + i % 7;
      context_.b[i] = 1 + i % 5;
    }
  }
  Region region() override { return {multiply, &context_}; }
  [[nodiscard]] std::int64_t accesses() const override { return 0; }
  [[nodiscard]] Placement placement() const override { return memory_.placement(); }

private:
  struct Context {
    Dgemm dgemm;
    double *a, *b, *c;
    int n;
  };
  static void multiply(void* context) {
    const auto& at = *static_cast<Context*>(context);
    at.dgemm(by_rows, as_it_is, as_it_is, at.n, at.n, at.n, 1, at.a, at.n, at.b, at.n, 0, at.c, at.n);
  }
  [[nodiscard]] double* matrix(std::int64_t i, std::int64_t pitch) const {
    return reinterpret_cast<double*>(memory_.data() + i * pitch);
  }

  Memory memory_;
  Context context_;
};

class DgemmKernel : public ClosedFormKernel {
public:
  DgemmKernel()
      : ClosedFormKernel(
            "dgemm", "multiplies two n x n matrices with dgemm of OpenBLAS, single-threaded",
            {number_parameter("n", "rows and columns of each matrix", 600, 1, 1 << 15),
             number_parameter("offset", "bytes from a page boundary to the first element of each matrix", 16,
                              0, 4095, Parameter::Unit::bytes)}) {}
  [[nodiscard]] std::int64_t bytes(const result::Params& point) const override { return at(point).bytes(); }
  [[nodiscard]] std::unique_ptr<Instance> prepare(const result::Params& point) const override {
    const MatmulPoint where = at(point);
    if (!library().missing.empty()) throw unavailable(name(), library().missing);
    return std::make_unique<DgemmInstance>(where.n, where.pitch(), where.bytes(), where.offset);
  }

private:
  /// Its matrices are placed like those of matmul.
  [[nodiscard]] MatmulPoint at(const result::Params& given) const {
    const result::Params point = complete(*this, given);
    return matmul_point(matmul_kernel(), {{"n", point.at("n")}, {"offset", point.at("offset")}});
  }
};

} // namespace

std::string dgemm_missing() {
  return library().missing;
}

const Kernel& dgemm_kernel() {
  static const DgemmKernel kernel;
  return kernel;
}

} // namespace recount::kernel
