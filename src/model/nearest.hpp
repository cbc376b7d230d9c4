// What to say of a name that is not known.
#pragma once

#include "recount/nearest.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace recount::model {

/// "did you mean a?" with the nearest names, or all of them when none is near.
[[nodiscard]] inline std::string suggest(std::string_view wrong, const std::vector<std::string>& known) {
  std::string all = "known:";
  for (const std::string& name : known)
    all += " " + name;
  return did_you_mean(wrong, known, all);
}

} // namespace recount::model
