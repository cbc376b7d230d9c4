// libFuzzer: any bytes as a file of metrics, as a formula, and as an event file. Nothing may crash or hang;
// what is read is whole.
#include "count/event/event_file.hpp"
#include "count/metric/metric.hpp"

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
  try {
    for (const event::FileEvent& one : event::parse_event_file(text, "fuzz")) {
      const bool controls = one.event.prose.find_first_of("\x1b\n\x7f") != std::string::npos;
      const bool empty = one.event.terms.empty() && one.event.problem.empty();
      if (one.event.name.empty() || empty || controls) std::abort();
    }
  } catch (const Error&) {
  }
  return 0;
}
