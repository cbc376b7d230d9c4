#include "kernel/matmul/matmul.hpp"

#include "kernel/kernel.hpp"
#include "kernel/matmul/native_matmul.hpp"
#include "kernel/point.hpp"
#include "model/hierarchy.hpp"
#include "model/nest.hpp"
#include "model/nest_simulation.hpp"
#include "recount/error.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>

namespace recount::kernel {

/// Addresses of the first elements of a, b, c and t.
std::array<std::uint64_t, 4> matmul_bases(const MatmulPoint& at,
                                          const std::optional<model::Placement>& placement) {
  std::array<std::uint64_t, 4> bases{};
  for (unsigned matrix = 0; matrix < bases.size(); ++matrix)
    bases[matrix] = model::array_base(placement, assumed_base, matrix) +
                    static_cast<std::uint64_t>(at.offset) +
                    (placement ? 0 : matrix * static_cast<std::uint64_t>(at.pitch()));
  return bases;
}

/// Stands in for the value of an element: a recorder needs addresses only.
struct Unvalued {
  friend Unvalued operator*(Unvalued, Unvalued) { return {}; }
  Unvalued& operator+=(Unvalued) { return *this; }
};

/// Records the loop nest.
class RecordedMatrices {
public:
  RecordedMatrices(const MatmulPoint& at, const std::optional<model::Placement>& placement,
                   model::Recorder& recorder)
      : recorder_(&recorder), bases_(matmul_bases(at, placement)), element_(at.element) {}

