#include "count/preset/written.hpp"

#include "base/formula/expression.hpp"
#include "base/text.hpp"
#include "count/preset/standard.hpp"
#include "count/preset/view.hpp"

#include <recount/error.hpp>

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

namespace recount::preset {
namespace {

constexpr int deepest_nesting = 8;

/// Builds a Written from a row and from the presets that it names.
class Transcript {
public:
  Transcript(const LoadedTable& loaded, const Document& table, const Document* user)
      : loaded_(loaded), table_(table), user_(user) {}

  Written of(const Preset& preset, int depth) const {
    Written out;
    out.name = preset.name;
    const Line* const line = row(preset);
    const auto type = line && line->fields.size() > 2 ? derived_named(line->fields[2].text) : std::nullopt;
    if (!type) {
      out.problem = "its row was not found";
      return out;
    }
    out.type = *type == Derived::infix ? Derived::postfix : *type;
    if (*type == Derived::infix) out.postfix = formula::infix_to_postfix_left(preset.written);
    if (*type == Derived::postfix) out.postfix = preset.written;
    for (const std::string& term : row_terms(*line, *type))
      out.operands.push_back(operand(term, depth, out.problem));
    return out;
  }

private:
  const Line* row(const Preset& preset) const {
    for (const Document* document : {&table_, user_}) {
      const Line* const line = document ? line_at(*document, preset.place) : nullptr;
      if (line && line->fields.size() > 1 && same_word(line->fields[1].text, preset.name)) return line;
    }
    return nullptr;
  }
  Written::Operand operand(const std::string& term, int depth, std::string& problem) const {
    const Preset* const inner = loaded_.find(term);
    if (!inner && !standard_preset(term)) return {term, nullptr};
    if (!inner || depth >= deepest_nesting) {
      problem = inner ? "its presets refer to each other" : "its term " + term + " is an undefined preset";
      return {term, nullptr};
    }
    auto row = std::make_shared<const Written>(of(*inner, depth + 1));
    if (problem.empty()) problem = row->problem;
    return {{}, std::move(row)};
  }

