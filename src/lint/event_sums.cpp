#include "lint/event_sums.hpp"

#include "base/data_rows.hpp"
#include "sums_data.hpp"

#include <algorithm>
#include <optional>

namespace recount::lint {

std::span<const EventSum> event_sums() {
  static const std::vector<EventSum> all = [] {
    std::vector<EventSum> found;
    for (const auto& [where, cells] : base::data_rows(sums_data, "sums.txt", '=')) {
      EventSum& sum = found.emplace_back();
      sum.whole = cells.at(0);
      for (const auto part : base::split(cells.at(1), '+'))
        sum.parts.emplace_back(base::trim(part));
    }
    return found;
  }();
  return all;
}

bool is_part(std::string_view whole, std::string_view part) {
  return std::ranges::any_of(event_sums(), [&](const EventSum& sum) {
    return sum.whole == whole && std::ranges::find(sum.parts, part) != sum.parts.end();
  });
}

namespace {

/// The variable of the form with that name.
std::optional<formula::Variable> variable_in(const preset::CpuView& view, const formula::Linear& form,
                                             const std::string& name) {
  const auto at = std::ranges::find_if(form.of, [&](const auto& term) {
    return term.first >= 0 && view.names[static_cast<std::size_t>(term.first)] == name;
  });
  if (at == form.of.end()) return {};
  return at->first;
}

} // namespace

void expand_sums(const preset::CpuView& view, formula::Linear& form) {
  for (const EventSum& sum : event_sums()) {
    const auto whole = variable_in(view, form, sum.whole);
    if (!whole) continue;
    std::vector<formula::Variable> parts;
    for (const std::string& name : sum.parts)
      if (const auto part = variable_in(view, form, name)) parts.push_back(*part);
    if (parts.size() != sum.parts.size()) continue;
    const auto weight = form.of.at(*whole);
    form.of.erase(*whole);
    for (const formula::Variable part : parts) {
      form.of[part] += weight;
      if (form.of[part] == 0) form.of.erase(part);
    }
  }
}

} // namespace recount::lint
