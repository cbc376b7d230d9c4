// libFuzzer: any bytes as a file of metrics, and as a formula. Nothing may crash or hang; what is read is
// whole.
#include "metric/metric.hpp"

#include <recount/error.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

using namespace recount;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const formula::Named named = formula::parse_named(text);
  const formula::Real real =
      formula::evaluate_real(named.rpn, std::vector<double>(named.quantities.size(), 3));
  // A text without fault leaves exactly one value, or arithmetic says why not.
  if (named.fault.empty() && !real.value && real.why == "the formula cannot be read") std::abort();
  if (real.value && !std::isfinite(*real.value)) std::abort();
  try {
    for (const metric::Metric& m : metric::parse(text, "fuzz")) {
      if (m.name.empty() || m.unit.empty() || m.prose.empty() || m.formulas.empty()) std::abort();
      for (const metric::Formula& f : m.formulas)
        (void)metric::evaluate(m, f, std::vector<double>(f.named.quantities.size(), 2));
    }
  } catch (const Error&) {
  }
  return 0;
}