  const LoadedTable& loaded_;
  const Document& table_;
  const Document* user_;
};

void gather(const Written& written, std::vector<std::string>& names) {
  for (const Written::Operand& operand : written.operands) {
    if (operand.preset)
      gather(*operand.preset, names);
    else if (std::ranges::find(names, operand.native) == names.end())
      names.push_back(operand.native);
  }
}

/// As a polynomial in which each occurrence of a native event is a separate variable.
std::optional<formula::Quotient> make_meaning(const Written& written, int& next) {
  std::vector<formula::Quotient> operands;
  for (const Written::Operand& operand : written.operands) {
    const auto means = operand.preset ? make_meaning(*operand.preset, next) : formula::variable(next++);
    if (!means) return {};
    operands.push_back(*means);
  }
  return meaning(written.type, written.postfix, operands);
}

PresetValue no_value(std::string why) {
  PresetValue value;
  value.ending = PresetValue::Ending::dies;
  value.why = std::move(why);
  return value;
}

} // namespace

Written written(const Preset& preset, const LoadedTable& loaded, const Document& table,
                const Document* user) {
  return Transcript(loaded, table, user).of(preset, 0);
}

std::vector<std::string> natives(const Written& written) {
  std::vector<std::string> names;
  gather(written, names);
  return names;
}

bool linear(const Written& written) {
  int next = 0;
  const auto means = make_meaning(written, next);
  if (!means) return false;
  const auto& [over, under] = *means;
  const bool undivided = under.size() == 1 && under.begin()->first.empty();
  return undivided && std::ranges::all_of(over, [](const auto& term) {
           const formula::Monomial& powers = term.first;
           return powers.size() == 1 && powers[0].second == 1 && powers[0].first != formula::clock_variable;
         });
}

PresetValue evaluate(const Written& written, const std::function<long long(const std::string& native)>& count,
                     int max_mhz) {
  if (!written.problem.empty()) return no_value(written.problem);
  std::vector<long long> counts;
  for (const Written::Operand& operand : written.operands) {
    if (!operand.preset) {
      counts.push_back(count(operand.native));
      continue;
    }
    PresetValue inner = evaluate(*operand.preset, count, max_mhz);
    if (inner.ending != PresetValue::Ending::value) return inner;
    counts.push_back(inner.value);
  }
  Preset plain;
  plain.type = written.type;
  plain.postfix = written.postfix;
  PresetValue value = recount::evaluate(plain, counts, max_mhz, PapiVersion::v7_3); // with the larger stack
  if (value.divided_by_zero) return no_value("division by a count of 0");
  if (value.out_of_range) return no_value("the value exceeds 64 bits");
  if (value.unreadable) return no_value("a character of its formula " + written.postfix + " is not valid");
  if (value.ending != PresetValue::Ending::value) return no_value(value.why);
  return value;
}

namespace {

/// Why a term of a row is not an event of the CPU; empty when the diagnostic does not concern a term.
std::string about_term(const CpuView& view, const Diagnostic& diagnostic) {
  const bool half = diagnostic.kind == DiagnosticKind::half_read;
  if (!half && diagnostic.kind != DiagnosticKind::unknown_term) return {};
  if (!view.natives) return diagnostic.text + " is not an event";
  const Native& native = view.natives->of(diagnostic.text);
  const std::string prefix = half ? "PAPI reads only its first terms: " : "";
  switch (native.status) {
  case Native::Status::unknown_mask:
    return fmt::format("{}{} has no mask {}", prefix, native.event, native.part);
  case Native::Status::refused:
    return fmt::format("{}libpfm4 rejects {}: {}", prefix, diagnostic.text, native.failure);
  case Native::Status::elsewhere: return fmt::format("{}presets cannot use {}", prefix, native.part);
  default: return fmt::format("{}libpfm4 does not know {} on this CPU", prefix, native.event);
  }
}

const event::pfm::Table& this_cpu() {
  const event::pfm::Table* const core = default_pmu();
  if (!core)
    throw unavailable("this CPU", "libpfm4 does not know it, so PAPI loads no preset table", {},
                      "install a newer libpfm4");
  return *core;
}

std::unique_ptr<const PresetTable> read(const std::string& path) {
  return path.empty() ? nullptr : std::make_unique<const PresetTable>(PresetTable::read(path));
}

std::string chosen_table; ///< of a source tree; empty: none

} // namespace

void use_table(const std::string& path) {
  chosen_table = path;
}

std::vector<std::string> installed_tables() {
  if (!chosen_table.empty()) return {chosen_table};
  std::vector<std::string> found;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/usr/share/papi", ignored))
    if (const auto table = entry.path() / "papi_events.csv"; std::filesystem::exists(table, ignored))
      found.push_back(table.string());
  std::ranges::sort(found);
  if (found.empty())
    throw unavailable("/usr/share/papi/*/papi_events.csv", "no preset table is installed", {},
                      "name a table, or install PAPI's: apt install libpapi-dev");
  return found;
}

std::string papi_table() {
  if (const char* const given = std::getenv("PAPI_CSV_EVENT_FILE"); given && *given && chosen_table.empty())
    return given;
  return installed_tables().back();
}

std::string papi_user_events() {
  const char* const given = std::getenv("PAPI_USER_EVENTS_FILE");
  return given ? given : "";
}

bool has_rows(const PresetTable& table, std::string_view cpu) {
  return std::ranges::any_of(table.cpus(), [&](const std::string& name) { return same_word(name, cpu); });
}

std::string why_not(const CpuView& view, const PresetTable& table, std::string_view name) {
  if (!has_rows(table, view.cpu)) return fmt::format("the table has no rows for this CPU ({})", view.cpu);
  std::string text = "the table does not define it for this CPU";
  for (const Diagnostic& diagnostic : view.diagnostics)
    if (same_word(diagnostic.preset, name))
      if (std::string why = about_term(view, diagnostic); !why.empty()) text = std::move(why);
  return text;
}

MachinePresets::MachinePresets(PapiVersion version)
    : table_(read(papi_table())),
      user_(read(papi_user_events())),
      view_(preset::view(table_->document(), this_cpu().name, &this_cpu(), version,
                         user_ ? &user_->document() : nullptr)) {
  if (view_.loaded.crashes)
    throw bad_input(fmt::format("{}:{}", table_->name(), view_.loaded.crash_place.line),
                    "PAPI crashes on this row: " + view_.loaded.crash, "recount lint " + table_->name());
}

Written MachinePresets::written(const Preset& preset) const {
  return preset::written(preset, view_.loaded, table_->document(), user_ ? &user_->document() : nullptr);
}

std::string formula_text(const Preset& preset) {
  const auto& natives = preset.natives;
  if (natives.empty()) return {};
  const auto joined = [&](std::size_t from, const char* sign) {
    std::string text;
    for (std::size_t i = from; i < natives.size(); ++i)
      text += (i == from ? "" : sign) + natives[i].name;
    return text;
  };
  switch (preset.type) {
  case Derived::postfix:
    return formula::to_infix(formula::parse_rpn(preset.postfix), base::mapped(natives, &PresetNative::name));
  case Derived::add: return joined(0, " + ");
  case Derived::sub: return joined(0, " - ");
  case Derived::ps:
    if (natives.size() > 1) return fmt::format("{} * max_hz / {}", natives[1].name, natives[0].name);
    break;
  case Derived::add_ps: return fmt::format("({}) * max_hz / {}", joined(1, " + "), natives[0].name);
  default: break;
  }
  return natives[0].name;
}

} // namespace recount::preset
