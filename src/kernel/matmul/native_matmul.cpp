#include "kernel/matmul/native_matmul.hpp"

#include "kernel/matmul/matmul_loops.hpp"

#include <type_traits>

// The measured functions of `matmul`. Compiled twice: RECOUNT_VECTORISED stands for the build that the
// compiler may vectorise.
namespace recount::kernel::native {

namespace {

template <class T>
struct Matrices {
  // 16-bit integers are multiplied and added modulo 2^32, then cut: no overflow is undefined.
  using Value = std::conditional_t<std::is_integral_v<T>, std::uint32_t, T>;

  const T *a_, *b_;
  T *c_, *t_;

  static Value zero() { return Value{0}; }
  static std::int64_t least(std::int64_t x, std::int64_t y) { return x < y ? x : y; }
  template <class Body>
  static void loop(std::int64_t first, std::int64_t last, std::int64_t step, Body body) {
    for (std::int64_t i = first; i < last; i += step)
      body(i);
  }
  template <class Body>
  [[gnu::noinline]] static void separate(Body body) {
    body();
  }
  [[nodiscard]] Value a(std::int64_t i) const { return static_cast<Value>(a_[i]); }
  [[nodiscard]] Value b(std::int64_t i) const { return static_cast<Value>(b_[i]); }
  [[nodiscard]] Value t(std::int64_t i) const { return static_cast<Value>(t_[i]); }
  void set_c(std::int64_t i, Value v) const { c_[i] = static_cast<T>(v); }
  void set_t(std::int64_t i, Value v) const { t_[i] = static_cast<T>(v); }
  void add_c(std::int64_t i, Value v) const { c_[i] = static_cast<T>(static_cast<Value>(c_[i]) + v); }
#ifdef RECOUNT_VECTORISED
  using Sum = T;
#else
  using Sum = volatile T; // prevents the compiler from keeping the stored sum in a register
#endif
  void keep_in_c(std::int64_t i, Value v) const {
    Sum& sum = c_[i];
    sum = static_cast<T>(static_cast<Value>(sum) + v);
  }
};

template <class T>
Matrices<T> matrices(const Matmul& at) {
  return {static_cast<const T*>(at.a), static_cast<const T*>(at.b), static_cast<T*>(at.c),
          static_cast<T*>(at.t)};
}
const Matmul& matmul(const void* context) {
  return *static_cast<const Matmul*>(context);
}

} // namespace

#ifdef RECOUNT_VECTORISED
#define RECOUNT_LINKAGE static
namespace vectorised_loops {
#else
#define RECOUNT_LINKAGE extern "C"
namespace plain_loops {
#endif
#define RECOUNT_MATMUL(variant, element, type)                                                               \
  RECOUNT_LINKAGE void recount_kernel_matmul_##variant##_##element(void* context) {                          \
    const Matmul at = matmul(context);                                                                       \
    matmul_##variant(matrices<type>(at), at.n);                                                              \
  }
#define RECOUNT_MATMULS(element, type)                                                                       \
  RECOUNT_MATMUL(ijk, element, type)                                                                         \
  RECOUNT_MATMUL(ijk_mem, element, type)                                                                     \
  RECOUNT_MATMUL(ikj, element, type)                                                                         \
  RECOUNT_MATMUL(transpose, element, type)                                                                   \
  RECOUNT_MATMUL(by_transposed, element, type)                                                               \
  RECOUNT_LINKAGE void recount_kernel_matmul_transposed_##element(void* context) {                           \
    recount_kernel_matmul_transpose_##element(context);                                                      \
    recount_kernel_matmul_by_transposed_##element(context);                                                  \
  }                                                                                                          \
  RECOUNT_LINKAGE void recount_kernel_matmul_blocked_##element(void* context) {                              \
    const Matmul at = matmul(context);                                                                       \
    matmul_blocked(matrices<type>(at), at.n, at.block);                                                      \
  }                                                                                                          \
  static constexpr MatmulLoops loops_##element = {                                                           \
      recount_kernel_matmul_ijk_##element,           recount_kernel_matmul_ijk_mem_##element,                \
      recount_kernel_matmul_ikj_##element,           recount_kernel_matmul_transpose_##element,              \
      recount_kernel_matmul_by_transposed_##element, recount_kernel_matmul_transposed_##element,             \
      recount_kernel_matmul_blocked_##element};

RECOUNT_MATMULS(f64, double)
RECOUNT_MATMULS(i16, std::int16_t)

#undef RECOUNT_MATMULS
#undef RECOUNT_MATMUL
#undef RECOUNT_LINKAGE

} // namespace plain_loops, vectorised_loops

#ifdef RECOUNT_VECTORISED
const MatmulLoops& vectorised_matmul(bool doubles) {
  using namespace vectorised_loops;
#else
const MatmulLoops& plain_matmul(bool doubles) {
  using namespace plain_loops;
#endif
  return doubles ? loops_f64 : loops_i16;
}

} // namespace recount::kernel::native
