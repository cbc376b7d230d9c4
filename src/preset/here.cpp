#include "preset/here.hpp"

#include <recount/error.hpp>

#include "formula/expression.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fmt/core.h>
#include <fmt/format.h>

namespace recount::preset {
namespace {

std::string variable(const char* name) {
  const char* const given = std::getenv(name);
  return given ? given : "";
}

/// Why a term of a row is not an event of the CPU; empty when the diagnostic does not concern a term.
std::string about_term(const CpuView& view, const Diagnostic& diagnostic) {
  if (diagnostic.kind != DiagnosticKind::unknown_term && diagnostic.kind != DiagnosticKind::half_read)
    return {};
  std::string text;
  if (!view.natives) return diagnostic.text + " is not an event";
  const Native& native = view.natives->of(diagnostic.text);
  switch (native.status) {
  case Native::Status::unknown_mask:
    text = fmt::format("{} has no mask {}", native.event, native.part);
    break;
  case Native::Status::refused:
    text = fmt::format("libpfm4 rejects {}: {}", diagnostic.text, native.failure);
    break;
  case Native::Status::elsewhere: text = fmt::format("presets cannot use {}", native.part); break;
  default: text = fmt::format("libpfm4 does not know {} on this CPU", native.event);
  }
  return diagnostic.kind == DiagnosticKind::half_read ? "PAPI reads only its first terms: " + text : text;
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

} // namespace

std::string papi_table() {
  if (auto given = variable("PAPI_CSV_EVENT_FILE"); !given.empty()) return given;
  std::string last;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/usr/share/papi", ignored))
    if (const auto table = entry.path() / "papi_events.csv"; std::filesystem::exists(table, ignored))
      last = std::max(last, table.string());
  if (last.empty())
    throw unavailable("/usr/share/papi/*/papi_events.csv", "no preset table is installed", {},
                      "name one with --table FILE, or install PAPI's: apt install libpapi-dev");
  return last;
}

std::string papi_user_events() {
  return variable("PAPI_USER_EVENTS_FILE");
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
  std::vector<std::string> names;
  for (const PresetNative& term : preset.natives)
    names.push_back(term.name);
  if (names.empty()) return {};
  std::string joined;
  const char* const sign = preset.type == Derived::sub ? " - " : " + ";
  for (const auto& name : names)
    joined += (joined.empty() ? "" : sign) + name;
  switch (preset.type) {
  case Derived::postfix: return formula::to_infix(formula::parse_rpn(preset.postfix), names);
  case Derived::add:
  case Derived::sub: return joined;
  case Derived::ps: return names.size() > 1 ? fmt::format("{} * max_hz / {}", names[1], names[0]) : names[0];
  case Derived::add_ps:
    return fmt::format("({}) * max_hz / {}", joined.substr(std::min(names[0].size() + 3, joined.size())),
                       names[0]);
  default: return names.front();
  }
}

} // namespace recount::preset
