#include "emulate/settings.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <sstream>
#include <stdexcept>
#include <unistd.h>

namespace recount::emulate {
namespace {

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  std::string text = value == nullptr ? "" : value;
  std::ranges::replace(text, ';', '\n'); // both end a line
  return text;
}

int error_named(const std::string& name) {
  constexpr std::pair<const char*, int> errors[] = {
      {"EACCES", EACCES}, {"EPERM", EPERM},   {"ENOENT", ENOENT}, {"EOPNOTSUPP", EOPNOTSUPP},
      {"EINVAL", EINVAL}, {"EMFILE", EMFILE}, {"ENOSPC", ENOSPC}, {"EBUSY", EBUSY},
      {"ENODEV", ENODEV}, {"E2BIG", E2BIG},   {"ESRCH", ESRCH},   {"EOVERFLOW", EOVERFLOW},
      {"EINTR", EINTR},   {"EAGAIN", EAGAIN}, {"ENOMEM", ENOMEM}, {"ENOSYS", ENOSYS}};
  for (const auto& [known, error] : errors)
    if (name == known) return error;
  throw std::runtime_error("unknown error \"" + name + "\"");
}

void option(Settings& s, const std::string& name, std::istringstream& words) {
  double value = 0;
  if (name == "inject") {
    Injection one;
    std::string error;
    words >> one.call >> one.event >> error >> one.times;
    one.error = error_named(error);
    s.injections.push_back(one);
    return;
  }
  if (name == "dead_class") {
    words >> s.dead_classes.emplace_back();
    return;
  }
  if (!(words >> value)) throw std::runtime_error("option " + name + " needs a number");
  if (name == "paranoid")
    s.paranoid = static_cast<int>(value);
  else if (name == "mlock_kb")
    s.mlock_pages =
        static_cast<std::int64_t>(value) * 1024 / sysconf(_SC_PAGESIZE) * sysconf(_SC_NPROCESSORS_ONLN);
  else if (name == "watchdog")
    s.watchdog = value != 0;
  else if (name == "rdpmc")
    s.rdpmc = value != 0;
  else if (name == "noise")
    s.noise = value;
  else if (name == "mux_ms")
    s.mux_ns = 1e6 * value;
  else if (name == "virtual_time")
    s.virtual_time = value != 0;
  else if (name == "tick")
    s.tick = value;
  else if (name == "exact")
    s.exact = value != 0;
  else if (name == "rates")
    s.rates = value != 0;
  else if (name == "unbacked")
    s.unbacked = value != 0;
  else if (name == "seed")
    s.seed = static_cast<std::uint64_t>(value);
  else
    throw std::runtime_error("unknown option \"" + name + "\"");
}

Settings read_settings() {
  Settings s;
  std::istringstream lines(variable("RECOUNT_PMU_OPTIONS"));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name;
    if (words >> name) option(s, name, words);
  }
  s.machine = read_machine(variable("RECOUNT_PMU_MACHINE"), variable("RECOUNT_PMU_CHANGES"));
  return s;
}

} // namespace

const Settings& settings() {
  // Not destroyed: a sample may be due, and events may be read, while the program exits.
  static const Settings& read = []() -> const Settings& {
    try {
      return *new Settings(read_settings());
    } catch (const std::exception& e) {
      const std::string text = std::string("recount emulate: ") + e.what() + "\n";
      [[maybe_unused]] const auto written = write(STDERR_FILENO, text.data(), text.size());
      _exit(2);
    }
  }();
  return read;
}

} // namespace recount::emulate
