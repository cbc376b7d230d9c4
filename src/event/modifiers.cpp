#include "event/modifiers.hpp"

#include "event/sysfs.hpp"

#include <algorithm>

namespace recount::event {

Modifiers split_modifiers(const std::string& name) {
  constexpr unsigned most_precise = 3;
  const Modifiers none{name};
  const bool terms = in_sysfs_notation(name);
  const auto colon = name.rfind(terms ? '/' : ':');
  if (colon == std::string::npos || colon == 0 || (!terms && name[colon - 1] == ':')) return none;
  std::string letters = name.substr(colon + 1);
  if (terms && letters.starts_with(':')) letters.erase(0, 1);
  Modifiers found;
  std::string domain;
  for (const char letter : letters) {
    const bool again = letter != 'p' && std::ranges::count(letters, letter) > 1;
    if (again) return none;
    switch (letter) {
    case 'p': ++found.precise; break;
    case 'P': found.precise = most_precise; break;
    case 'G': found.guest = true; break;
    case 'H': found.host = true; break;
    case 'u':
    case 'k':
    case 'h': domain += letter; break;
    default: return none;
    }
  }
  if (!found.any() || found.precise > most_precise) return none;
  found.name = name.substr(0, colon + (terms ? 1U : 0U)) + (domain.empty() ? "" : ":" + domain);
  return found;
}

void apply(const Modifiers& modifiers, perf_event_attr& attr) {
  if (modifiers.precise > 0) attr.precise_ip = modifiers.precise & 3U;
  if (!modifiers.guest && !modifiers.host) return;
  attr.exclude_host = modifiers.guest && !modifiers.host;
  attr.exclude_guest = modifiers.host && !modifiers.guest;
}

} // namespace recount::event
