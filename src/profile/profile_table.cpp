#include "base/format.hpp"
#include "base/text.hpp"
#include "command/measuring.hpp"
#include "command/output.hpp"
#include "model/machine.hpp"
#include "profile/attributed.hpp"
#include "profile/located.hpp"
#include "profile/profile_report.hpp"
#include "symbol/scopes.hpp"
#include "trace/miss_kinds.hpp"

#include <fmt/format.h>
#include <fnmatch.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <map>
#include <optional>

namespace recount::profile {
using profile::By;
using profile::ProfileRow;
using profile::Tally;

namespace {
constexpr std::size_t most_of_narrow = 32; ///< columns of a name where lines are short
constexpr std::uint64_t few = 10;          ///< samples; with fewer, only the interval is printed

/// Digits supported by the interval.
std::string percent(double share, double width) {
  const int digits = width >= 0.02 ? 0 : width >= 0.002 ? 1 : 2;
  return fmt::format("{:.{}f}", 100 * share, digits);
}

std::string unit_text(const SampledEvent& event, double amount) {
  if (!profile::is_clock(event.event)) return base::format_count(std::llrint(amount), "occurrence");
  return amount >= 1e9 ? fmt::format("{:.3g} s", amount / 1e9) : fmt::format("{:.3g} ms", amount / 1e6);
}

std::string function_cell(const ProfileRow& row) {
  if (!row.function.empty()) return base::printable(row.function) + (row.inlined ? " (inlined)" : "");
  return row.address != 0 ? fmt::format("{:#x}", row.address) : "?";
}

std::string place_cell(const ProfileRow& row, By by) {
  if (by == By::address) return fmt::format("{:#x}", row.address);
  if (by == By::line || by == By::line_object)
    return row.source.empty() ? fmt::format("{:#x}", row.address) : base::printable(row.source);
  return {};
}

/// Head of the columns of `by`, after those of the events.
std::vector<std::string> heads(By by) {
  switch (by) {
  case By::module: return {"module"};
  case By::symbol: return {"symbol", "module"};
  case By::function: return {"function", "module"};
  case By::line: return {"line", "function", "module"};
  case By::object: return {"object", "size", "offsets", "module"};
  case By::line_object: return {"line", "object", "function", "module"};
  case By::address: break;
  }
  return {"address", "instruction", "line", "function", "module"};
}

/// Name, size, offsets of the accesses, module.
std::vector<std::string> object_cells(const ProfileRow& row) {
  if (!row.object) return {"not recorded", "", "", ""};
  const NamedObject& object = *row.object;
  std::string size = object.bytes > 0 ? base::format_bytes(static_cast<std::int64_t>(object.bytes)) : "";
  if (object.blocks > 1) size += fmt::format(" in {} blocks", object.blocks);
  return {command::shortened(base::printable(object.name), 70), size,
          object.low <= object.high ? fmt::format("{}…{}", object.low, object.high) : "",
          base::printable(profile::short_path(object.module))};
}

std::vector<std::string> cells(const ProfileRow& row, By by) {
  const std::string module = base::printable(profile::short_path(row.module));
  const std::string function = command::shortened(function_cell(row), 50);
  switch (by) {
  case By::module: return {base::printable(row.module)};
  case By::symbol:
  case By::function: return {command::shortened(function_cell(row), 70), module};
  case By::line: return {place_cell(row, by), function, module};
  case By::object: return object_cells(row);
  case By::line_object: return {place_cell(row, by), object_cells(row).front(), function, module};
  case By::address: break;
  }
  return {place_cell(row, by), row.instruction, base::printable(row.source), function, module};
}

std::string rest_text(const Profile& p, const std::vector<ProfileRow>& rows, std::size_t top) {
  std::vector<std::string> parts;
  for (const std::size_t e : shown_events(p)) {
    double weight = 0;
    for (std::size_t i = top; i < rows.size(); ++i)
      weight += static_cast<double>(rows[i].tallies[e].weight);
    const auto all = static_cast<double>(p.recording.places.total(e).weight);
    parts.push_back(fmt::format("{:.2g} %", all > 0 ? 100 * weight / all : 0));
  }
  return fmt::format("  … {} more, {} in all (--top)\n", rows.size() - top, fmt::join(parts, " and "));
}

/// The scheduled share of the time. The event is open on each CPU, and enabled on all of them
/// while the target runs on one.
double time_on_pmu(const Profile& p, std::size_t e) {
  const auto& count = p.recording.report.events[e];
  const auto type = p.recording.events[e].event.attr.type;
  if (type == PERF_TYPE_SOFTWARE || type == PERF_TYPE_BREAKPOINT || count.enabled_ns == 0) return 1;
  const auto cpus = static_cast<double>(std::max<std::size_t>(p.recording.report.rings, 1));
  return std::min(1.0, static_cast<double>(count.running_ns) * cpus / static_cast<double>(count.enabled_ns));
}

std::string event_line(const Profile& p, std::size_t e) {
  const auto& event = p.recording.events[e];
  const auto& count = p.recording.report.events[e];
  if (!p.recording.not_counted.empty())
    return fmt::format("  not counted: {}: {}", event.event.name, p.recording.not_counted);
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
    text += ", each of " + unit_text(event, static_cast<double>(event.period));
  text += ", " + unit_text(event, static_cast<double>(count.occurrences)) + " counted";
  text += count.lost ? fmt::format(", {} lost", *count.lost) : ", lost: not reported by this kernel";
  if (count.throttled > 0) text += ", throttled " + base::format_count(count.throttled, "time");
  if (const double on = time_on_pmu(p, e); on < 0.995)
    text += fmt::format(", scheduled {:.0f} % of the time", 100 * on);
  if (const std::string mark = mark_of(p, e); !mark.empty()) text += " " + command::in_parentheses(mark);
  return text;
}
/// What sampling cost.
std::string cost_text(const Profile& p, std::size_t columns) {
  const auto& report = p.recording.report;
  const double cost = static_cast<double>(report.reader_ns) / 1e9;
  std::uint64_t samples = 0;
  for (const auto& count : report.events)
    samples += count.samples + count.lost.value_or(0);
  return command::fit(
             fmt::format("  cost of reading: {:.3g} ms of processor time ({:.2g} %), {}, {} of ring buffers",
                         cost * 1e3, p.recording.seconds > 0 ? 100 * cost / p.recording.seconds : 0,
                         base::format_count(report.records, "record"),
                         base::format_bytes(static_cast<std::int64_t>(report.rings * report.ring_bytes))),
             columns, 4) +
         "\n" +
         command::fit("  not measured: run time of " + base::format_count(samples, "sampling interrupt"),
                      columns, 4) +
         "\n";
}
} // namespace

std::string mark_of(const Profile& p, std::size_t event) {
  const Event& its = p.recording.events[event].event;
  return p.marks.of(its.name, std::span(&its, 1));
}

bool every_occurrence(const Profile& p, std::size_t event) {
  const auto& count = p.recording.report.events[event];
  return p.recording.events[event].period == 1 && count.samples == count.occurrences;
}

std::vector<std::size_t> shown_events(const Profile& p) {
  std::vector<std::size_t> shown;
  for (std::size_t e = 0; e < p.recording.events.size(); ++e)
    if (!only_advises(p.recording.events[e].event.name)) shown.push_back(e);
  return shown;
}

std::string share_text(const profile::Share& share, std::uint64_t samples) {
  if (samples == 0 && (share.exact || share.high >= 1)) return "0";
  const double span = share.high - share.low;
  if (share.exact) return percent(share.value, 0.005) + " %";
  const std::string interval =
      fmt::format("{}…{}", percent(share.low, span / 4), percent(share.high, span / 4));
  if (samples < few) return interval + " %";
  return fmt::format("{} % ({})", percent(share.value, span / 2), interval);
}

std::string ending_text(const process::Exit& exit) {
  if (exit.ok()) return {};
  return (killed(exit) ? ", incomplete: " : ", ") + process::describe(exit);
}

std::string profile_summary(const Profile& p) {
  const auto& report = p.recording.report;
  const std::size_t columns = command::line_width(stderr);
  std::string text = command::fit(fmt::format("profile of {}: {:.3g} s{}", base::printable(p.subject),
                                              p.recording.seconds, ending_text(p.recording.exit)),
                                  columns, 2) +
                     "\n";
  for (const std::size_t e : shown_events(p))
    text += command::fit(event_line(p, e), columns, 4) + "\n";
  if (report.rings > 0) text += cost_text(p, columns);
  if (!report.complete())
    text += fmt::format(
        "  incomplete: {} lost{}, {} damaged\n", base::format_count(report.lost_records, "record"),
        report.full > 0 ? ", a ring buffer was full " + base::format_count(report.full, "time") : "",
        report.damaged);
  for (const auto& note : p.recording.notes)
    text += "  " + command::wrap(base::printable(note), columns, 4) + "\n";
  for (const auto& note : p.naming.notes)
    text += "  " + command::wrap(base::printable(note), columns, 4) + "\n";
  return text;
}

command::Table profile_table(const Profile& p, By by, std::size_t top) {
  const auto rows = profile::gather(p.recording.places, p.naming, by);
  std::vector<command::Table::Column> columns;
  const auto shown = shown_events(p);
  for (const std::size_t e : shown) {
    const auto& event = p.recording.events[e];
    const std::string& name = event.event.name;
    columns.push_back({p.recording.events.size() > 1 ? name : "share", command::Table::Align::right, 0,
                       p.recording.events.size() > 1 ? name.substr(name.rfind(':') + 1) : ""});
    columns.push_back(
        {modelled_event(event.event.name) ? "count" : "samples", command::Table::Align::right, 4});
  }
  for (const auto& head : heads(by)) // of the module and of objects, names are enough
    columns.push_back({head, command::Table::Align::left,
                       head == "module" && by != By::module       ? 3
                       : head == "offsets" || head == "size"      ? 2
                       : head == "function" && by != By::function ? 1
                                                                  : 0});
  command::Table table(columns, fmt::format("by {}", name_of(by)));
  for (std::size_t i = 0; i < std::min(top, rows.size()); ++i) {
    std::vector<std::string> line, narrow;
    for (const std::size_t e : shown) {
      const Tally& tally = rows[i].tallies[e];
      line.push_back(
          share_text(profile::share_of(tally, p.recording.places, e, every_occurrence(p, e)), tally.samples));
      const bool modelled = modelled_event(p.recording.events[e].event.name).has_value();
      line.push_back(std::to_string(modelled ? tally.weight : tally.samples));
    }
    narrow.resize(line.size());
    for (auto& cell : cells(rows[i], by)) {
      narrow.push_back(command::shortened(cell, most_of_narrow));
      line.push_back(std::move(cell));
    }
    table.add(std::move(line), std::move(narrow));
  }
  return table;
}

std::string profile_text(const Profile& p, By by, std::size_t top, std::FILE* stream) {
  const auto rows = profile::gather(p.recording.places, p.naming, by);
  const command::Table table = profile_table(p, by, top);
  std::string text =
      command::paint(command::Style::strong, table.title(), stream) + "\n" + table.text(stream);
  if (rows.size() > top) text += rest_text(p, rows, top);
  return text;
}

// Call chains and annotated source of a profile.
using profile::Tally;

namespace {
std::string share_cell(const Profile& p, const Tally& tally, std::size_t e) {
  return share_text(profile::share_of(tally, p.recording.places, e, every_occurrence(p, e)), tally.samples);
}

/// The functions of a chain, innermost first.
std::vector<std::string> names_of_chain(const Profile& p, std::size_t chain) {
  const auto& chains = p.recording.places.chains();
  std::vector<std::string> names;
  for (; chain != 0; chain = chains[chain].caller) {
    const auto& at = p.naming.places[chains[chain].place];
    for (const auto& frame : at.frames)
      names.push_back(at.name_of(frame) + (frame.inlined ? " (inlined)" : ""));
  }
  return names;
}

/// A row for each line, and one for each gap between them.
command::Table table_of(const Profile& p, const profile::Annotation& part) {
  std::vector<command::Table::Column> columns;
  const auto shown = shown_events(p);
  for (const std::size_t e : shown)
    columns.push_back({p.recording.events[e].event.name, command::Table::Align::right});
  columns.push_back({"line", command::Table::Align::right});
  columns.push_back({"source"});
  const bool objects =
      std::ranges::any_of(part.lines, [](const auto& line) { return !line.objects.empty(); });
  if (objects) columns.push_back({"data"});
  command::Table table(columns);
  int last = 0;
  for (const auto& line : part.lines) {
    std::vector<std::string> row(shown.size());
    if (last != 0 && line.number != last + 1) {
      auto gap = row;
      gap.emplace_back("…");
      gap.resize(columns.size());
      table.add(gap);
    }
    last = line.number;
    for (std::size_t i = 0; i < shown.size() && !line.tallies.empty(); ++i)
      if (const Tally& its = line.tallies[shown[i]]; its.samples > 0) row[i] = share_cell(p, its, shown[i]);
    row.push_back(std::to_string(line.number));
    row.push_back(base::printable(line.text));
    if (objects) row.push_back(base::printable(line.objects));
    table.add(row);
  }
  return table;
}
} // namespace

std::string chains_table(const Profile& p, std::size_t top) {
  const auto& places = p.recording.places;
  std::map<std::vector<std::string>, Tally> sums;
  for (std::size_t i = 1; i < places.chains().size(); ++i) {
    const Tally& tally = places.chain_tally(i)[0];
    if (tally.samples == 0) continue;
    Tally& sum = sums[names_of_chain(p, i)];
    sum.samples += tally.samples;
    sum.weight += tally.weight;
  }
  std::vector<std::pair<const std::vector<std::string>*, Tally>> sorted;
  for (const auto& [names, tally] : sums)
    sorted.emplace_back(&names, tally);
  std::ranges::stable_sort(sorted,
                           [](const auto& a, const auto& b) { return a.second.weight > b.second.weight; });
  std::string text =
      fmt::format("call chains of {}, innermost function first\n", p.recording.events[0].event.name);
  for (std::size_t i = 0; i < std::min(top, sorted.size()); ++i) {
    text += fmt::format("{}, {}\n", share_cell(p, sorted[i].second, 0),
                        base::format_count(sorted[i].second.samples, "sample"));
    for (const auto& name : *sorted[i].first)
      text += "    " + command::shortened(base::printable(name), 100) + "\n";
  }
  if (sorted.size() > top)
    text += fmt::format("  … {} (--top)\n", base::format_count(sorted.size() - top, "more chain"));
  return text;
}

std::string annotated_text(const Profile& p, const std::string& function) {
  const auto parts = profile::annotate(p.recording.places, p.naming, function);
  if (parts.empty())
    return fmt::format("{}: no samples in a function of this name\n", base::printable(function));
  std::string text;
  for (const auto& part : parts)
    text += base::printable(part.file) + (part.trouble.empty() ? "" : ": " + part.trouble) + "\n" +
            table_of(p, part).text();
  return text;
}

namespace {
struct LineSamples {
  std::vector<Tally> tallies;
  std::map<std::uint32_t, std::uint64_t> objects; ///< samples of the first event
};
using LineTallies = std::map<int, LineSamples>;

constexpr int around = 3; ///< lines shown before and after one with samples

bool names_function(const std::string& wanted, const std::string& name) {
  const auto same = [&](const std::string& text) { return ::fnmatch(wanted.c_str(), text.c_str(), 0) == 0; };
  return name == wanted || same(name) || same(symbol::base_name(name));
}

bool shown(const LineTallies& lines, int number) {
  const auto near = lines.lower_bound(number - around);
  return near != lines.end() && near->first <= number + around;
}

/// None, with errno, when there is no such file or it is larger than any source text.
std::optional<std::string> source_text(const std::string& path) {
  constexpr std::size_t largest = 16 << 20;
  const process::Fd file = open_regular(path);
  if (!file) return {};
  return base::read_all(file.get(), largest);
}

/// Those with at least a twentieth of the line's samples, most first: "b (98 %), a (2 %)".
std::string objects_of(const LineSamples& line, const Naming& naming) {
  constexpr std::size_t most = 3;
  constexpr double least = 0.05;
  std::map<std::string, double> by_name;
  double all = 0;
  for (const auto& [object, samples] : line.objects) {
    by_name[naming.objects.at(object - 1).name] += static_cast<double>(samples);
    all += static_cast<double>(samples);
  }
  std::vector<std::pair<double, std::string>> sorted;
  for (const auto& [name, samples] : by_name)
    if (samples > 0 && samples >= least * all) sorted.emplace_back(-samples, name);
  std::ranges::sort(sorted);
  sorted.resize(std::min(sorted.size(), most));
  std::string text;
  for (const auto& [samples, name] : sorted)
    text += fmt::format("{}{} ({:.0f} %)", text.empty() ? "" : ", ", name, -100 * samples / all);
  return text;
}

Annotation annotate_file(const std::string& file, const LineTallies& lines, const Naming& naming) {
  Annotation made{file, {}, {}};
  const auto source = source_text(file);
  if (!source) made.trouble = std::strerror(errno);
  int number = 0;
  for (const auto line : base::split(source ? *source : std::string_view(), '\n')) {
    if (!shown(lines, ++number)) continue;
    const auto at = lines.find(number);
    AnnotatedLine& one = made.lines.emplace_back(number, std::string(line), std::vector<Tally>(), "");
    if (at == lines.end()) continue;
    one.tallies = at->second.tallies;
    one.objects = objects_of(at->second, naming);
  }
  // Samples of lines beyond the text, or without a text.
  const int last = made.lines.empty() ? 0 : made.lines.back().number;
  for (auto at = lines.upper_bound(last); at != lines.end(); ++at)
    made.lines.push_back({at->first, "", at->second.tallies, objects_of(at->second, naming)});
  return made;
}
} // namespace

std::vector<Annotation> annotate(const Places& places, const Naming& naming, const std::string& function) {
  std::map<std::string, LineTallies> files;
  for (std::size_t i = 0; i < naming.places.size(); ++i) {
    const Located& at = naming.places[i];
    const bool requested = std::ranges::any_of(
        at.frames, [&](const symbol::Frame& f) { return names_function(function, f.function); });
    const auto tally = places.tally(i);
    if (!requested || at.frames.front().line == 0 ||
        std::ranges::all_of(tally, [](const Tally& t) { return t.samples == 0; }))
      continue;
    auto& line = files[at.frames.front().file][at.frames.front().line];
    if (const std::uint32_t object = places.places()[i].object; object > 0)
      line.objects[object] += tally[0].weight;
    auto& sum = line.tallies;
    sum.resize(tally.size());
    for (std::size_t e = 0; e < tally.size(); ++e) {
      sum[e].samples += tally[e].samples;
      sum[e].weight += tally[e].weight;
    }
  }
  std::vector<Annotation> all;
  for (const auto& [file, lines] : files)
    all.push_back(annotate_file(file, lines, naming));
  return all;
}

namespace {
std::string one_word(std::string name) {
  for (char& c : name) {
    if (c == ';') c = ':';
    if (static_cast<unsigned char>(c) <= ' ') c = '_';
  }
  return name;
}

/// The functions at one place, outermost first.
std::string words_of(const Located& at) {
  std::string words;
  for (auto frame = at.frames.rbegin(); frame != at.frames.rend(); ++frame)
    words += (words.empty() ? "" : ";") + one_word(at.name_of(*frame));
  return words;
}
} // namespace

std::string folded(const Places& places, const Naming& naming, std::size_t event) {
  std::vector<std::string> names;
  for (const Located& at : naming.places)
    names.push_back(words_of(at));
  std::map<std::string, std::uint64_t> lines; // other addresses of the same functions are the same line
  std::vector<std::uint32_t> path;
  for (std::size_t i = 1; i < places.chains().size(); ++i) {
    const std::uint64_t weight = places.chain_tally(i)[event].weight;
    if (weight == 0) continue;
    path.clear();
    for (std::size_t at = i; at != 0; at = places.chains()[at].caller)
      path.push_back(places.chains()[at].place);
    std::string line;
    for (auto place = path.rbegin(); place != path.rend(); ++place)
      line += (line.empty() ? "" : ";") + names[*place];
    lines[line] += weight;
  }
  std::string text;
  for (const auto& [line, weight] : lines)
    text += fmt::format("{} {}\n", line, weight);
  return text;
}

// What other machines, simulated beside, would leave of the misses of the worst lines.
namespace {
using Kinds = trace::MissKinds;
constexpr std::size_t worst_lines = 5;
constexpr double least_part = 0.01; ///< of all occurrences, misses or walks: less is not told
constexpr double least_gain = 0.05; ///< of what a line has: less is not told

/// Where the counts of MissKinds are among the events.
class Counts {
public:
  explicit Counts(const Profile& p) : at_(Kinds::names.size()) {
    for (std::size_t e = 0; e < p.recording.events.size(); ++e) {
      const auto event = modelled_event(p.recording.events[e].event.name);
      const auto kind = std::ranges::find(Kinds::names, event ? event->metric : std::string());
      if (kind != Kinds::names.end()) at_[static_cast<std::size_t>(kind - Kinds::names.begin())] = e;
    }
  }
  [[nodiscard]] bool any() const { return at_[Kinds::if_full].has_value(); }
  template <class Weight>
  [[nodiscard]] std::uint64_t of(Kinds::Number kind, const Weight& weight) const {
    return at_[kind] ? weight(*at_[kind]) : 0;
  }
  template <class Weight>
  [[nodiscard]] std::uint64_t misses(const Weight& weight) const {
    return of(Kinds::compulsory, weight) + of(Kinds::capacity, weight) + of(Kinds::conflict, weight) +
           of(Kinds::coherence, weight);
  }

private:
  std::vector<std::optional<std::size_t>> at_;
};

/// One count where a part of the machine is otherwise.
struct Change {
  Kinds::Number kind;
  std::string what;
};

/// "16384 with a fully associative L1d", those that leave clearly fewer; empty: none does.
template <class Weight>
std::string remainders(const Counts& counts, const Weight& weight, std::uint64_t all,
                       const std::vector<Change>& changes) {
  std::string text;
  for (const Change& change : changes) {
    const std::uint64_t left = counts.of(change.kind, weight);
    if (static_cast<double>(left) > (1 - least_gain) * static_cast<double>(all)) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", left, change.what);
  }
  return text;
}

struct Changes {
  std::vector<Change> cache, tlb;
  std::string level;
};

/// Those data whose rows were simulated longer.
std::string padding_of(const Profile& p) {
  std::vector<std::string> padded;
  for (const NamedObject& object : p.naming.objects)
    if (object.row > 0)
      padded.push_back(fmt::format("{} ({})", object.name, base::format_count(object.row, "byte")));
  return fmt::format("if the rows of {} were a line longer", fmt::join(padded, " and "));
}

Changes changes_of(const Profile& p) {
  const auto machine = model::machine(modelled_event(p.recording.events.front().event.name)->machine);
  const std::string& level = machine.levels.front().name;
  const auto page = static_cast<std::int64_t>(machine.tlb ? machine.tlb->huge_page : 0);
  return {{{Kinds::if_full, fmt::format("if {} were fully associative", level)},
           {Kinds::if_twice, fmt::format("if {} were twice as large", level)},
           {Kinds::if_padded, padding_of(p)}},
          {{Kinds::walks_if_huge, fmt::format("with pages of {}", base::format_bytes(page))},
           {Kinds::walks_if_twice, "with twice the TLB entries"}},
          level};
}

template <class Weight>
std::string sentence(const Counts& counts, const Weight& weight, const Weight& total,
                     const Changes& changes) {
  const auto matters = [&](std::uint64_t part, std::uint64_t all) {
    return part > 0 && static_cast<double>(part) >= least_part * static_cast<double>(all);
  };
  std::string text;
  if (const auto misses = counts.misses(weight); matters(misses, counts.misses(total))) {
    const std::string left = remainders(counts, weight, misses, changes.cache);
    const auto others = counts.of(Kinds::coherence, weight);
    text = fmt::format("{} misses in {}{}, {}", misses, changes.level,
                       matters(others, misses)
                           ? fmt::format(" ({} because another core stored to the line)", others)
                           : std::string(),
                       left.empty() ? "no fewer if it were fully associative or twice as large" : left);
  }
  const auto walks = counts.of(Kinds::walks, weight);
  if (!matters(walks, counts.of(Kinds::walks, total))) return text;
  const std::string left = remainders(counts, weight, walks, changes.tlb);
  if (!left.empty()) text += fmt::format("{}{} page walks, {}", text.empty() ? "" : "; ", walks, left);
  return text;
}

/// The data with most misses of each line.
std::map<std::string, std::string> data_of_lines(const Profile& p) {
  std::map<std::string, std::string> data;
  for (const auto& row : gather(p.recording.places, p.naming, By::line_object))
    if (row.object) data.try_emplace(row.function + row.file + std::to_string(row.line), row.object->name);
  return data;
}
} // namespace

std::string advice_text(const Profile& p) {
  const Counts counts(p);
  if (!counts.any() || !p.recording.not_counted.empty()) return {};
  const Changes changes = changes_of(p);
  const auto data = data_of_lines(p);
  std::string text;
  std::size_t reported = 0;
  using Weight = std::function<std::uint64_t(std::size_t)>;
  const Weight total = [&](std::size_t e) { return p.recording.places.total(e).weight; };
  for (const auto& row : gather(p.recording.places, p.naming, By::line)) {
    if (reported == worst_lines) break;
    const Weight weight = [&](std::size_t e) { return row.tallies[e].weight; };
    if (static_cast<double>(weight(0)) < least_part * static_cast<double>(total(0))) break;
    const std::string its = sentence(counts, weight, total, changes);
    if (its.empty()) continue;
    ++reported;
    const auto object = data.find(row.function + row.file + std::to_string(row.line));
    const std::string where = !row.source.empty()     ? row.source
                              : !row.function.empty() ? row.function
                                                      : fmt::format("{:#x}", row.address);
    text += "  " +
            command::wrap(base::printable(fmt::format(
                              "{}{}: {}.", where, object == data.end() ? "" : " on " + object->second, its)),
                          command::line_width(stderr), 4) +
            "\n";
  }
  if (text.empty()) return text;
  return "what would help (the first level and the TLB, each simulated alone)\n" + text +
         command::wrap("  not simulated here: another loop order, or blocks. recount sweep nest --order all "
                       "simulates them "
                       "for a loop written as text, see recount-nest(5)",
                       command::line_width(stderr), 4) +
         "\n";
}

} // namespace recount::profile
