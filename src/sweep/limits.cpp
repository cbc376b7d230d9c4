#include "sweep/engine.hpp"

#include "host/cpu.hpp"
#include "sweep/parallel.hpp"

#include <recount/error.hpp>

#include <algorithm>
#include <charconv>

namespace recount::sweep {

void limit_runs(Execution& how, const std::string& text, std::chrono::seconds otherwise) {
  how.limit = otherwise;
  if (text.empty()) return;
  double seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc() || end != text.data() + text.size() || !(seconds > 0) || seconds > 1e6)
    throw bad_input("--timeout " + text, "is not a number of seconds above 0 and up to 1000000");
  how.limit = std::chrono::milliseconds(static_cast<long>(seconds * 1000) + 1);
  how.model_limit = how.limit;
}

int parallel_runs(long asked) {
  if (asked > 0) return static_cast<int>(asked);
  return static_cast<int>(std::max<std::size_t>(1, host::candidates().size()));
}

} // namespace recount::sweep
