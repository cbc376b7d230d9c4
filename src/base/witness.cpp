#include "base/witness.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <array>

namespace recount {
namespace {

constexpr std::array<std::string_view, Witness::other> names{"",     "both", "clock",     "model",
                                                             "papi", "perf", "published", "rusage"};
constexpr std::string_view model_prefix = "model:";

} // namespace

Witness::Witness(std::string_view name)
    : kind(static_cast<Kind>(std::ranges::find(names, name) - names.begin())) {
  if (kind != other) return;
  const bool machine = name.starts_with(model_prefix) && name != model_prefix;
  if (machine) kind = model;
  detail = name.substr(machine ? model_prefix.size() : 0);
}

std::string Witness::name() const {
  if (kind == other) return detail;
  return detail.empty() ? std::string(names.at(kind)) : std::string(model_prefix) + detail;
}

std::vector<Witness> list_witnesses(const std::vector<std::string>& lists) {
  const auto words = base::list_words(lists);
  return {words.begin(), words.end()};
}

} // namespace recount
