#include "base/format.hpp"
#include "base/host/pmu.hpp"
#include "base/json.hpp"
#include "base/nearest.hpp"
#include "base/text.hpp"
#include "count/event/pfm.hpp"
#include "count/lint/lint.hpp"
#include "count/preset/preset_table.hpp"
#include "count/preset/standard.hpp"
#include "count/preset/view.hpp"
#include "count/preset/written.hpp"
#include "show/command/command.hpp"
#include "show/command/measuring.hpp"
#include "show/command/output.hpp"

#include <recount/error.hpp>
#include <recount/event.hpp>
#include <recount/group.hpp>
#include <recount/papi.hpp>

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <linux/perf_event.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

// recount presets: each preset of this or another CPU, with formula and terms, or why it is unavailable.
namespace recount::cli {
namespace {

struct PresetTermLine {
  std::string name, code, prose;
  std::string reason; ///< why it cannot be counted here; empty when it can, or when nobody tried
};

/// Events of the core PMU by PMU and spelling, each of which takes a counter, and the counters that can count
/// it.
using CoreEvents = std::map<std::string, std::uint64_t>;

struct PresetLine {
  std::string name, prose;
  std::string reason; ///< why it is not available; empty when it is
  std::string type, formula, note;
  std::string trial; ///< of --check: "counts", or why PAPI does not count it; empty: not tried
  int line = 0;      ///< of its row in the table
  std::string row;   ///< a row that defines the same; empty when PAPI does not read the whole of its row
  bool user = false; ///< of the table of user events
  CoreEvents events;
  std::vector<PresetTermLine> terms;
};

struct PresetListing {
  std::string table, cpu;
  std::string user_table; ///< PAPI_USER_EVENTS_FILE; empty: none
  int counters = 0;       ///< of the PMU, programmable and fixed
  bool here = false;      ///< the CPU is this machine's, so terms were opened for a trial
  std::string remark;     ///< applies to all presets: no such CPU in the table, no PMU here
  std::vector<PresetLine> presets;
  std::vector<preset::ComponentBlock> components; ///< which only PAPI 7.3 with that component reads
};

using preset::CpuView;

std::string remark(const PresetTable& table, const std::string& cpu, bool here) {
  std::string text;
  if (!preset::has_rows(table, cpu)) {
    text = fmt::format("{} has no rows for {}, so PAPI has no presets for it.", table.name(), cpu);
    for (const std::string& other : base::nearest(cpu, table.cpus(), 1))
      text += fmt::format(" The most similar CPU in the table is {}: see --pmu {}.", other, other);
  }
  if (here && std::ranges::none_of(host::pmus(), &host::Pmu::core))
    text += (text.empty() ? "" : "\n") + std::string("This machine has no core PMU, see recount doctor.");
  return text;
}

/// Why the events cannot be counted together here and now; empty when they can.
std::string trial(const CoreEvents& events) {
  try {
    std::vector<Event> group;
    for (const auto& [name, counters] : events)
      group.push_back(encode(name, Domain::user));
    if (!group.empty()) Group(std::move(group), GroupOptions{});
    return {};
  } catch (const Error& error) {
    return error.problem().cause;
  }
}

/// A row that PAPI reads as this preset.
std::string row_text(const Preset& preset) {
  std::string text = fmt::format("PRESET,{},{}", preset.name, name_of(preset.type));
  if (preset.type == Derived::postfix) text += "," + preset.postfix;
  for (const PresetNative& term : preset.natives)
    text += "," + term.name;
  const std::pair<const char*, const std::string*> notes[] = {
      {"SDESC", &preset.brief}, {"LDESC", &preset.text}, {"NOTE", &preset.note}};
  for (const auto& [keyword, note] : notes)
    if (!note->empty()) text += fmt::format(",{},\"{}\"", keyword, *note);
  return text;
}

/// Events of the core PMU under any name: its own, ix86arch's, perf's generic ones.
bool takes_counter(const preset::Native& native, const event::pfm::Table& core) {
  return native.pmu == core.name || native.type == PERF_TYPE_HARDWARE || native.type == PERF_TYPE_HW_CACHE ||
         native.type == PERF_TYPE_RAW;
}

PresetLine available(const CpuView& view, const Preset& preset, bool here) {
  PresetLine line;
  line.name = preset.name;
  line.type = name_of(preset.type);
  line.note = preset.note;
  if (!preset.half_read && preset.undefined.empty()) line.row = row_text(preset);
  line.line = preset.place.line;
  for (const PresetNative& term : preset.natives) {
    const preset::Native& native = view.natives->of(term.name);
    const bool full = term.name.find("::") != std::string::npos;
    const CoreEvents event{
        {full ? term.name : native.pmu + "::" + term.name, lint::find_counters(view, native)}};
    if (takes_counter(native, *view.core)) line.events.insert(event.begin(), event.end());
    line.terms.push_back({term.name, fmt::format("type {} config {:#x}", native.type, native.config),
                          native.prose, here ? trial(event) : std::string{}});
    if (line.reason.empty() && !line.terms.back().reason.empty())
      line.reason = fmt::format("{}: {}", term.name, line.terms.back().reason);
  }
  line.formula = preset::formula_text(preset);
  if (line.formula.empty()) line.reason = "the formula cannot be evaluated: " + preset.postfix;
  return line;
}

/// Whether the row is one of the table of user events: rows of both tables have line numbers only.
bool is_user_event(const Preset& preset, const PresetTable& table, const std::optional<PresetTable>& user) {
  const auto defines = [&](const PresetTable& one) {
    const preset::Line* const line = preset::line_at(one.document(), preset.place);
    return line && line->fields.size() > 1 && preset::same_word(line->fields[1].text, preset.name);
  };
  return user && defines(*user) && !defines(table);
}

/// `cpu` empty: this machine's. Throws Error when the table or the CPU is not there.
PresetListing list_presets(const std::string& path, const std::string& cpu, PapiVersion version) {
  const PresetTable table = PresetTable::read(path);
  preset::require_rows(table);
  const event::pfm::Table* const own = preset::default_pmu();
  const event::pfm::Table* const core = cpu.empty() ? own : preset::core_pmu(cpu);
  if (!core && cpu.empty())
    throw unavailable("this CPU", "libpfm4 does not know it, so PAPI loads no preset table", {},
                      "list presets of another CPU: recount presets --pmu NAME");
  if (!core) {
    throw bad_input(cpu, "libpfm4 has no core PMU of that name",
                    base::did_you_mean(cpu, base::mapped(preset::core_pmus(), &event::pfm::Table::name)));
  }
  PresetListing listing;
  listing.table = path;
  listing.cpu = core->name;
  listing.here = own && own->name == core->name;
  listing.remark = remark(table, core->name, listing.here);
  listing.counters = core->counters + core->fixed_counters;
  listing.user_table = preset::papi_user_events();
  std::optional<PresetTable> user;
  if (!listing.user_table.empty()) user = PresetTable::read(listing.user_table);
  const CpuView view =
      preset::view(table.document(), core->name, core, version, user ? &user->document() : nullptr);
  if (view.loaded.crashes)
    throw bad_input(fmt::format("{}:{}", path, view.loaded.crash_place.line),
                    "PAPI crashes on this row: " + view.loaded.crash, "recount lint " + path);
  for (const auto& standard : preset::standard_presets()) {
    const Preset* const found = view.loaded.find(standard.name);
    PresetLine line = found ? available(view, *found, listing.here) : PresetLine{};
    line.name = standard.name;
    line.prose = standard.text;
    if (!found || found->half_read) line.reason = preset::why_not(view, table, standard.name);
    listing.presets.push_back(std::move(line));
  }
  for (const Preset& extra : view.loaded.presets)
    if (!preset::standard_preset(extra.name)) {
      listing.presets.push_back(available(view, extra, listing.here));
      listing.presets.back().user = is_user_event(extra, table, user);
    }
  listing.components = preset::component_blocks(table.document());
  return listing;
}

/// Has PAPI start, read and stop each preset that it claims, in a process of its own where that may crash.
void try_by_papi(PresetListing& listing) {
  const papi::Inventory papi = papi::inventory();
  for (PresetLine& p : listing.presets) {
    const auto found = std::ranges::find(papi.presets, p.name, &papi::Preset::name);
    if (found == papi.presets.end())
      p.trial = papi.presets.empty() && !papi.reasons.empty() ? papi.reasons.front().text()
                                                              : "PAPI has no such preset for this CPU";
    else
      p.trial = found->counts ? "counts" : found->reason.cause;
  }
}

struct PresetsArguments {
  std::vector<std::string> names;
  std::string fits, table, pmu, papi, export_to;
  bool all = false, json = false, csv = false, check = false;
};

Json to_json(const PresetListing& listing) {
  const auto term = [](const PresetTermLine& t) {
    return Json{
        {"name", t.name}, {"encoding", t.code}, {"description", t.prose}, {"reason", or_null(t.reason)}};
  };
  const auto preset = [&](const PresetLine& p) {
    return Json{{"name", p.name},
                {"description", p.prose},
                {"available", p.reason.empty()},
                {"reason", or_null(p.reason)},
                {"derived", or_null(p.type)},
                {"formula", or_null(p.formula)},
                {"trial", or_null(p.trial)},
                {"user_event", p.user},
                {"line", p.line == 0 ? Json() : Json(p.line)},
                {"counters", p.events.size()},
                {"counters_of_pmu", listing.counters},
                {"terms", make_array(p.terms, term)}};
  };
  return {{"table", listing.table},
          {"cpu", listing.cpu},
          {"tried_here", listing.here},
          {"remark", or_null(listing.remark)},
          {"presets", make_array(listing.presets, preset)}};
}

void print_warning(const std::string& text, std::size_t indent) {
  command::print("    {}\n",
                 command::paint(command::Style::warning, command::wrap(text, command::line_width(), indent)));
}

void print_details(const PresetListing& listing, const PresetLine& p) {
  command::print("{}  {}\n", command::paint(command::Style::strong, p.name), p.prose);
  if (!p.reason.empty()) print_warning("unavailable: " + p.reason, 4);
  if (!p.trial.empty()) command::print_wrapped("PAPI: " + p.trial, 8, "    ");
  if (p.terms.empty()) return;
  command::print_wrapped(fmt::format("{} = {}  ({}, {}:{})", p.name, p.formula, p.type,
                                     p.user ? listing.user_table : listing.table, p.line),
                         8, "    ");
  for (std::size_t i = 0; i < p.terms.size(); ++i) {
    const PresetTermLine& t = p.terms[i];
    command::print("      N{} {}  {}\n", i, t.name, command::paint(command::Style::faint, t.code));
    command::print_wrapped(t.prose, 9, "         ");
    if (!t.reason.empty())
      command::print("         {}\n",
                     command::paint(command::Style::warning, "cannot be opened here: " + t.reason));
  }
  if (!p.events.empty())
    command::print("    needs {} of {}\n", p.events.size(), base::format_count(listing.counters, "counter"));
  if (!p.note.empty()) command::print_wrapped("note: " + p.note, 8, "    ");
}

show::Table presets_table(const PresetListing& listing, bool all) {
  std::vector<show::Column> columns{{"preset"}, {"derived"}, {"formula, or why it is unavailable"}};
  const bool tried =
      std::ranges::any_of(listing.presets, [](const PresetLine& p) { return !p.trial.empty(); });
  if (tried) columns.push_back({"by PAPI"});
  show::Table table(std::move(columns), "Presets of " + listing.cpu);
  for (const PresetLine& p : listing.presets)
    if (const bool available = p.reason.empty(); available || all || !p.terms.empty()) {
      std::vector<std::string> cells{p.name, p.type, available ? p.formula : "unavailable: " + p.reason};
      if (tried) cells.push_back(p.trial);
      table.add(std::move(cells));
    }
  return table;
}

/// Presets that need a component of PAPI, with the qualifiers of their events.
show::Table components_table(const PresetListing& listing) {
  show::Table table({{"preset"}, {"component"}, {"devices"}, {"events"}}, "Presets of components");
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

void print_overview(const PresetListing& listing, bool all) {
  const show::Table table = presets_table(listing, all), components = components_table(listing);
  const auto missing = static_cast<std::size_t>(
      std::ranges::count_if(listing.presets, [](const PresetLine& p) { return !p.reason.empty(); }));
  if (!table.empty()) command::print("{}\n", command::table_text(table));
  if (all && !components.empty()) command::print("{}\n", command::table_text(components));
  if (!all && !components.empty())
    command::print_wrapped(
        fmt::format(
            "presets that need a component of PAPI 7.3 and its devices: {}; -a lists them with their events",
            components.rows.size()),
        2);
  command::print_wrapped(fmt::format("{} of {} available on {} by {}{}", listing.presets.size() - missing,
                                     base::format_count(listing.presets.size(), "preset"), listing.cpu,
                                     listing.table,
                                     all || missing == 0 ? "" : "; -a lists the others with the reason"),
                         2);
}

/// Rows that PAPI reads as the same presets, as papi_decode writes them.
void print_rows(const PresetListing& listing) {
  command::print("CPU,{}\n", listing.cpu);
  for (const PresetLine& p : listing.presets)
    if (!p.row.empty()) command::print("{}\n", p.row);
}

/// With or without PAPI_.
bool is_named(const PresetLine& p, const std::string& name) {
  return preset::same_word(p.name, name) || preset::same_word(p.name, "PAPI_" + name);
}

const PresetLine* find(const PresetListing& listing, const std::string& name) {
  const auto at =
      std::ranges::find_if(listing.presets, [&](const PresetLine& p) { return is_named(p, name); });
  return at == listing.presets.end() ? nullptr : &*at;
}

/// Which presets can be counted together with others: tried where the CPU is this machine's.
int print_fitting(const PresetListing& listing, const std::vector<std::string>& names) {
  const bool tried = listing.here && std::ranges::any_of(host::pmus(), &host::Pmu::core);
  CoreEvents used;
  std::vector<std::string> chosen;
  for (const std::string& name : names) {
    const PresetLine& p = *find(listing, name);
    if (p.row.empty()) throw bad_input(p.name, "not available: " + p.reason);
    if (tried && !p.reason.empty()) throw unavailable(p.name, p.reason);
    used.insert(p.events.begin(), p.events.end());
    chosen.push_back(p.name);
  }
  const auto problem = [&](const CoreEvents& events) -> std::string {
    if (tried) return trial(events);
    std::vector<std::uint64_t> counters;
    for (const auto& [event, own] : events)
      counters.push_back(own);
    return lint::fit_counters(counters) ? "" : "no counters can hold all events at once";
  };
  const std::string where =
      tried ? "tried on this machine"
            : fmt::format("for {} of {}", base::format_count(listing.counters, "counter"), listing.cpu);
  command::print_wrapped(
      fmt::format("{}: {}, {}", fmt::join(chosen, ", "), base::format_count(used.size(), "event"), where), 2);
  if (const std::string why = problem(used); !why.empty()) {
    command::print_wrapped("do not fit together: " + why, 2);
    return 1;
  }
  show::Table table({{"preset"}, {"further counters", show::Role::number}}, "Presets that fit");
  std::size_t others = 0;
  for (const PresetLine& p : listing.presets) {
    if (p.row.empty() || (tried && !p.reason.empty()) || std::ranges::count(chosen, p.name) > 0) continue;
    ++others;
    CoreEvents together = used;
    together.insert(p.events.begin(), p.events.end());
    if (problem(together).empty()) table.add({p.name, std::to_string(together.size() - used.size())});
  }
  if (!table.empty()) command::print("\n{}\n", command::table_text(table));
  const std::size_t fit = table.rows.size();
  command::print_wrapped(fmt::format("{} of {} {}{}", fit, base::format_count(others, "other preset"),
                                     fit == 1 ? "fits" : "fit",
                                     tried ? "" : "; fewer where SMT threads share the counters"),
                         2);
  return 0;
}

int show(const PresetListing& listing, const PresetsArguments& requested) {
  if (!listing.remark.empty()) command::note("recount: {}\n", listing.remark);
  if (!requested.fits.empty()) return print_fitting(listing, base::list_words({requested.fits}));
  if (requested.csv)
    print_rows(listing);
  else if (requested.json)
    command::print("{}", json_text("presets", to_json(listing)));
  else if (requested.names.empty())
    print_overview(listing, requested.all);
  else
    for (const std::string& name : requested.names)
      print_details(listing, *find(listing, name));
  return 0;
}

int execute_presets(PresetsArguments requested) {
  requested.names = base::list_words(requested.names);
  if (requested.csv + requested.json + !requested.fits.empty() > 1)
    throw bad_input("--csv, --json, --fits", "cannot be combined", "choose one");
  const command::TableExport file(requested.export_to);
  const PapiVersion version = preset::parse_papi_version(requested.papi).value_or(PapiVersion::v7_0);
  PresetListing listing =
      list_presets(requested.table.empty() ? preset::papi_table() : requested.table, requested.pmu, version);
  std::vector<std::string> named = requested.names;
  const auto fits = base::list_words({requested.fits});
  named.insert(named.end(), fits.begin(), fits.end());
  for (const std::string& name : named) {
    if (find(listing, name)) continue;
    throw bad_input(name, "no such preset",
                    base::did_you_mean(name, base::mapped(listing.presets, &PresetLine::name)));
  }
  if (!requested.names.empty())
    std::erase_if(listing.presets, [&](const PresetLine& p) {
      return std::ranges::none_of(requested.names,
                                  [&](const std::string& name) { return is_named(p, name); });
    });
  if (requested.check && (!requested.table.empty() || event::pfm::library_chosen() || !listing.here))
    throw bad_input("--check", "PAPI can try only its own table on this machine's CPU",
                    "omit --table, --libpfm, --papi-source and --pmu");
  if (requested.check) try_by_papi(listing);
  file.write("recount presets", {presets_table(listing, requested.all || !requested.names.empty())});
  return show(listing, requested);
}

} // namespace

command::Command presets_command() {
  return command::make_command<PresetsArguments>(
      "presets", "list presets with formula and terms, or why they are unavailable",
      [](command::Options& options, PresetsArguments& requested) {
        options.words("PRESET", requested.names, "show only these presets, with all terms")
            .text("--table", requested.table, "FILE", "use this preset table (default: PAPI's)")
            .text("--pmu", requested.pmu, "NAME",
                  "show presets of this PMU or CPU type, by libpfm4's name (default: this machine's)")
            .text("--papi-version", requested.papi, "VERSION",
                  "read the table as this PAPI does: 7.0 (default) or 7.3")
            .text("--fits", requested.fits, "PRESET,...",
                  "list what can be counted together with these: tried, or for another CPU by its counters")
            .libpfm()
            .flag("--check", requested.check,
                  "have PAPI count each preset for a trial, as papi_avail --check does")
            .flag("--csv", requested.csv, "print rows of a table that define the same presets")
            .flag("-a,--all", requested.all, "also list unavailable presets, with the reason")
            .flag("--json", requested.json, "print one JSON object")
            .text("--export", requested.export_to, "FILE", command::export_help);
      },
      execute_presets);
}

} // namespace recount::cli
