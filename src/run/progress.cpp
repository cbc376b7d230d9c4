#include "run/progress.hpp"

#include "base/format.hpp"
#include "base/host/emulation.hpp"

#include <fmt/format.h>

namespace recount::sweep {

std::string show_progress(const Progress& p) {
  std::string text = fmt::format("{} of {}", p.done, base::format_count(p.total, "run"));
  if (p.failed > 0) text += fmt::format(", {} failed", p.failed);
  text += ", " + base::format_duration(p.elapsed) + host::emulated_text();
  if (p.simulated) text += fmt::format(", {:.1f} % of this one simulated", 100 * *p.simulated);
  if (p.remaining && p.done < p.total) text += ", about " + base::format_duration(*p.remaining) + " left";
  return text;
}

} // namespace recount::sweep
