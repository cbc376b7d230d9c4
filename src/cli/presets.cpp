// recount presets: each preset of this or another CPU, with formula and terms, or why it is unavailable.
#include "cli/presets.hpp"
#include "base/format.hpp"
#include "base/json.hpp"
#include "base/nearest.hpp"
#include "base/text.hpp"
#include "command/command.hpp"
#include "command/table_export.hpp"
#include "command/verdicts.hpp"
#include "preset/preset_table.hpp"
#include "preset/here.hpp"

#include <recount/error.hpp>

#include <algorithm>
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <memory>

namespace recount::cli {
namespace {

struct PresetsArguments {
  std::vector<std::string> names;
  std::string fits, table, pmu, papi, export_to;
  bool all = false, json = false, no_verdicts = false, csv = false, check = false;
};

std::vector<std::string> names_in(const std::string& list) {
  std::vector<std::string> names;
  for (const std::string_view name : base::split(list, ','))
    if (!name.empty()) names.emplace_back(name);
  return names;
}

Json to_json(const PresetListing& listing) {
  Json json{{"table", listing.table}, {"cpu", listing.cpu}, {"tried_here", listing.here}};
  json["remark"] = listing.remark.empty() ? Json(nullptr) : Json(listing.remark);
  json["presets"] = Json::array();
  for (const PresetLine& p : listing.presets) {
    Json one{{"name", p.name}, {"description", p.prose}, {"available", p.reason.empty()}};
    one["reason"] = p.reason.empty() ? Json(nullptr) : Json(p.reason);
    one["derived"] = p.type.empty() ? Json(nullptr) : Json(p.type);
    one["formula"] = p.formula.empty() ? Json(nullptr) : Json(p.formula);
    one["trial"] = p.trial.empty() ? Json(nullptr) : Json(p.trial);
    one["verdict"] = p.mark.empty() ? Json(nullptr) : Json(p.mark);
    one["user_event"] = p.user;
    one["line"] = p.line == 0 ? Json(nullptr) : Json(p.line);
    one["counters"] = p.counters;
    one["counters_of_pmu"] = p.available;
    one["terms"] = Json::array();
    for (const PresetTermLine& t : p.terms)
      one["terms"].push_back({{"name", t.name},
                              {"encoding", t.code},
                              {"description", t.prose},
                              {"reason", t.reason.empty() ? Json(nullptr) : Json(t.reason)}});
    json["presets"].push_back(std::move(one));
  }
  return json;
}

void details(const PresetListing& listing, const PresetLine& p) {
  command::print("{}  {}\n", command::paint(command::Style::strong, p.name), p.prose);
  if (!p.reason.empty())
    command::print("    {}\n",
                   command::paint(command::Style::warning,
                                  command::wrap("unavailable: " + p.reason, command::line_width(), 4)));
  if (!p.trial.empty())
    command::print("    {}\n", command::wrap("PAPI: " + p.trial, command::line_width(), 8));
  if (!p.mark.empty())
    command::print("    {}\n",
                   command::paint(command::Style::warning,
                                  command::wrap("recount check: " + p.mark, command::line_width(), 8)));
  if (p.terms.empty()) return;
  command::print("    {}\n", command::wrap(fmt::format("{} = {}  ({}, {}:{})", p.name, p.formula, p.type,
                                                       p.user ? listing.user_table : listing.table, p.line),
                                           command::line_width(), 8));
  for (std::size_t i = 0; i < p.terms.size(); ++i) {
    const PresetTermLine& t = p.terms[i];
    command::print("      N{} {}  {}\n         {}\n", i, t.name,
                   command::paint(command::Style::faint, t.code),
                   command::wrap(t.prose, command::line_width(), 9));
    if (!t.reason.empty())
      command::print("         {}\n",
                     command::paint(command::Style::warning, "cannot be opened here: " + t.reason));
  }
  if (p.counters > 0)
    command::print("    needs {} of {}\n", p.counters, base::format_count(p.available, "counter"));
  if (!p.note.empty()) command::print("    note: {}\n", command::wrap(p.note, command::line_width(), 8));
}

command::Table presets_table(const PresetListing& listing, bool all) {
  std::vector<command::Table::Column> columns{{"preset"}, {"derived"}, {"formula, or why it is unavailable"}};
  const bool marked =
      std::ranges::any_of(listing.presets, [](const PresetLine& p) { return !p.mark.empty(); });
  const bool tried =
      std::ranges::any_of(listing.presets, [](const PresetLine& p) { return !p.trial.empty(); });
  if (tried) columns.push_back({"by PAPI"});
  if (marked) columns.push_back({"verdict"});
  command::Table table(std::move(columns), "Presets of " + listing.cpu);
  for (const PresetLine& p : listing.presets)
    if (const bool there = p.reason.empty(); there || all || !p.terms.empty()) {
      std::vector<std::string> cells{p.name, p.type, there ? p.formula : "unavailable: " + p.reason};
      if (tried) cells.push_back(p.trial);
      if (marked) cells.push_back(command::in_parentheses(p.mark));
      table.add(std::move(cells));
    }
  return table;
}

/// Presets that need a component of PAPI, with the qualifiers of their events.
command::Table components_table(const PresetListing& listing) {
  command::Table table({{"preset"}, {"component"}, {"devices"}, {"events"}}, "Presets of components");
  for (const preset::ComponentBlock& block : listing.components)
    for (const preset::Line& row : block.rows) {
      std::string events;
      for (const preset::Field& field : row.fields)
        if (field.text.starts_with(block.component + "::"))
          events += (events.empty() ? "" : ", ") + field.text;
      table.add({row.fields.size() > 1 ? row.fields[1].text : "", block.component,
                 fmt::format("{}", fmt::join(block.devices, ", ")), events});
    }
  return table;
}

void overview(const PresetListing& listing, bool all) {
  const command::Table table = presets_table(listing, all);
  const auto missing = static_cast<std::size_t>(
      std::ranges::count_if(listing.presets, [](const PresetLine& p) { return !p.reason.empty(); }));
  if (!table.empty()) command::print("{}\n", table.text());
  const command::Table components = components_table(listing);
  if (all && !components.empty()) command::print("{}\n", components.text());
  if (!all && !components.empty())
    command::print(
        "{}\n",
        command::wrap(
            fmt::format("presets that need a component of PAPI 7.3 and its devices: {}; -a lists them "
                        "with their events",
                        components.rows().size()),
            command::line_width(), 2));
  command::print(
      "{}\n", command::wrap(fmt::format("{} of {} available on {} by {}{}", listing.presets.size() - missing,
                                        base::format_count(listing.presets.size(), "preset"), listing.cpu,
                                        listing.table,
                                        all || missing == 0 ? "" : "; -a lists the others with the reason"),
                            command::line_width(), 2));
}

/// Rows that PAPI reads as the same presets, as papi_decode writes them.
void print_rows(const PresetListing& listing) {
  command::print("CPU,{}\n", listing.cpu);
  for (const PresetLine& p : listing.presets)
    if (!p.row.empty()) command::print("{}\n", p.row);
}

const PresetLine* find(const PresetListing& listing, const std::string& name) {
  const auto at = std::ranges::find_if(listing.presets, [&](const PresetLine& p) {
    return preset::same_word(p.name, name) || preset::same_word(p.name, "PAPI_" + name);
  });
  return at == listing.presets.end() ? nullptr : &*at;
}

/// Which presets can be counted beside others, by the number of counters.
int print_fitting(const PresetListing& listing, const std::vector<std::string>& names) {
  std::set<std::string> used;
  std::string chosen;
  for (const std::string& name : names) {
    const PresetLine& p = *find(listing, name);
    if (p.row.empty()) throw bad_input(p.name, "not available: " + p.reason);
    used.insert(p.events.begin(), p.events.end());
    chosen += (chosen.empty() ? "" : ", ") + p.name;
  }
  const auto counters = static_cast<std::size_t>(listing.counters);
  command::print("{}\n", command::wrap(fmt::format("{}: {} of {} of {}", chosen, used.size(),
                                                   base::format_count(counters, "counter"), listing.cpu),
                                       command::line_width(), 2));
  if (used.size() > counters) {
    command::print("do not fit together\n");
    return 1;
  }
  command::Table table({{"preset"}, {"further counters", command::Table::Align::right}}, "Presets that fit");
  std::size_t rows = 0;
  for (const PresetLine& p : listing.presets) {
    std::set<std::string> together = used;
    together.insert(p.events.begin(), p.events.end());
    rows += p.row.empty() ? 0U : 1U;
    const bool asked =
        std::ranges::any_of(names, [&](const std::string& n) { return find(listing, n) == &p; });
    if (!p.row.empty() && !asked && together.size() <= counters)
      table.add({p.name, std::to_string(together.size() - used.size())});
  }
  if (!table.empty()) command::print("\n{}\n", table.text());
  command::print("{}\n", command::wrap(fmt::format("{} of {} {} by the number of counters; an event that "
                                                   "needs a certain counter may still not",
                                                   table.rows().size(),
                                                   base::format_count(rows - names.size(), "other preset"),
                                                   table.rows().size() == 1 ? "fits" : "fit"),
                                       command::line_width(), 2));
  return 0;
}

int show(const PresetListing& listing, const PresetsArguments& asked) {
  if (!listing.remark.empty()) command::note("recount: {}\n", listing.remark);
  if (!asked.fits.empty()) return print_fitting(listing, names_in(asked.fits));
  if (asked.csv) {
    print_rows(listing);
    return 0;
  }
  if (asked.json) {
    command::print("{}", json_text("presets", to_json(listing)));
    return 0;
  }
  if (asked.names.empty()) {
    overview(listing, asked.all);
    return 0;
  }
  for (const std::string& name : asked.names) {
    details(listing, *find(listing, name));
  }
  return 0;
}

int execute_presets(const PresetsArguments& asked) {
  if (asked.csv + asked.json + !asked.fits.empty() > 1)
    throw bad_input("--csv, --json, --fits", "cannot be combined", "choose one");
  const command::TableExport file(asked.export_to);
  PapiVersion version = PapiVersion::v7_0;
  if (asked.papi == "7.3")
    version = PapiVersion::v7_3;
  else if (!asked.papi.empty() && asked.papi != "7.0")
    throw bad_input("--papi-version " + asked.papi, "unknown PAPI version", "7.0 or 7.3");
  PresetListing listing =
      list_presets(asked.table.empty() ? preset::papi_table() : asked.table, asked.pmu, version);
  std::vector<std::string> named = asked.names;
  const auto fits = names_in(asked.fits);
  named.insert(named.end(), fits.begin(), fits.end());
  for (const std::string& name : named) {
    if (find(listing, name)) continue;
    std::vector<std::string> all;
    for (const PresetLine& p : listing.presets)
      all.push_back(p.name);
    throw bad_input(name, "no such preset", base::did_you_mean(name, all));
  }
  if (!asked.names.empty())
    std::erase_if(listing.presets, [&](const PresetLine& p) {
      return std::ranges::none_of(asked.names, [&](const std::string& name) {
        return preset::same_word(p.name, name) || preset::same_word(p.name, "PAPI_" + name);
      });
    });
  // The verdicts are on the rows that PAPI reads here.
  if (listing.here && asked.table.empty()) {
    const auto marks = command::verdict_marks("presets", asked.no_verdicts);
    for (PresetLine& p : listing.presets)
      p.mark = marks.of(p.name);
  }
  if (asked.check && (!asked.table.empty() || !listing.here))
    throw bad_input("--check", "PAPI can try only its own table on this machine's CPU",
                    "omit --table and --pmu");
  if (asked.check) try_by_papi(listing);
  file.write("recount presets", {presets_table(listing, asked.all || !asked.names.empty())});
  return show(listing, asked);
}

} // namespace

command::Command presets_command() {
  return {"presets", "list presets with formula and terms, or why they are unavailable",
          [](command::Options& options) -> std::function<int()> {
            const auto asked = std::make_shared<PresetsArguments>();
            options.words("PRESET", asked->names, "show only these presets, with all terms")
                .text("--table", asked->table, "FILE", "use this preset table (default: PAPI's)")
                .text("--pmu", asked->pmu, "NAME",
                      "show presets of this PMU or CPU type, by libpfm4's name (default: this machine's)")
                .text("--papi-version", asked->papi, "VERSION",
                      "read the table as this PAPI does: 7.0 (default) or 7.3")
                .text("--fits", asked->fits, "PRESET,...",
                      "list what can be counted together with these, by the number of counters")
                .flag("--check", asked->check,
                      "have PAPI count each preset for a trial, as papi_avail --check does")
                .flag("--csv", asked->csv, "print rows of a table that define the same presets")
                .flag("-a,--all", asked->all, "also list unavailable presets, with the reason")
                .flag("--no-verdicts", asked->no_verdicts, command::no_verdicts_help)
                .flag("--json", asked->json, "print one JSON object")
                .text("--export", asked->export_to, "FILE", command::export_help);
            return [asked] { return execute_presets(*asked); };
          }};
}

} // namespace recount::cli
