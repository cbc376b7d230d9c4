#include "kernel/feature.hpp"

#ifdef __aarch64__
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace recount::kernel {

namespace {

bool has(Feature feature) {
#if defined(__x86_64__)
  switch (feature) { // these also check XCR0, the register state saved by the operating system
  case Feature::none: return true;
  case Feature::fma: return __builtin_cpu_supports("fma") && __builtin_cpu_supports("avx");
  case Feature::avx: return __builtin_cpu_supports("avx");
  case Feature::avx512f: return __builtin_cpu_supports("avx512f");
  case Feature::avx512vl: return __builtin_cpu_supports("avx512vl");
  case Feature::avx512_fp16: return __builtin_cpu_supports("avx512fp16");
  case Feature::fp16: return false;
  }
#elif defined(__aarch64__)
  constexpr unsigned long both = HWCAP_FPHP | HWCAP_ASIMDHP;
  if (feature == Feature::fp16) return (getauxval(AT_HWCAP) & both) == both;
#endif
  return feature == Feature::none;
}

} // namespace

std::string missing(Feature feature) {
  constexpr const char* names[] = {
      "", "FMA", "AVX", "AVX-512", "AVX-512VL", "AVX512-FP16", "half-precision (FEAT_FP16)"};
  if (has(feature)) return {};
  return std::string("this processor, or its operating system, has no ") +
         names[static_cast<std::size_t>(feature)] + " instructions";
}

} // namespace recount::kernel
