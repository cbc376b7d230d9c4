#include "command/output.hpp"
#include "kernel/kernel.hpp"
#include "sweep/options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace recount::sweep {
namespace {

using kernel::Parameter;

constexpr std::size_t most_choices = 24; ///< in a column

std::string show(const Parameter& p, std::int64_t value) {
  return p.unit == Parameter::Unit::bytes && value >= 1024 && value % 1024 == 0 ? base::format_bytes(value)
                                                                                : std::to_string(value);
}

std::string fallback(const Parameter& p) {
  if (const auto* whole = std::get_if<std::int64_t>(&p.fallback)) return show(p, *whole);
  return std::get<std::string>(p.fallback);
}

std::string bounds(const Parameter& p) {
  if (p.unit == Parameter::Unit::choice && p.choices.size() > most_choices)
    return fmt::format("{}, {}, ... ({})", p.choices[0], p.choices[1], p.choices.size());
  if (p.unit == Parameter::Unit::choice) return fmt::format("{}", fmt::join(p.choices, ", "));
  if (p.unit == Parameter::Unit::text) return "any";
  if (p.most == 0) return "at least " + show(p, p.least);
  return show(p, p.least) + " to " + show(p, p.most);
}

const char* value_word(const Parameter& p) {
  if (p.unit == Parameter::Unit::text) return " TEXT";
  return p.unit == Parameter::Unit::choice ? " WORDS" : " RANGE";
}

} // namespace

std::string kernel_help(const std::string& name) {
  // A pointer: g++ 14 takes a reference from these calls for one to their temporary arguments.
  const kernel::Kernel* const kernel =
      name.ends_with(".nest") ? &kernel::find_configured("nest", {{"file", name}}) : &kernel::find(name);
  command::Table table({{"parameter"}, {"default"}, {"values"}, {""}});
  for (const auto& p : kernel->parameters())
    table.add({"--" + p.name + value_word(p), fallback(p), bounds(p), p.prose});
  return fmt::format(
      "{}: {}\n\n{}\nRANGE is FIRST:LAST:xFACTOR, FIRST:LAST:STEP or A,B,C; numbers take K, M, G "
      "(powers of 1024).\nWORDS is a list separated by commas, or all. The loop and its expected counts: "
      "recount-kernels(7).\n",
      kernel->name(), kernel->prose(), table.text());
}

std::string kernels_help() {
  command::Table table({{"kernel"}, {""}});
  for (const auto* kernel : kernel::all())
    table.add({kernel->name(), kernel->prose()});
  return "\n" + table.text();
}

} // namespace recount::sweep
