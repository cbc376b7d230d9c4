#include "preset/here.hpp"

#include <recount/error.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fmt/core.h>

namespace recount::preset {
namespace {

std::string variable(const char* name) {
  const char* const given = std::getenv(name);
  return given ? given : "";
}

/// Why a term of a row is no event of the CPU; empty when what was met is not about a term.
std::string about_term(const CpuView& view, const Met& met) {
  if (met.what != What::unknown_term && met.what != What::half_read) return {};
  std::string text;
  if (!view.natives) return met.text + " is no event";
  const Native& native = view.natives->of(met.text);
  switch (native.status) {
  case Native::Status::unknown_mask:
    text = fmt::format("{} has no mask {}", native.event, native.part);
    break;
  case Native::Status::refused: text = fmt::format("libpfm4 refuses {}: {}", met.text, native.failure); break;
  case Native::Status::elsewhere: text = fmt::format("presets cannot use {}", native.part); break;
  default: text = fmt::format("libpfm4 does not know {} on this CPU", native.event);
  }
  return met.what == What::half_read ? "only half of it is read: " + text : text;
}

const event::pfm::Table& this_cpu() {
  const event::pfm::Table* const core = default_pmu();
  if (!core)
    throw unavailable("this CPU", "libpfm4 does not know it, so PAPI reads no table here", {},
                      "a newer libpfm4 may know it");
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
                      "--table FILE names one; apt install libpapi-dev brings PAPI's");
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
  for (const Met& met : view.met)
    if (same_word(met.preset, name))
      if (std::string why = about_term(view, met); !why.empty()) text = std::move(why);
  return text;
}

Here::Here(PapiVersion version)
    : table_(read(papi_table())),
      user_(read(papi_user_events())),
      view_(preset::view(table_->document(), this_cpu().name, &this_cpu(), version,
                         user_ ? &user_->document() : nullptr)) {
  if (view_.loaded.crashes)
    throw bad_input(fmt::format("{}:{}", table_->name(), view_.loaded.crash_place.line),
                    "PAPI dies on this row: " + view_.loaded.crash, "recount lint " + table_->name());
}

Written Here::written(const Preset& preset) const {
  return preset::written(preset, view_.loaded, table_->document(), user_ ? &user_->document() : nullptr);
}

} // namespace recount::preset
