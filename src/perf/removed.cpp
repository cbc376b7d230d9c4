#include "perf/removed.hpp"

#include <fmt/format.h>

namespace recount::perf {
namespace {
using std::chrono::nanoseconds;

#if defined(__SANITIZE_ADDRESS__) // execve(2) takes down a process of 200 MiB, in 10 ms or more
constexpr double seen_of_removed = 0.012;
constexpr nanoseconds noticeable{29'000'000};
#else
constexpr double seen_of_removed = 0.05; ///< at most: the rest of execve(2)
constexpr nanoseconds noticeable{10'000'000};
#endif
constexpr double seen_of_all = 0.9; ///< at least: all but the beginning of execve(2) and the exit

double times(double part, nanoseconds of) {
  return part * static_cast<double>(of.count());
}
std::string milliseconds(nanoseconds time) {
  return fmt::format("{:.3g} ms", times(1e-6, time));
}
} // namespace

bool removed(nanoseconds enabled, nanoseconds used) {
  return times(1, enabled) < times(seen_of_removed, used);
}

std::string removed_reason(nanoseconds enabled, nanoseconds used) {
  return fmt::format(
      "Linux removed the counters after {} of {} of processor time, because it executed a program "
      "that is set-user-ID or set-group-ID, has capabilities, or may not be read",
      milliseconds(enabled), milliseconds(used));
}

std::string removed_in_part(nanoseconds enabled, nanoseconds used) {
  if (times(1, enabled) >= times(seen_of_all, used) || used - enabled < noticeable) return {};
  return fmt::format(
      "incomplete: counted in {} of {} of processor time; Linux does not count programs that are "
      "set-user-ID or set-group-ID, have capabilities, or may not be read",
      milliseconds(enabled), milliseconds(used));
}

} // namespace recount::perf
