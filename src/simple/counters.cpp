#include <recount/error.hpp>
#include <recount/simple.hpp>

namespace recount::simple {
namespace {

constexpr int most = 64; // more than any PMU has

/// How many copies of an event Linux accepts in one group; 0 when not even one, with the reason.
int copies(const char* event, std::string& reason) {
  std::vector<std::string> names;
  while (static_cast<int>(names.size()) < most) {
    names.emplace_back(event);
    try {
      const Group group(names, Domain::user);
    } catch (const Error& e) {
      if (names.size() == 1) reason = e.problem().cause;
      return static_cast<int>(names.size()) - 1;
    }
  }
  return most;
}

} // namespace

CounterCount counters() {
  CounterCount out;
  // Instructions and cycles come last: they may have counters of their own, beside the general ones.
  for (const char* event : {"perf::BRANCH-INSTRUCTIONS", "perf::BRANCH-MISSES", "perf::INSTRUCTIONS"}) {
    std::string reason;
    if (const int n = copies(event, reason); n > 0) return {n, {}};
    if (out.reason.empty()) out.reason = std::string(event) + ": " + reason;
  }
  return out;
}

} // namespace recount::simple
