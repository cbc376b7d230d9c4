#include <recount/derived.hpp>

#include "base/csv.hpp"
#include "base/formula/named.hpp"
#include "base/json.hpp"
#include "base/nearest.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace recount {

DerivedValue derive(const std::string& formula, const std::vector<std::string>& names,
                    const std::vector<Count>& counts) {
  const formula::Named parsed = formula::parse_named(formula);
  if (!parsed.fault.empty())
    throw bad_input(formula, fmt::format("{} (at byte {})", parsed.fault, parsed.fault_at + 1),
                    "put names with other characters than letters, digits, _ . and : in double quotes");
  DerivedValue derived;
  std::vector<double> operands;
  for (const formula::Quantity& quantity : parsed.quantities) {
    if (quantity.name.empty()) {
      operands.push_back(quantity.number);
      continue;
    }
    const auto at = static_cast<std::size_t>(std::ranges::find(names, quantity.name) - names.begin());
    if (at >= std::min(names.size(), counts.size()))
      throw bad_input(quantity.name, "is not among the events that are counted",
                      base::did_you_mean(quantity.name, names, "use the names as they were given"));
    const auto value = scale(counts[at]);
    if (!value && derived.reason.empty()) derived.reason = why_not_scaled(counts[at]).about(quantity.name);
    derived.share = std::min(derived.share, share(counts[at]));
    operands.push_back(value.value_or(0));
  }
  if (!derived.reason.empty()) return derived;
  const formula::Real real = formula::evaluate_real(parsed.rpn, operands);
  derived.value = real.value;
  if (!real.value) derived.reason = real.why;
  return derived;
}

std::string to_json(const std::vector<std::string>& names, const std::vector<Count>& counts) {
  Json all = Json::array();
  for (std::size_t i = 0; i < std::min(names.size(), counts.size()); ++i) {
    const Count& count = counts[i];
    Json one{{"event", names[i]}, {"value", or_null(count.value)}, {"scaled", or_null(scale(count))}};
    one["share"] = share(count);
    one["enabled_ns"] = count.enabled_ns;
    one["running_ns"] = count.running_ns;
    if (const Reason why = why_not_scaled(count); !why.empty()) one["reason"] = why.text();
    all.push_back(std::move(one));
  }
  return dumped(all);
}

std::string to_csv(const std::vector<std::string>& names, const std::vector<Count>& counts) {
  std::string text = "event,value,scaled,share,enabled_ns,running_ns,reason\n";
  for (std::size_t i = 0; i < std::min(names.size(), counts.size()); ++i) {
    const Count& count = counts[i];
    const auto scaled = scale(count);
    text += fmt::format("{},{},{},{},{},{},{}\n", base::csv_field(names[i]),
                        count.value ? fmt::to_string(*count.value) : "",
                        scaled ? fmt::format("{}", *scaled) : "", share(count), count.enabled_ns,
                        count.running_ns, base::csv_field(why_not_scaled(count).text()));
  }
  return text;
}

} // namespace recount
