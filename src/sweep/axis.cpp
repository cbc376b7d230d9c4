#include "base/nearest.hpp"
#include "model/placement.hpp"
#include "sweep/plan.hpp"
#include "sweep/range.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <recount/error.hpp>

namespace recount::sweep {
namespace {

using kernel::Parameter;

const Parameter& parameter(const kernel::Kernel& kernel, const std::string& name) {
  std::vector<std::string> names;
  for (const auto& p : kernel.parameters()) {
    if (p.name == name) return p;
    names.push_back("--" + p.name);
  }
  if (name == "pages") throw bad_input("--pages", "is ambiguous", model::page_options);
  throw bad_input("--" + name, "neither an option of sweep nor a parameter of kernel " + kernel.name(),
                  base::did_you_mean("--" + name, names,
                                     fmt::format("its parameters are {}; see recount sweep --help {}",
                                                 fmt::join(names, ", "), kernel.name())));
}

std::vector<result::ParamValue> choices(const Parameter& p, const std::string& text) {
  std::vector<result::ParamValue> all;
  if (text == "all") return {p.choices.begin(), p.choices.end()};
  std::string_view rest = text;
  for (;;) {
    const std::string word(rest.substr(0, rest.find(',')));
    if (std::find(p.choices.begin(), p.choices.end(), word) == p.choices.end())
      throw bad_input("--" + p.name,
                      fmt::format("\"{:.80}\" is none of {}", word, fmt::join(p.choices, ", ")),
                      base::did_you_mean(word, p.choices));
    if (std::find(all.begin(), all.end(), result::ParamValue(word)) == all.end()) all.emplace_back(word);
    if (rest.size() == word.size()) return all;
    rest.remove_prefix(word.size() + 1);
  }
}

} // namespace

Axis parse_axis(const kernel::Kernel& kernel, const std::string& name, const std::string& text) {
  const Parameter& p = parameter(kernel, name);
  if (p.unit == Parameter::Unit::text) return {name, {text}};
  if (p.unit == Parameter::Unit::choice) return {name, choices(p, text)};
  Axis axis{name, {}};
  for (const std::int64_t value : parse_range(text, "--" + name)) {
    if (value < p.least)
      throw bad_input("--" + name, fmt::format("{} is less than {}, the minimum of kernel {}", value, p.least,
                                               kernel.name()));
    if (p.most > 0 && value > p.most)
      throw bad_input("--" + name, fmt::format("{} is more than {}, the maximum of kernel {}", value, p.most,
                                               kernel.name()));
    axis.values.emplace_back(value);
  }
  return axis;
}

} // namespace recount::sweep
