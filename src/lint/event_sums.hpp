// Events that are sums of other events by definition: data, in data/sums.txt.
#pragma once

#include "formula/algebra.hpp"
#include "preset/view.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace recount::lint {

struct EventSum {
  std::string whole;              ///< "L1D_CACHE"
  std::vector<std::string> parts; ///< "L1D_CACHE_RD", "L1D_CACHE_WR"
};

[[nodiscard]] std::span<const EventSum> event_sums();
/// Whether one event is a part of the other, by these sums.
[[nodiscard]] bool is_part(std::string_view whole, std::string_view part);
/// Replaces wholes by their parts where the form has all parts.
void expand_sums(const preset::CpuView& view, formula::Linear& form);

} // namespace recount::lint
