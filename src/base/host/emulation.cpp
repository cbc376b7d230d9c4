#include "base/host/emulation.hpp"

#include "base/format.hpp"
#include "base/text.hpp"

#include <cstdlib>

namespace recount::host {

Emulation parse_emulation(std::string_view options) {
  double exact = 0, noise = 0, real_time = 0;
  bool counted_failures = false;
  for (const std::string_view line : base::split(options, '\n')) {
    const auto words = base::words(line);
    if (words.size() < 2) continue;
    if (words[0] == "exact") exact = base::parse<double>(words[1]).value_or(0);
    if (words[0] == "real_time") real_time = base::parse<double>(words[1]).value_or(1);
    if (words[0] == "noise") noise = base::parse<double>(words[1]).value_or(1);
    if (words[0] == "inject" && words.back() != "0") counted_failures = true;
  }
  return {exact != 0, exact != 0 && real_time == 0, exact != 0 && noise == 0 && !counted_failures};
}

Emulation this_emulation() {
  const char* const options = std::getenv("RECOUNT_PMU_OPTIONS");
  return parse_emulation(options != nullptr ? options : "");
}

const char* emulated_text() {
  return this_emulation().clock ? ", emulated" : "";
}

bool is_emulated(std::string_view cpu_name) {
  return cpu_name.ends_with("(emulated)");
}

int repetitions(long given, int usual) {
  if (given > 0) return static_cast<int>(given);
  return this_emulation().repeatable ? 1 : usual;
}

const char* single_execution_text(long given) {
  return given == 0 && this_emulation().repeatable ? ", one per point: emulated counts are equal in each run"
                                                   : "";
}

} // namespace recount::host