  static Unvalued zero() { return {}; }
  template <class Body>
  static void separate(Body body) {
    body();
  }
  template <class X>
  static model::Bound least(const X& x, std::int64_t y) {
    return {model::Recorder::affine(x), model::Recorder::affine(y)};
  }
  template <class First, class Last, class Body>
  void loop(const First& first, const Last& last, std::int64_t step, Body body) const {
    recorder_->loop(first, last, step, body);
  }
  Unvalued a(const model::Affine& i) const { return access(model::Cause::load, 0, i); }
  Unvalued b(const model::Affine& i) const { return access(model::Cause::load, 1, i); }
  Unvalued t(const model::Affine& i) const { return access(model::Cause::load, 3, i); }
  void set_c(const model::Affine& i, Unvalued) const { access(model::Cause::store, 2, i); }
  void set_t(const model::Affine& i, Unvalued) const { access(model::Cause::store, 3, i); }
  void add_c(const model::Affine& i, Unvalued) const {
    access(model::Cause::load, 2, i);
    access(model::Cause::store, 2, i);
  }
  void keep_in_c(const model::Affine& i, Unvalued v) const { add_c(i, v); }

private:
  Unvalued access(model::Cause cause, unsigned matrix, const model::Affine& i) const {
    recorder_->access(cause, matrix, i * element_ + static_cast<std::int64_t>(bases_[matrix]),
                      static_cast<unsigned>(element_));
    return {};
  }
  model::Recorder* recorder_;
  std::array<std::uint64_t, 4> bases_;
  std::int64_t element_;
};

// `matmul`: multiplies two square matrices, in the loop orders of textbooks. See recount-kernels(7).

namespace {

using Code = native::MatmulLoops::Code;

Code select_code(const MatmulPoint& at, const native::MatmulLoops& loops) {
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

class MatmulInstance : public NativeInstance<native::Matmul> {
public:
  using NativeInstance::NativeInstance;
  /// A corner only: filling has just brought the matrices into the caches, and the whole region may take
  /// minutes.
  void warm() override {
    native::Matmul corner = context_;
    corner.n = std::min<std::int64_t>(corner.n, 64);
    region().code(&corner);
  }
};

std::unique_ptr<Instance> make_matmul(const MatmulPoint& at, const native::MatmulLoops& loops) {
  auto memory = std::make_unique<Memory>(at.bytes(), at.offset, at.pages, fmt::format("matmul --n {}", at.n));
  const auto matrix = [&](std::int64_t i) { return memory->data() + i * at.pitch(); };
  native::Matmul context{matrix(0), matrix(1), matrix(2), nullptr, at.n, at.block};
  const auto both = [&](auto element) {
    fill<decltype(element)>(context.a, at.n, 3);
    fill<decltype(element)>(context.b, at.n, 5);
  };
  at.element == 8 ? both(double{}) : both(std::int16_t{});
  if (at.variant == MatmulPoint::Variant::transposed) {
    context.t = matrix(3);
    if (!at.transposes) loops.transpose(&context);
  }
  return std::make_unique<MatmulInstance>(select_code(at, loops), context, at.accesses(), std::move(memory));
}

class MatmulKernel : public BasicKernel {
public:
  MatmulKernel(std::string name, std::string prose, bool vectorised)
      : BasicKernel(std::move(name), std::move(prose), matmul_parameters()), vectorised_(vectorised) {}
  [[nodiscard]] std::int64_t bytes(const Params& point) const override {
    return matmul_point(*this, point).bytes();
  }
  [[nodiscard]] std::unique_ptr<Instance> prepare(const Params& point) const override {
    const MatmulPoint at = matmul_point(*this, point);
    if (vectorised_) need_vectors(name());
    return make_matmul(at, vectorised_ ? native::vectorised_matmul(at.element == 8)
                                       : native::plain_matmul(at.element == 8));
  }
  std::int64_t simulate(const Params& point, model::Hierarchy& caches) const override {
    if (vectorised_) throw unavailable(name(), unsimulated());
    model::simulate_nest(matmul_nest(point, caches.machine().placement), caches);
    return matmul_point(*this, point).accesses();
  }
  std::int64_t simulate_warm(const Params& point, model::Hierarchy& caches) const override {
    model::simulate_nest_warm(matmul_nest(point, caches.machine().placement), caches);
    return matmul_point(*this, point).accesses();
  }
  [[nodiscard]] std::string unsimulated() const override {
    return vectorised_ ? "its loads and stores depend on the compiler, not on the source text" : "";
  }
  [[nodiscard]] std::vector<Expectation> expected(const Params& point) const override {
    const MatmulPoint at = matmul_point(*this, point);
    const double n = static_cast<double>(at.n), flop = at.element == 8 ? 2 * n * n * n : 0;
    const std::string form = at.element == 8 ? "2 n^3: one multiplication and one addition per step"
                                             : "none: its elements are integers";
    return {{"PAPI_FP_OPS", flop, 0, 0, form}, {"PAPI_DP_OPS", flop, 0, 0, form}};
  }

private:
  const bool vectorised_;
};

} // namespace

model::Nest matmul_nest(const Params& point, const std::optional<model::Placement>& placement) {
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

namespace {

constexpr std::int64_t page = 4096;
constexpr std::int64_t most = 1 << 20; // of n: 4 n^3 still fits into 64 bits

const std::vector<std::string> variants = {"ijk", "ijk-mem", "ikj", "transposed", "blocked"};

} // namespace

std::int64_t MatmulPoint::pitch() const {
  return (n * n * element + offset + page - 1) / page * page;
}

std::int64_t MatmulPoint::bytes() const {
  return pitch() * (matrices() - 1) + n * n * element;
}

std::int64_t MatmulPoint::accesses() const {
  const std::int64_t square = n * n, cube = square * n;
  switch (variant) {
  case Variant::ijk: return 2 * cube + square;
  case Variant::ijk_mem: return 4 * cube;
  case Variant::ikj: return 3 * cube + square;
  case Variant::transposed: return 4 * cube + (transposes ? 2 * square : 0);
  case Variant::blocked: return 3 * cube + square * ((n + block - 1) / block);
  }
  return 0;
}

std::vector<Parameter> matmul_parameters() {
  return {
      choice_parameter("variant", "loop order and place of the sum", variants),
      choice_parameter("element", "f64: double; i16: 16-bit integers", {"f64", "i16"}),
      number_parameter("n", "rows and columns of each matrix", 600, 1, most),
      number_parameter("block", "rows and columns of a block (blocked only)", 128, 1, most),
      choice_parameter("transpose", "whether to measure the transposition (transposed only)",
                       {"included", "excluded"}),
      number_parameter(
          "offset",
          "bytes from a page boundary to the first element of each matrix, a multiple of the element", 16, 0,
          page - 1, Parameter::Unit::bytes),
      pages_parameter(),
  };
}

MatmulPoint matmul_point(const Kernel& kernel, const Params& given) {
  const Params point = complete(kernel, given);
  MatmulPoint at;
  at.variant = static_cast<MatmulPoint::Variant>(std::ranges::find(variants, text(point, "variant")) -
                                                 variants.begin());
  at.element = text(point, "element") == "f64" ? 8 : 2;
  at.n = number(point, "n");
  at.block = std::min(number(point, "block"), at.n);
  at.offset = number(point, "offset");
  at.transposes = text(point, "transpose") == "included";
  at.pages = pages(point);
  if (at.offset % at.element != 0)
    throw bad_input(kernel.name() + " --offset",
                    fmt::format("{} is not a multiple of the element size, {} bytes", at.offset, at.element));
  return at;
}

// `peak` and `bandwidth`: peak throughput and bandwidth of this processor. See recount-kernels(7).

namespace {

class PeakKernel : public BasicKernel {
public:
  PeakKernel()
      : BasicKernel("peak", "multiplies and adds doubles in registers at peak throughput",
                    {choice_parameter("width", "vector: the widest available; scalar", {"vector", "scalar"}),
                     number_parameter("turns", "loop iterations, one step in each of 12 independent chains",
                                      20'000'000, 1, std::int64_t{1} << 40)}) {}
  [[nodiscard]] std::int64_t bytes(const Params& point) const override {
    static_cast<void>(complete(*this, point));
    return sizeof(native::Ceiling);
  }
  [[nodiscard]] std::unique_ptr<Instance> prepare(const Params& given) const override {
    const Params point = complete(*this, given);
    if (vectors(point)) need_vectors(name());
    native::Ceiling context;
    context.turns = number(point, "turns");
    return make_instance(
        vectors(point) ? native::recount_kernel_peak_vector : native::recount_kernel_peak_scalar, context, 0);
  }
  [[nodiscard]] std::vector<Expectation> expected(const Params& given) const override {
    const Params point = complete(*this, given);
    const int doubles = vectors(point) ? native::vectorised().doubles : 1;
    const double flop = 2.0 * native::peak_chains * doubles * static_cast<double>(number(point, "turns"));
    const std::string form =
        fmt::format("2 operations on {} doubles in {} chains per turn", doubles, native::peak_chains);
    return {{"PAPI_FP_OPS", flop, 0, 0, form}, {"PAPI_DP_OPS", flop, 0, 0, form}};
  }

private:
  [[nodiscard]] static bool vectors(const Params& point) { return text(point, "width") == "vector"; }
};

class BandwidthInstance : public NativeInstance<native::Ceiling> {
public:
  using NativeInstance::NativeInstance;
  void warm() override {
    native::Ceiling once = context_;
    once.turns = 1;
    native::recount_kernel_bandwidth(&once);
  }
};

class BandwidthKernel : public BasicKernel {
public:
  BandwidthKernel()
      : BasicKernel("bandwidth", "reads an array sequentially at peak bandwidth",
                    {number_parameter("size", "bytes of the array, in steps of 1024", 1 << 20, 1024,
                                      std::int64_t{1} << 40, Parameter::Unit::bytes),
                     number_parameter("passes", "passes over the array", 100, 1, std::int64_t{1} << 32)}) {}
  [[nodiscard]] std::int64_t bytes(const Params& point) const override {
    return number(complete(*this, point), "size") / 1024 * 1024;
  }
  [[nodiscard]] std::unique_ptr<Instance> prepare(const Params& given) const override {
    const Params point = complete(*this, given);
    need_vectors(name());
    const std::int64_t size = bytes(point);
    auto memory =
        std::make_unique<Memory>(size, 0, Memory::Pages::huge, fmt::format("bandwidth --size {}", size));
    native::Ceiling context;
    context.turns = number(point, "passes");
    context.data = memory->data();
    context.bytes = size;
    return std::make_unique<BandwidthInstance>(native::recount_kernel_bandwidth, context,
                                               context.turns * (size / 8), std::move(memory));
  }
};

} // namespace

std::string vectorised_for() {
  return native::vectorised().instructions;
}

std::string vectors_missing() {
  const std::string reason = missing(native::vectorised().needs);
  return reason.empty() ? reason : "recount was built for a different processor: " + reason;
}

void need_vectors(const std::string& kernel) {
  const std::string reason = vectors_missing();
  if (reason.empty()) return;
  throw unavailable(kernel, reason, "built with -march=native for " + vectorised_for(),
                    "build recount on this machine");
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
constexpr int by_rows = 101, not_transposed = 111;

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

struct DgemmContext {
  Dgemm dgemm;
  double *a, *b, *c;
  int n;
};

void multiply(void* context) {
  const auto& at = *static_cast<DgemmContext*>(context);
  at.dgemm(by_rows, not_transposed, not_transposed, at.n, at.n, at.n, 1, at.a, at.n, at.b, at.n, 0, at.c,
           at.n);
}

class DgemmKernel : public BasicKernel {
public:
  DgemmKernel()
      : BasicKernel(
            "dgemm", "multiplies two n x n matrices with dgemm of OpenBLAS, single-threaded",
            {number_parameter("n", "rows and columns of each matrix", 600, 1, 1 << 15),
             number_parameter("offset", "bytes from a page boundary to the first element of each matrix", 16,
                              0, 4095, Parameter::Unit::bytes)}) {}
  [[nodiscard]] std::int64_t bytes(const Params& point) const override { return at(point).bytes(); }
  [[nodiscard]] std::unique_ptr<Instance> prepare(const Params& point) const override {
    const MatmulPoint where = at(point);
    if (!library().missing.empty()) throw unavailable(name(), library().missing);
    auto memory = std::make_unique<Memory>(where.bytes(), where.offset, Memory::Pages::small,
                                           fmt::format("dgemm --n {}", where.n));
    const auto matrix = [&](std::int64_t i) {
      return reinterpret_cast<double*>(memory->data() + i * where.pitch());
    };
    const DgemmContext context{library().dgemm, matrix(0), matrix(1), matrix(2), static_cast<int>(where.n)};
    for (int i = 0; i < context.n * context.n; ++i) {
      context.a[i] = 1 + i % 7;
      context.b[i] = 1 + i % 5;
    }
    return make_instance(multiply, context, 0, std::move(memory));
  }

private:
  /// Its matrices are placed like those of matmul.
  [[nodiscard]] MatmulPoint at(const Params& given) const {
    const Params point = complete(*this, given);
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
