#include "model/emulate/settings.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <stdexcept>
#include <unistd.h>
#include <utility>

namespace recount::emulate {
namespace {

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  std::string text = value == nullptr ? "" : value;
  std::ranges::replace(text, ';', '\n'); // both end a line
  return text;
}

int error_named(const std::string& name) {
  constexpr int last = 133; // of Linux
  for (int error = 1; error <= last; ++error)
    if (const char* const known = strerrorname_np(error); known != nullptr && name == known) return error;
  throw std::runtime_error("unknown error \"" + name + "\"");
}

void set_option(Settings& s, const std::string& name, std::istringstream& words) {
  constexpr std::pair<const char*, bool Settings::*> flags[] = {
      {"watchdog", &Settings::watchdog}, {"rdpmc", &Settings::rdpmc}, {"real_time", &Settings::real_time},
      {"exact", &Settings::exact},       {"rates", &Settings::rates}, {"unbacked", &Settings::unbacked}};
  constexpr std::pair<const char*, double Settings::*> numbers[] = {
      {"noise", &Settings::noise}, {"mux_ms", &Settings::mux_ms}, {"tick", &Settings::tick}};
  constexpr std::pair<const char*, std::optional<long> Settings::*> levels[] = {
      {"paranoid", &Settings::paranoid}, {"mlock_kb", &Settings::mlock_kb}};
  if (name == "inject") {
    Injection one;
    std::string error;
    words >> one.call >> one.event >> error >> one.times;
    one.error = error_named(error);
    return s.injections.push_back(one);
  }
  if (name == "dead_class") {
    words >> s.dead_classes.emplace_back();
    return;
  }
  double value = 0;
  if (!(words >> value)) throw std::runtime_error("option " + name + " needs a number");
  if (name == "seed") s.seed = static_cast<std::uint64_t>(value);
  bool known = name == "seed";
  const auto set = [&](const auto& members, auto converted) {
    for (const auto& [of_this_name, member] : members)
      if (name == of_this_name) {
        s.*member = converted;
        known = true;
      }
  };
  set(flags, value != 0);
  set(numbers, value);
  set(levels, static_cast<long>(value));
  if (!known) throw std::runtime_error("unknown option \"" + name + "\"");
}

} // namespace

Settings read_settings(const std::string& machine_file, const std::string& changes,
                       const std::string& options) {
  Settings s;
  std::istringstream lines(options);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name;
    if (words >> name) set_option(s, name, words);
  }
  s.machine = read_machine(machine_file, changes);
  return s;
}

const Settings& settings() {
  // Not destroyed: a sample may be due, and events may be read, while the program exits.
  static const Settings& read = []() -> const Settings& {
    try {
      return *new Settings(read_settings(variable("RECOUNT_PMU_MACHINE"), variable("RECOUNT_PMU_CHANGES"),
                                         variable("RECOUNT_PMU_OPTIONS")));
    } catch (const std::exception& e) {
      const std::string text = std::string("recount emulate: ") + e.what() + "\n";
      [[maybe_unused]] const auto written = write(STDERR_FILENO, text.data(), text.size());
      _exit(2);
    }
  }();
  return read;
}

} // namespace recount::emulate
