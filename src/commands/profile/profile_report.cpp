#include "commands/profile/profile_report.hpp"

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/process/child.hpp"
#include "base/text.hpp"
#include "commands/profile/recording.hpp"
#include "count/symbol/module.hpp"
#include "model/machine.hpp"
#include "model/trace/miss_kinds.hpp"
#include "run/result/results_file.hpp"
#include "run/witness/results_header.hpp"
#include "show/command/measuring.hpp"
#include "show/command/output.hpp"

#include <recount/count.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <tuple>
#include <utility>

namespace recount::profile {

bool every_occurrence(const Profile& p, std::size_t event) {
  const auto& count = p.recording.report.events[event];
  return p.recording.events[event].period == 1 && count.samples == count.occurrences;
}

Share share_of(const Profile& p, const Tally& part, std::size_t event) {
  return share_of(part, p.recording.places, event, every_occurrence(p, event));
}

std::string ending_text(const process::Exit& exit) {
  if (exit.ok()) return {};
  return (killed(exit) ? ", incomplete: " : ", ") + process::describe(exit);
}

namespace {
/// The events that tables show: all but those of advice_text().
std::vector<std::size_t> shown_events(const Profile& p) {
  std::vector<std::size_t> shown;
  for (std::size_t e = 0; e < p.recording.events.size(); ++e)
    if (!only_advises(p.recording.events[e].event.name)) shown.push_back(e);
  return shown;
}

/// As many digits as the interval supports.
std::string percent(double share, double width) {
  const int digits = width >= 0.02 ? 0 : width >= 0.002 ? 1 : 2;
  return fmt::format("{:.{}f}", 100 * share, digits);
}

constexpr std::uint64_t few = 10; ///< samples, of which a share is not established

/// "62 % (59…65)", "2 % ? (0…5)" with few samples; without an interval if it is exact.
std::string share_cell(const Profile& p, const Tally& tally, std::size_t event, bool interval = false) {
  const Share share = share_of(p, tally, event);
  if (tally.samples == 0) return "0";
  if (share.exact) return percent(share.value, 0.005) + " %";
  const double width = share.high - share.low;
  const bool unsure = tally.samples < few;
  return percent(share.value, unsure ? 1 : width / 2) + (unsure ? " % ?" : " %") +
         (interval ? fmt::format(" ({}…{})", percent(share.low, width / 4), percent(share.high, width / 4))
                   : "");
}

/// Whether a cell of the row has a question mark.
bool has_few_samples(const Profile& p, const ProfileRow& row) {
  return std::ranges::any_of(shown_events(p), [&](std::size_t e) {
    const Tally& tally = row.tallies[e];
    return tally.samples > 0 && tally.samples < few && !share_of(p, tally, e).exact;
  });
}

/// Share of the time that the event was scheduled, see SampledCount::present_ns.
double scheduled_share(const Profile& p, std::size_t e) {
  const auto& count = p.recording.report.events[e];
  const auto type = p.recording.events[e].event.attr.type;
  if (type == PERF_TYPE_SOFTWARE || type == PERF_TYPE_BREAKPOINT || count.present_ns == 0) return 1;
  return std::min(1.0, static_cast<double>(count.running_ns) / static_cast<double>(count.present_ns));
}

Reason why_not_counted(const Profile& p, std::size_t e) {
  const auto& count = p.recording.report.events[e];
  if (!p.recording.not_counted.empty() || scheduled_share(p, e) >= 1) return p.recording.not_counted;
  return why_not_scaled({count.occurrences, count.present_ns, count.running_ns, {}});
}

std::string event_line(const Profile& p, std::size_t e) {
  const auto& event = p.recording.events[e];
  const auto& count = p.recording.report.events[e];
  if (const Reason why = why_not_counted(p, e); !why.empty())
    return fmt::format("  not counted: {}: {}", event.event.name, why.cause);
  if (modelled_event(event.event.name))
    return fmt::format("  {}: {}, modelled{}", event.event.name,
                       base::format_count(count.occurrences, "occurrence"),
                       p.recording.sampled.empty() ? "" : ", " + p.recording.sampled[e].text);
  std::string text = fmt::format("  {}: {}", event.event.name, base::format_count(count.samples, "sample"));
  if (event.frequency != 0)
    text += fmt::format(" (about {} per second)", event.frequency);
  else if (event.period == 1)
    text += ", one per occurrence";
  else
    text += ", each of " + amount_text(event, static_cast<double>(event.period));
  text += ", " + amount_text(event, static_cast<double>(count.occurrences)) + " counted";
  text += count.lost ? fmt::format(", {} lost", *count.lost) : ", lost: not reported by this kernel";
  if (count.throttled > 0) text += ", throttled " + base::format_count(count.throttled, "time");
  if (const double share = scheduled_share(p, e); share < 0.995)
    text += fmt::format(", scheduled {:.0f} % of the time", 100 * share);
  return text;
}

std::string overhead_text(const Profile& p, std::size_t columns) {
  if (p.recording.report.rings == 0) return {};
  const auto& report = p.recording.report;
  const double seconds = static_cast<double>(report.reader_ns) / 1e9;
  std::uint64_t samples = 0;
  for (const auto& count : report.events)
    samples += count.samples + count.lost.value_or(0);
  const std::string reading = fmt::format(
      "  cost of reading: {:.3g} ms of processor time ({:.2g} %), {}, {} of ring buffers", seconds * 1e3,
      p.recording.seconds > 0 ? 100 * seconds / p.recording.seconds : 0,
      base::format_count(report.records, "record"), base::format_bytes(report.rings * report.ring_bytes));
  const std::string interrupts =
      "  not measured: run time of " + base::format_count(samples, "sampling interrupt");
  return command::fit(reading, columns, 4) + "\n" + command::fit(interrupts, columns, 4) + "\n";
}

std::string summary_text(const Profile& p, bool all) {
  const std::size_t columns = command::line_width(stderr);
  const std::string title = fmt::format("profile of {}: {:.3g} s{}", base::printable(p.subject),
                                        p.recording.seconds, ending_text(p.recording.exit));
  std::string text = command::fit(title, columns, 2) + "\n";
  for (const std::size_t e : shown_events(p))
    text += command::fit(event_line(p, e), columns, 4) + "\n";
  return text + (all ? overhead_text(p, columns) : "");
}

/// Of notes on modules the first part of two, unless `all`.
std::string notes_text(const Profile& p, bool all) {
  const auto& report = p.recording.report;
  std::string text;
  if (!report.complete())
    text += fmt::format(
        "  incomplete: {} lost{}, {} damaged\n", base::format_count(report.lost_records, "record"),
        report.full > 0 ? ", a ring buffer was full " + base::format_count(report.full, "time") : "",
        report.damaged);
  const auto add = [&](const std::string& note) {
    text += "  " + command::wrap(base::printable(note), command::line_width(stderr), 4) + "\n";
  };
  std::ranges::for_each(p.recording.notes, add);
  const auto& notes = p.naming.notes;
  for (std::size_t i = 0; i < notes.size(); ++i)
    if (all || i < 2) add(notes[i].substr(0, all ? notes[i].npos : notes[i].find("; ")));
  if (!all && notes.size() > 2) add(fmt::format("{} more notes: -v", notes.size() - 2));
  return text;
}

using enum show::Role;
constexpr std::size_t max_of_narrow = 32, max_of_wide = 70; // columns of a name

/// What names a row, in one column.
struct NameField {
  show::Column column;
  std::string cell;
  std::string brief = {}; ///< of a function without parameters, for narrow tables; empty: the cell
};

NameField function_field(const ProfileRow& row, const show::Column& column) {
  if (row.function.empty()) return {column, row.address != 0 ? fmt::format("{:#x}", row.address) : "?"};
  const std::string name = base::printable(row.function), how = row.inlined ? " (inlined)" : "";
  const std::string unnamed = "(anonymous namespace)::";
  std::string base = symbol::base_name(name);
  for (std::size_t at = 0; (at = base.find(unnamed)) != std::string::npos;)
    base.erase(at, unnamed.size());
  return {column, name + how, command::shortened(base, max_of_narrow) + how};
}

std::string line_cell(const ProfileRow& row) {
  return row.source.empty() ? fmt::format("{:#x}", row.address) : base::printable(row.source);
}

/// Name, size, offsets of the accesses, module.
std::vector<std::string> object_cells(const ProfileRow& row) {
  if (!row.object) return {"not recorded", "", "", ""};
  const DataObject& object = *row.object;
  std::string size = object.bytes > 0 ? base::format_bytes(object.bytes) : "";
  if (object.blocks > 1) size += fmt::format(" in {} blocks", object.blocks);
  return {base::printable(object.name), size,
          object.low <= object.high ? fmt::format("{}…{}", object.low, object.high) : "",
          base::printable(short_path(object.module))};
}

/// What names a row of a grouping, after the columns of the events. The highest ranks are left out first:
/// names are enough for modules and objects.
std::vector<NameField> name_fields(const ProfileRow& row, By by) {
  const NameField function = function_field(row, {"function", words, 1}),
                  module{{"module", words, 3}, base::printable(short_path(row.module))};
  const std::vector<std::string> object = object_cells(row);
  switch (by) {
  case By::module: return {{{"module"}, base::printable(row.module)}};
  case By::symbol:
  case By::function: return {function_field(row, {name_of(by)}), module};
  case By::line: return {{{"line"}, line_cell(row)}, function, module};
  case By::object:
    return {{{"object"}, object[0]},
            {{"size", words, 2}, object[1]},
            {{"offsets", words, 2}, object[2]},
            {module.column, object[3]}};
  case By::line_object: return {{{"line"}, line_cell(row)}, {{"object"}, object[0]}, function, module};
  case By::address: break;
  }
  return {{{"address"}, fmt::format("{:#x}", row.address)},
          {{"instruction"}, row.instruction},
          {{"line"}, base::printable(row.source)},
          function,
          module};
}

/// Appends the names to the cells of a row.
void add_names(const ProfileRow& row, By by, std::vector<show::Cell>& cells) {
  for (const NameField& field : name_fields(row, by))
    cells.emplace_back(command::shortened(field.cell, max_of_wide),
                       field.brief.empty() ? command::shortened(field.cell, max_of_narrow) : field.brief);
}

/// Heads and cells, for CSV.
std::vector<std::pair<std::string, std::string>> name_keys(const ProfileRow& row, By by) {
  std::vector<std::pair<std::string, std::string>> keys;
  for (NameField& field : name_fields(row, by))
    keys.emplace_back(field.column.head, std::move(field.cell));
  return keys;
}

/// Share and samples of an event in a row, for CSV.
void add_values(show::Table& table, const Profile& p, const ProfileRow& row, By by, std::size_t event) {
  const std::string& name = p.recording.events[event].event.name;
  const Tally& tally = row.tallies[event];
  const Share share = share_of(p, tally, event);
  show::Datum datum{.keys = name_keys(row, by),
                    .quantity = name,
                    .witness = modelled_event(name) ? "model" : "perf",
                    .repetitions = tally.samples};
  const auto bound = [&](double at) { return share.exact ? std::nullopt : std::optional(at); };
  table.add_data({datum.with("share", share.value, bound(share.low), bound(share.high)),
                  modelled_event(name) ? datum.with("count", static_cast<double>(tally.weight))
                                       : datum.with("samples", static_cast<double>(tally.samples))});
}

show::Table make_table(const Profile& p, const std::vector<ProfileRow>& rows, By by, std::size_t top,
                       bool all) {
  std::vector<show::Column> columns;
  const auto shown = shown_events(p);
  const bool alone = shown.size() == 1, counts = all || (alone && command::line_width(stderr) >= 80);
  for (const std::size_t e : shown) {
    const std::string& name = p.recording.events[e].event.name;
    std::string brief = name.substr(name.rfind(':') + 1);
    if (brief.starts_with("MODEL_L1_")) brief.erase(0, 9);
    columns.push_back({alone ? "share" : all ? name : brief, number, e == 0 ? 0 : 2, alone ? "" : brief});
    if (counts) columns.push_back({modelled_event(name) ? "count" : "samples", number, 4});
  }
  for (const NameField& field : name_fields({}, by))
    columns.push_back(field.column);
  show::Table table(columns, fmt::format("by {}", name_of(by)));
  for (std::size_t i = 0; i < std::min(top, rows.size()); ++i) {
    std::vector<show::Cell> line;
    for (const std::size_t e : shown) {
      const Tally& tally = rows[i].tallies[e];
      add_values(table, p, rows[i], by, e);
      line.emplace_back(share_cell(p, tally, e, all), share_cell(p, tally, e));
      if (counts)
        line.emplace_back(
            std::to_string(modelled_event(p.recording.events[e].event.name) ? tally.weight : tally.samples));
    }
    add_names(rows[i], by, line);
    table.add(std::move(line));
  }
  return table;
}

/// The rows after the first `top`.
std::string omitted_text(const Profile& p, const std::vector<ProfileRow>& rows, std::size_t top) {
  std::vector<std::string> shares;
  for (const std::size_t e : shown_events(p)) {
    double weight = 0;
    for (std::size_t i = top; i < rows.size(); ++i)
      weight += static_cast<double>(rows[i].tallies[e].weight);
    const auto all = static_cast<double>(p.recording.places.total(e).weight);
    const double share = all > 0 ? 100 * weight / all : 0;
    shares.push_back(fmt::format("{:.{}f} %", share, share < 10 ? 1 : 0));
  }
  if (shares.size() > 2) shares.resize(1);
  const std::string text =
      fmt::format("  … {} more, {} in all (--top)", rows.size() - top, fmt::join(shares, " and "));
  return command::fit(text, command::line_width(stderr), 4) + "\n";
}
} // namespace

show::Table profile_table(const Profile& p, By by, std::size_t top) {
  return make_table(p, group_places(p.recording.places, p.naming, by), by, top, true);
}

std::string chains_text(const Profile& p, std::size_t top) {
  const auto sums = chains_by_name(p.recording.places, p.naming, 0, " (inlined)");
  std::vector<std::pair<std::vector<std::string>, Tally>> sorted(sums.begin(), sums.end());
  std::ranges::stable_sort(sorted, std::greater(), [](const auto& chain) { return chain.second.weight; });
  std::string text =
      fmt::format("call chains of {}, innermost function first\n", p.recording.events[0].event.name);
  for (std::size_t i = 0; i < std::min(top, sorted.size()); ++i) {
    const auto& [names, tally] = sorted[i];
    text += fmt::format("{}, {}\n", share_cell(p, tally, 0), base::format_count(tally.samples, "sample"));
    for (const auto& name : names)
      text += "    " + command::shortened(base::printable(name), 100) + "\n";
  }
  if (sorted.size() > top)
    text += fmt::format("  … {} (--top)\n", base::format_count(sorted.size() - top, "more chain"));
  return text;
}

namespace {
/// The samples of one source line.
struct SourceLine {
  std::vector<Tally> tallies;
  std::map<std::uint32_t, double> objects; ///< weight of the first event, by Place::object
};
using SourceLines = std::map<int, SourceLine>;

/// The lines with samples of functions of this name, by file.
std::map<std::string, SourceLines> find_source_lines(const Profile& p, const std::string& function) {
  const Places& places = p.recording.places;
  std::map<std::string, SourceLines> files;
  for (std::size_t i = 0; i < p.naming.places.size(); ++i) {
    const auto& frames = p.naming.places[i].frames;
    const bool requested =
        std::ranges::any_of(frames, [&](const auto& f) { return symbol::denotes(function, f.function); });
    if (!requested || frames.front().line == 0 || without_samples(places.tally(i))) continue;
    SourceLine& line = files[frames.front().file][frames.front().line];
    add(line.tallies, places.tally(i));
    if (const std::uint32_t object = places.places()[i].object; object > 0)
      line.objects[object] += static_cast<double>(places.tally(i)[0].weight);
  }
  return files;
}

/// Up to three objects with at least a twentieth of the line's samples, most first: "b (98 %), a (2 %)".
std::string object_list(const SourceLine& line, const Naming& naming) {
  constexpr std::size_t most = 3;
  constexpr double least = 0.05;
  std::map<std::string, double> by_name;
  double all = 0;
  for (const auto& [object, weight] : line.objects) {
    by_name[naming.objects.at(object - 1).name] += weight;
    all += weight;
  }
  std::vector<std::pair<std::string, double>> sorted(by_name.begin(), by_name.end());
  std::erase_if(sorted,
                [&](const auto& object) { return object.second <= 0 || object.second < least * all; });
  std::ranges::stable_sort(sorted, std::greater(), &std::pair<std::string, double>::second);
  sorted.resize(std::min(sorted.size(), most));
  std::vector<std::string> words;
  for (const auto& [name, weight] : sorted)
    words.push_back(fmt::format("{} ({:.0f} %)", name, 100 * weight / all));
  return fmt::format("{}", fmt::join(words, ", "));
}

/// The lines of a file with samples and those around them, with a row for each gap.
show::Table annotated_table(const Profile& p, const SourceLines& lines,
                            const std::vector<std::string_view>& text) {
  constexpr int around = 3;
  const auto shown = shown_events(p);
  std::vector<show::Column> columns;
  for (const std::size_t e : shown)
    columns.push_back({p.recording.events[e].event.name, number});
  columns.push_back({"line", number});
  columns.push_back({"source"});
  if (std::ranges::any_of(lines, [](const auto& line) { return !line.second.objects.empty(); }))
    columns.push_back({"data"});
  show::Table table(columns);
  const auto length = static_cast<int>(text.size());
  std::set<int> numbers;
  for (const auto& [number, line] : lines) {
    numbers.insert(number); // also beyond the text
    for (int near = std::max(number - around, 1); near <= std::min(number + around, length); ++near)
      numbers.insert(near);
  }
  int last = *numbers.begin() - 1;
  for (const int number : numbers) {
    std::vector<std::string> cells(shown.size());
    if (number != std::exchange(last, number) + 1) {
      auto gap = cells;
      gap.emplace_back("…");
      table.add(std::move(gap));
    }
    const auto line = lines.find(number);
    for (std::size_t i = 0; i < shown.size() && line != lines.end(); ++i)
      if (const Tally& tally = line->second.tallies[shown[i]]; tally.samples > 0)
        cells[i] = share_cell(p, tally, shown[i]);
    cells.push_back(std::to_string(number));
    cells.push_back(number <= length ? base::printable(text[static_cast<std::size_t>(number) - 1]) : "");
    if (line != lines.end()) cells.push_back(base::printable(object_list(line->second, p.naming)));
    cells.resize(columns.size());
    table.add(std::move(cells));
  }
  return table;
}
} // namespace

std::string annotated_text(const Profile& p, const std::string& function) {
  constexpr std::size_t largest = 16 << 20; // bytes of a source file
  const auto files = find_source_lines(p, function);
  if (files.empty())
    return fmt::format("{}: no samples in a function of this name\n", base::printable(function));
  std::string text;
  for (const auto& [path, lines] : files) {
    const process::Fd file = process::open_regular(path);
    const auto source = file ? base::read_all(file.get(), largest) : std::nullopt;
    text += base::printable(path) + (source ? "" : std::string(": ") + std::strerror(errno)) + "\n";
    text += command::table_text(
        annotated_table(p, lines, base::split(std::string_view(source ? *source : ""), '\n')));
  }
  return text;
}

namespace {
using Kinds = trace::MissKinds;
constexpr double min_part = 0.01; ///< of all occurrences, misses or walks, to be reported
constexpr double min_gain = 0.05; ///< of what a line has, to be reported

/// The counts of MissKinds of a line, or of everything; 0: not among the events.
using KindCounts = std::array<std::uint64_t, Kinds::names.size()>;

KindCounts count_kinds(const Profile& p, const std::function<std::uint64_t(std::size_t event)>& weight) {
  KindCounts counts{};
  for (std::size_t e = 0; e < p.recording.events.size(); ++e) {
    const auto event = modelled_event(p.recording.events[e].event.name);
    const auto kind = std::ranges::find(Kinds::names, event ? event->metric : std::string());
    if (kind != Kinds::names.end()) counts[static_cast<std::size_t>(kind - Kinds::names.begin())] = weight(e);
  }
  return counts;
}

std::uint64_t all_misses(const KindCounts& counts) {
  return counts[Kinds::compulsory] + counts[Kinds::capacity] + counts[Kinds::conflict] +
         counts[Kinds::coherence];
}

/// A count with a changed machine.
struct Change {
  Kinds::Number kind;
  std::string condition;
};
struct Changes {
  std::string level;
  std::vector<Change> cache, tlb;
};

Changes make_changes(const Profile& p) {
  const auto machine = model::machine(modelled_event(p.recording.events.front().event.name)->machine);
  const std::string& level = machine.levels.front().name;
  std::vector<std::string> padded;
  for (const DataObject& object : p.naming.objects)
    if (object.row > 0)
      padded.push_back(fmt::format("{} ({})", object.name, base::format_count(object.row, "byte")));
  return {
      level,
      {{Kinds::if_full, fmt::format("if {} were fully associative", level)},
       {Kinds::if_twice, fmt::format("if {} were twice as large", level)},
       {Kinds::if_padded, fmt::format("if the rows of {} were a line longer", fmt::join(padded, " and "))}},
      {{Kinds::walks_if_huge,
        fmt::format("with pages of {}", base::format_bytes(machine.tlb ? machine.tlb->huge_page : 0))},
       {Kinds::walks_if_twice, "with twice the TLB entries"}}};
}

/// "16384 if L1d were fully associative, 20000 if ...": the changes with clearly fewer than `all`; empty:
/// none.
std::string remaining_text(const KindCounts& counts, std::uint64_t all, const std::vector<Change>& changes) {
  std::vector<std::string> parts;
  for (const Change& change : changes)
    if (const std::uint64_t remaining = counts[change.kind];
        static_cast<double>(remaining) <= (1 - min_gain) * static_cast<double>(all))
      parts.push_back(fmt::format("{} {}", remaining, change.condition));
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// Misses and page walks of a line, and what remains of them; empty: too few, compared with `total`.
std::string advice_on_line(const KindCounts& line, const KindCounts& total, const Changes& changes) {
  const auto matters = [](std::uint64_t part, std::uint64_t all) {
    return part > 0 && static_cast<double>(part) >= min_part * static_cast<double>(all);
  };
  std::vector<std::string> clauses;
  if (const auto misses = all_misses(line); matters(misses, all_misses(total))) {
    const std::string remaining = remaining_text(line, misses, changes.cache);
    const auto coherence = line[Kinds::coherence];
    clauses.push_back(fmt::format(
        "{} misses in {}{}, {}", misses, changes.level,
        matters(coherence, misses) ? fmt::format(" ({} because another core stored to the line)", coherence)
                                   : std::string(),
        remaining.empty() ? "no fewer if it were fully associative or twice as large" : remaining));
  }
  if (const auto walks = line[Kinds::walks]; matters(walks, total[Kinds::walks]))
    if (const std::string remaining = remaining_text(line, walks, changes.tlb); !remaining.empty())
      clauses.push_back(fmt::format("{} page walks, {}", walks, remaining));
  return fmt::format("{}", fmt::join(clauses, "; "));
}

using LineKey = std::tuple<std::string, std::string, int>;
LineKey line_key(const ProfileRow& row) {
  return {row.function, row.file, row.line};
}

std::string advice_text(const Profile& p, std::size_t worst_lines) {
  const bool simulated = std::ranges::any_of(
      p.recording.events, [](const SampledEvent& event) { return only_advises(event.event.name); });
  if (!simulated || !p.recording.not_counted.empty()) return {};
  const std::size_t columns = command::line_width(stderr);
  const Changes changes = make_changes(p);
  const Places& places = p.recording.places;
  std::map<LineKey, std::string> objects; // with most misses of each line
  for (const auto& row : group_places(places, p.naming, By::line_object))
    if (row.object) objects.try_emplace(line_key(row), row.object->name);
  const KindCounts total = count_kinds(p, [&](std::size_t e) { return places.total(e).weight; });
  std::string text;
  std::size_t reported = 0;
  for (const auto& row : group_places(places, p.naming, By::line)) {
    if (reported == worst_lines ||
        static_cast<double>(row.tallies[0].weight) < min_part * static_cast<double>(places.total(0).weight))
      break;
    const auto counts = count_kinds(p, [&](std::size_t e) { return row.tallies[e].weight; });
    const std::string advice = advice_on_line(counts, total, changes);
    if (advice.empty()) continue;
    ++reported;
    const auto object = objects.find(line_key(row));
    const std::string where = !row.source.empty()     ? row.source
                              : !row.function.empty() ? row.function
                                                      : fmt::format("{:#x}", row.address);
    const std::string on = object == objects.end() ? "" : " on " + object->second;
    text += "  " + command::wrap(base::printable(where + on + ": " + advice + "."), columns, 4) + "\n";
  }
  if (text.empty()) return text;
  return "\n" +
         command::fit("what would help (the first level and the TLB, each simulated alone)", columns, 2) +
         "\n" + text + command::fit("  not simulated here: another loop order, or blocks", columns, 4) + "\n";
}

const char* why_no_samples(const Profile& p) {
  for (std::size_t e = 0; e < p.recording.events.size(); ++e)
    if (const double period = sampling_period(p.recording.events[e]);
        period > 0 && static_cast<double>(p.recording.report.events[e].occurrences) >= period)
      return "no thread had as many occurrences on one CPU as make a sampling period";
  return "fewer occurrences than one sampling period";
}
} // namespace

std::string profile_text(const Profile& p, const View& view, const std::string& requested,
                         std::FILE* stream) {
  const std::string head = summary_text(p, view.all), notes = notes_text(p, view.all);
  const auto none = [](const SampledCount& count) { return count.samples == 0; };
  if (std::ranges::all_of(p.recording.report.events, none))
    return head + notes +
           (p.recording.not_counted.empty() ? fmt::format("no samples: {}\n", why_no_samples(p)) : "");
  std::vector<std::pair<By, std::vector<ProfileRow>>> ways;
  for (const By by : view.by)
    ways.emplace_back(by, group_places(p.recording.places, p.naming, by));
  const auto tables = [&](std::size_t shown, std::size_t top) {
    std::string text;
    for (const auto& [by, rows] : std::span(ways).first(shown)) {
      const show::Table table = make_table(p, rows, by, top, view.all);
      text += "\n" + command::paint(command::Style::strong, table.caption, stream) + "\n" +
              command::table_text(table, stream) + (rows.size() > top ? omitted_text(p, rows, top) : "");
    }
    return text;
  };
  const std::string end = advice_text(p, view.all ? 5 : 2) + notes;
  if (view.all || view.top > 0)
    return head + tables(ways.size(), view.top > 0 ? view.top : default_rows) + requested + end;
  constexpr std::size_t several = 5; // rows that a table has at least, unless it is alone
  for (std::size_t shown = ways.size(), top = default_rows;; --top) {
    const std::string text = tables(shown, top);
    const bool unsure = std::ranges::any_of(std::span(ways).first(shown), [&](const auto& way) {
      return std::ranges::any_of(std::span(way.second).first(std::min(top, way.second.size())),
                                 [&](const ProfileRow& row) { return has_few_samples(p, row); });
    });
    std::string more = unsure ? fmt::format("?: fewer than {} samples. ", few) : "";
    more += "More: -v";
    for (const auto& [by, rows] : std::span(ways).subspan(shown))
      more += (more.ends_with("-v") ? " (by " : ", by ") + name_of(by);
    more =
        command::wrap(more + (shown < ways.size() ? ")" : "") + ", --json", command::line_width(stderr), 2) +
        "\n";
    const auto lines = static_cast<std::size_t>(std::ranges::count(head + text + end + more, '\n'));
    if (lines <= command::screen_lines(command::line_width(stream)) || (shown == 1 && top == 1))
      return head + text + requested + end + more;
    if (shown > 1 && top == several) --shown, top = default_rows + 1;
  }
}

namespace {
Json event_json(const Profile& p, std::size_t e) {
  const auto& event = p.recording.events[e];
  const auto& count = p.recording.report.events[e];
  Json json{{"name", event.event.name}};
  json[event.frequency != 0 ? "frequency" : "period"] = event.frequency != 0 ? event.frequency : event.period;
  if (const Reason why = why_not_counted(p, e); !why.empty()) {
    json["counted"] = Json();
    json["reason"] = why.cause;
    return json;
  }
  json.update({{"samples", count.samples},
               {"weight", count.weight},
               {"counted", count.occurrences},
               {"lost", or_null(count.lost)},
               {"throttled", count.throttled},
               {"enabled_ns", count.enabled_ns},
               {"running_ns", count.running_ns},
               {"every_occurrence", every_occurrence(p, e)}});
  if (!p.recording.sampled.empty()) json["flags"].push_back(p.recording.sampled[e].text);
  return json;
}

Json object_json(const DataObject& object, By by) {
  Json json{{"name", object.name}, {"kind", name_of(object.kind)}};
  if (!object.module.empty()) json["module"] = object.module;
  if (object.bytes > 0) json["bytes"] = object.bytes;
  if (object.blocks > 0) json["blocks"] = object.blocks;
  if (object.row > 0) json["row"] = object.row;
  if (!object.call_names.empty()) json["calls"] = object.call_names;
  // The offsets are those of all lines.
  if (by == By::object && object.low <= object.high)
    json.update({{"offset_low", object.low}, {"offset_high", object.high}});
  return json;
}

Json row_json(const Profile& p, const ProfileRow& row, By by) {
  Json json = Json::object();
  if (by != By::object) json["module"] = row.module;
  if (by_object(by)) json["object"] = row.object ? object_json(*row.object, by) : Json();
  if (by != By::module && by != By::object) {
    json["function"] = or_null(row.function);
    json["inlined"] = row.inlined;
    if (row.start != 0) json.update({{"function_start", row.start}, {"function_end", row.end}});
  }
  if (by == By::line || by == By::address || by == By::line_object) {
    json["file"] = or_null(row.file);
    json["line"] = row.line > 0 ? Json(row.line) : Json();
  }
  if (row.address != 0) json["address"] = row.address;
  if (!row.instruction.empty()) json["instruction"] = row.instruction;
  Json& events = json["events"] = Json::object();
  for (std::size_t e = 0; e < row.tallies.size(); ++e) {
    const Tally& tally = row.tallies[e];
    const Share share = share_of(p, tally, e);
    events[p.recording.events[e].event.name] = {{"samples", tally.samples},
                                                {"weight", tally.weight},
                                                {"share", share.value},
                                                {"low", share.low},
                                                {"high", share.high}};
  }
  return json;
}
} // namespace

std::string profile_json(const Profile& p, const std::vector<By>& by) {
  const auto& report = p.recording.report;
  Json json{{"subject", p.subject},
            {"seconds", p.recording.seconds},
            {"status", process::shell_status(p.recording.exit)},
            {"complete", report.complete() && !killed(p.recording.exit)},
            {"lost_records", report.lost_records},
            {"cost",
             {{"reader_ns", report.reader_ns},
              {"records", report.records},
              {"bytes", report.bytes},
              {"ring_bytes", report.rings * report.ring_bytes}}},
            {"events", Json::array()}};
  for (std::size_t e = 0; e < p.recording.events.size(); ++e)
    json["events"].push_back(event_json(p, e));
  for (const By way : by) {
    Json& rows = json["by_" + (way == By::line_object ? "line_object" : name_of(way))] = Json::array();
    for (const auto& row : group_places(p.recording.places, p.naming, way))
      rows.push_back(row_json(p, row, way));
  }
  json["notes"] = p.recording.notes;
  for (const auto& note : p.naming.notes)
    json["notes"].push_back(note);
  return json_text("profile", json);
}

namespace {
/// Addresses from 2^63 on, those of the kernel, are text: numbers of results are signed.
result::ParamValue address_value(std::uint64_t address) {
  if (address > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
    return fmt::format("{:#x}", address);
  return static_cast<std::int64_t>(address);
}

result::Observation make_observation(const Profile& p, std::size_t event, const std::string& run,
                                     std::uint64_t weight) {
  result::Observation o;
  o.run = run;
  o.kernel = "profile";
  o.params["command"] = p.subject;
  o.witness = Witness::perf;
  o.metric = p.recording.events[event].event.name;
  if (const auto modelled = modelled_event(o.metric)) {
    o.witness = {Witness::model, modelled->machine == "host" ? "" : modelled->machine};
    o.metric = modelled->metric;
  }
  o.reason = p.recording.not_counted;
  if (o.reason.empty()) o.value = static_cast<std::int64_t>(weight);
  if (is_clock(p.recording.events[event].event)) o.unit = "ns";
  return o;
}

result::Observation make_total(const Profile& p, std::size_t event, const std::string& run) {
  auto o = make_observation(p, event, run, p.recording.places.total(event).weight);
  o.seconds = p.recording.seconds;
  const auto& count = p.recording.report.events[event];
  const auto note = [&](std::string text) { o.flags.emplace_back(Flag::Kind::note, std::move(text)); };
  note(base::format_count(count.samples, "sample"));
  if (!p.recording.sampled.empty()) o.flags.push_back(p.recording.sampled[event]);
  if (killed(p.recording.exit)) note("incomplete: " + process::describe(p.recording.exit));
  if (count.lost.value_or(0) > 0) note(fmt::format("{} lost", *count.lost));
  if (count.throttled > 0) note("throttled " + base::format_count(count.throttled, "time"));
  return o;
}

void set_place(result::Observation& o, const Profile& p, std::size_t place) {
  const Located& at = p.naming.places[place];
  if (const std::uint32_t object = p.recording.places.places()[place].object; object > 0)
    o.params["object"] = p.naming.objects.at(object - 1).name;
  o.params["module"] = at.module;
  o.params["address"] = address_value(at.address);
  if (!at.function().function.empty()) o.params["function"] = at.function().function;
  if (at.frames.front().inlined) o.params["inlined"] = at.frames.front().function;
  if (at.end > at.start) {
    o.params["start"] = address_value(at.start);
    o.params["end"] = address_value(at.end);
  }
  if (const auto source = at.source(); !source.empty()) o.params["source"] = source;
}

/// The total of each event, then each place with occurrences.
std::vector<result::Observation> make_observations(const Profile& p, const std::string& run) {
  std::vector<result::Observation> all;
  const auto& places = p.recording.places;
  for (std::size_t e = 0; e < places.events(); ++e)
    all.push_back(make_total(p, e, run));
  for (std::size_t i = 0; i < places.places().size(); ++i)
    for (std::size_t e = 0; e < places.events(); ++e)
      if (const Tally& tally = places.tally(i)[e]; tally.samples > 0)
        set_place(all.emplace_back(make_observation(p, e, run, tally.weight)), p, i);
  return all;
}
} // namespace

ProfileResults::ProfileResults(const std::string& output, std::string plot, By by) : plot_(std::move(plot)) {
  if (output.empty() && plot_.empty()) return;
  header_ = witness::machine_header(process::command_line(), RECOUNT_VERSION);
  header_.plan = {{"kernel", "profile"}, {"by", name_of(by)}};
  if (output.empty()) return;
  writer_ = std::make_unique<result::Writer>(output, result::Writer::Mode::create);
  writer_->write(header_);
}

ProfileResults::~ProfileResults() = default;

void ProfileResults::finish(const Profile& profile) {
  if (!writer_ && plot_.empty()) return;
  result::Results results;
  results.runs = {header_};
  results.observations = make_observations(profile, header_.id);
  if (writer_)
    for (const auto& o : results.observations)
      writer_->write(o);
  if (!plot_.empty()) command::draw_to(plot_, compose_over_addresses(results, {}));
}

} // namespace recount::profile
