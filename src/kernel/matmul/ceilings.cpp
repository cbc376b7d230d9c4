#include "kernel/matmul/ceilings.hpp"

#include "kernel/point.hpp"
#include "kernel/kernels.hpp"
#include "kernel/matmul/matmul_point.hpp"
#include "kernel/matmul/native_matmul.hpp"
#include "kernel/memory.hpp"
#include "recount/error.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>

// `peak` and `bandwidth`: peak throughput and bandwidth of this processor. See recount-kernels(7).
namespace recount::kernel {

namespace {

class PeakInstance : public Instance {
public:
  PeakInstance(bool vectors, std::int64_t turns)
      : code_(vectors ? native::recount_kernel_peak_vector : native::recount_kernel_peak_scalar) {
    context_.turns = turns;
  }
  Region region() override { return {code_, &context_}; }
  [[nodiscard]] std::int64_t accesses() const override { return 0; }

private:
  void (*code_)(void*);
  native::Ceiling context_;
};

class PeakKernel : public ClosedFormKernel {
public:
  PeakKernel()
      : ClosedFormKernel(
            "peak", "multiplies and adds doubles in registers at peak throughput",
            {choice_parameter("width", "vector: the widest available; scalar", {"vector", "scalar"}),
             number_parameter("turns", "loop iterations, one step in each of 12 independent chains",
                              20'000'000, 1, std::int64_t{1} << 40)}) {}
  [[nodiscard]] std::int64_t bytes(const result::Params& point) const override {
    static_cast<void>(complete(*this, point));
    return sizeof(native::Ceiling);
  }
  [[nodiscard]] std::unique_ptr<Instance> prepare(const result::Params& given) const override {
    const result::Params point = complete(*this, given);
    if (vectors(point)) need_vectors(name());
    return std::make_unique<PeakInstance>(vectors(point), number(point, "turns"));
  }
  [[nodiscard]] std::vector<Expectation> expected(const result::Params& given) const override {
    const result::Params point = complete(*this, given);
    const int doubles = vectors(point) ? native::vectorised().doubles : 1;
    const double flop = 2.0 * native::peak_chains * doubles * static_cast<double>(number(point, "turns"));
    const std::string form =
        fmt::format("2 operations on {} doubles in {} chains per turn", doubles, native::peak_chains);
    return {{"PAPI_FP_OPS", flop, 0, 0, form}, {"PAPI_DP_OPS", flop, 0, 0, form}};
  }

private:
  [[nodiscard]] static bool vectors(const result::Params& point) { return text(point, "width") == "vector"; }
};

class BandwidthInstance : public Instance {
public:
  BandwidthInstance(std::int64_t bytes, std::int64_t passes)
      : memory_(bytes, 0, Memory::Pages::huge, fmt::format("bandwidth --size {}", bytes)) {
    context_.turns = passes;
    context_.data = memory_.data();
    context_.bytes = bytes;
  }
  Region region() override { return {native::recount_kernel_bandwidth, &context_}; }
  void warm() override {
    native::Ceiling once = context_;
    once.turns = 1;
    native::recount_kernel_bandwidth(&once);
  }
  [[nodiscard]] std::int64_t accesses() const override { return context_.turns * (context_.bytes / 8); }
  [[nodiscard]] Placement placement() const override { return memory_.placement(); }

private:
  Memory memory_;
  native::Ceiling context_;
};

class BandwidthKernel : public ClosedFormKernel {
public:
  BandwidthKernel()
      : ClosedFormKernel(
            "bandwidth", "reads an array sequentially at peak bandwidth",
            {number_parameter("size", "bytes of the array, in steps of 1024", 1 << 20, 1024,
                              std::int64_t{1} << 40, Parameter::Unit::bytes),
             number_parameter("passes", "passes over the array", 100, 1, std::int64_t{1} << 32)}) {}
  [[nodiscard]] std::int64_t bytes(const result::Params& point) const override {
    return number(complete(*this, point), "size") / 1024 * 1024;
  }
  [[nodiscard]] std::unique_ptr<Instance> prepare(const result::Params& given) const override {
    const result::Params point = complete(*this, given);
    need_vectors(name());
    return std::make_unique<BandwidthInstance>(bytes(point), number(point, "passes"));
  }
};

} // namespace

std::string vectorised_for() {
  return native::vectorised().instructions;
}

void need_vectors(const std::string& kernel) {
  const std::string reason = missing(native::vectorised().needs);
  if (reason.empty()) return;
  throw unavailable(kernel, "recount was built for a different processor: " + reason,
                    "built with -march=native for " + vectorised_for(), "build recount on this machine");
}

const Kernel& peak_kernel() {
  static const PeakKernel kernel;
  return kernel;
}

const Kernel& bandwidth_kernel() {
  static const BandwidthKernel kernel;
  return kernel;
}

// `dgemm`: the multiplication of a tuned library, to compare with. See recount-kernels(7).

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
