// The measured functions that the compiler may vectorise, for the very processor it runs on.
#define RECOUNT_VECTORISED
#include "kernel/matmul/native_matmul.cpp"
#undef RECOUNT_VECTORISED

#include "kernel/matmul/native_matmul.hpp"

namespace recount::kernel::native {

namespace {

#if defined(__AVX512F__)
constexpr int vector_bytes = 64;
constexpr Vectorised about = {"AVX-512", Feature::avx512f, vector_bytes / 8};
#elif defined(__FMA__)
constexpr int vector_bytes = 32;
constexpr Vectorised about = {"AVX and FMA", Feature::fma, vector_bytes / 8};
#elif defined(__AVX__)
constexpr int vector_bytes = 32;
constexpr Vectorised about = {"AVX", Feature::avx, vector_bytes / 8};
#elif defined(__aarch64__)
constexpr int vector_bytes = 16;
constexpr Vectorised about = {"Advanced SIMD", Feature::none, vector_bytes / 8};
#else
constexpr int vector_bytes = 16;
constexpr Vectorised about = {"SSE2", Feature::none, vector_bytes / 8};
#endif
using Vector [[gnu::vector_size(vector_bytes)]] = double;

} // namespace

const Vectorised& vectorised() noexcept {
  return about;
}

void recount_kernel_peak_vector(void* context) {
  auto& at = *static_cast<Ceiling*>(context);
  auto* const results = reinterpret_cast<Vector*>(at.results);
  Vector sum[peak_chains], factor, term;
  for (int i = 0; i < peak_chains; ++i)
    sum[i] = results[i];
  for (int k = 0; k < about.doubles; ++k) {
    factor[k] = at.factor;
    term[k] = at.term;
  }
  for (std::int64_t turn = 0; turn < at.turns; ++turn)
#pragma GCC unroll 12
    for (int i = 0; i < peak_chains; ++i)
      sum[i] = sum[i] * factor + term;
  for (int i = 0; i < peak_chains; ++i)
    results[i] = sum[i];
}

void recount_kernel_bandwidth(void* context) {
  auto& at = *static_cast<Ceiling*>(context);
  constexpr int together = 8;
  Vector sum[together] = {};
  const auto* const first = static_cast<const Vector*>(at.data);
  const std::int64_t vectors = at.bytes / vector_bytes / together * together;
  for (std::int64_t turn = 0; turn < at.turns; ++turn)
    for (std::int64_t i = 0; i < vectors; i += together)
#pragma GCC unroll 8
      for (int k = 0; k < together; ++k)
        sum[k] += first[i + k];
  auto* const results = reinterpret_cast<Vector*>(at.results);
  for (int k = 0; k < together; ++k)
    results[k] = sum[k];
}

} // namespace recount::kernel::native
