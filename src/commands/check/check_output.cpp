#include "commands/check/check_output.hpp"

#include "base/format.hpp"
#include "base/host/machine.hpp"
#include "base/json.hpp"
#include "base/output_file.hpp"
#include "base/process/child.hpp"
#include "base/text.hpp"
#include "kernel/kernel.hpp"
#include "run/result/results_file.hpp"
#include "run/verdict/index.hpp"
#include "run/witness/results_header.hpp"
#include "show/command/measuring.hpp"
#include "show/command/output.hpp"
#include "show/plot/select.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <span>

namespace recount::check {
namespace {

using result::make_json;
using statistics::Estimate;

std::string median_text(const std::optional<Estimate>& e) {
  return e ? count_text(e->median) : "-";
}

std::string expected_text(const std::optional<Stated>& s) {
  if (!s) return "-";
  if (s->below + s->above == 0) return count_text(s->value);
  return fmt::format("{} to {}", count_text(std::max(0.0, s->value - s->below)),
                     count_text(s->value + s->above));
}

std::string ratio_text(const Judged& j) {
  const auto& counted = j.judgement.perf ? j.judgement.perf : j.judgement.papi;
  if (!counted || !j.trial.stated || j.trial.stated->value == 0) return "-";
  return fmt::format("{:.4g}", counted->median / j.trial.stated->value);
}

std::string empty_text(const Measurement& measured) {
  const auto bias = check::bias(measured);
  return bias ? count_text(*bias) : "-";
}

show::Style style_of(Verdict verdict) {
  using enum show::Style;
  return verdict == Verdict::agrees || verdict == Verdict::perf_agrees   ? good
         : verdict == Verdict::not_counted                               ? faint
         : verdict == Verdict::unstable || verdict == Verdict::plausible ? warning
                                                                         : bad;
}

std::string place_text(const Judged& j) {
  const std::string point = short_point(j.trial.kernel, j.trial.point);
  return j.trial.kernel + (point.empty() ? "" : " ") + point;
}

void add_row(show::Table& table, const PresetVerdict& v) {
  const show::Cell verdict(style_of(v.verdict), std::string(name_of(v.verdict)));
  if (v.trials.empty()) return table.add({verdict, v.preset});
  const Judged& j = v.trials.front();
  const std::string more = v.trials.size() > 1 ? fmt::format(" (+{})", v.trials.size() - 1) : "";
  constexpr std::size_t most = 18; // on narrow terminals
  const show::Cell preset(v.preset, command::shortened(v.preset, most));
  table.add({verdict, preset, median_text(j.judgement.perf), median_text(j.judgement.papi),
             expected_text(j.trial.stated), ratio_text(j),
             empty_text(j.trial.perf) + ", " + empty_text(j.trial.papi), place_text(j) + more});
}

std::string interval(const char* who, const std::optional<Estimate>& e, const Reason& reason) {
  if (!e) return fmt::format("{}: not counted: {}", who, reason.text());
  if (e->low == e->high) return fmt::format("{} {}", who, count_text(e->median));
  return fmt::format("{} {} ({} to {})", who, count_text(e->median), count_text(e->low), count_text(e->high));
}

void add_lines(std::string& text, const std::string& line, std::size_t columns) {
  text += "    " + command::wrap(line, columns, 8) + "\n";
}

/// One kernel's evidence.
std::string evidence(const Judged& j, std::size_t columns) {
  const auto& [trial, judgement] = j;
  const auto& counted = judgement.perf ? judgement.perf : judgement.papi;
  const char* const separate = !trial.separate_runs             ? ""
                               : trial.kernel == command_kernel ? ", separate for perf and PAPI"
                                                                : ", separate for perf and PAPI: too few "
                                                                  "counters for both";
  std::string text;
  add_lines(text, fmt::format("in {}: {}", place_text(j), judgement.why), columns);
  add_lines(text,
            fmt::format("{}; {}; {}{}", interval("perf", judgement.perf, trial.perf.reason),
                        interval("PAPI", judgement.papi, trial.papi.reason),
                        base::format_count(counted ? counted->n : 0, "execution"), separate),
            columns);
  if (trial.stated)
    add_lines(text,
              fmt::format("expected {}: {}; tolerance {:g} %", expected_text(trial.stated),
                          trial.stated->form, 100 * trial.tolerance),
              columns);
  return text;
}

/// What is wrong with one preset, with the evidence of at most two kernels.
std::string details(const PresetVerdict& v, std::size_t columns) {
  constexpr std::size_t most = 2;
  std::string text = command::paint(command::Style::strong, v.preset) + ": " +
                     command::paint(style_of(v.verdict), std::string(name_of(v.verdict))) + "\n";
  std::vector<std::string> causes;
  std::size_t bad = 0;
  for (const Judged& j : v.trials) {
    if (sound(j.judgement.verdict)) continue;
    if (++bad <= most) text += evidence(j, columns);
    for (const auto& cause : j.judgement.causes)
      if (std::ranges::find(causes, cause) == causes.end() && bad <= most) causes.push_back(cause);
  }
  if (bad > most)
    add_lines(text, "wrong at " + base::format_count(bad - most, "more point") + ", see --json", columns);
  for (const auto& cause : causes)
    add_lines(text, "likely cause: " + cause, columns);
  for (const auto& erratum : v.errata)
    add_lines(text, erratum, columns);
  for (const auto& relation : v.broken)
    add_lines(text, fmt::format("{} ({})", check::describe(relation), relation.identity.why), columns);
  return text;
}

/// A heading and indented paragraphs; empty without paragraphs.
std::string section(const char* heading, const std::vector<std::string>& paragraphs, std::size_t columns) {
  if (paragraphs.empty()) return {};
  std::string text = command::paint(command::Style::strong, heading) + "\n";
  for (const std::string& paragraph : paragraphs)
    text += "  " + command::wrap(paragraph, columns, 6) + "\n";
  return text;
}

/// Why a preset or event was not counted, by PAPI or at all; empty: it was.
std::string why_not_counted(const PresetVerdict& v) {
  if (v.verdict == Verdict::not_counted) return v.why;
  if (v.trials.empty() || !sound(v.verdict) || counted_by_papi(v)) return {};
  const std::string reason = v.trials.front().trial.papi.reason.text();
  return "by PAPI: " + (reason.empty() ? "no reason given" : reason);
}

/// One line per reason, with the presets that it concerns.
std::string not_counted(const std::vector<PresetVerdict>& verdicts, const CheckText& options) {
  constexpr std::size_t few = 3;
  std::vector<std::pair<std::string, std::vector<std::string>>> reasons;
  for (const PresetVerdict& v : verdicts) {
    const std::string why = why_not_counted(v);
    if (why.empty()) continue;
    auto at = std::ranges::find(reasons, why, &decltype(reasons)::value_type::first);
    if (at == reasons.end()) at = reasons.insert(at, {why, {}});
    at->second.push_back(v.preset);
  }
  std::vector<std::string> lines;
  for (const auto& [why, names] : reasons)
    lines.push_back(options.all || names.size() <= few
                        ? fmt::format("{}: {}", fmt::join(names, ", "), why)
                        : fmt::format("{} and {} others: {}", names.front(), names.size() - 1, why));
  return section("Not counted", lines, options.columns);
}

/// Where noise needed a wider tolerance than the points have, the widest of each preset.
std::string widened(const std::vector<PresetVerdict>& verdicts, const CheckText& options) {
  std::vector<std::string> parts;
  for (const PresetVerdict& v : verdicts) {
    double widest = 0;
    for (const Judged& j : v.trials)
      if (sound(j.judgement.verdict)) widest = std::max(widest, j.judgement.widened.value_or(0));
    if (widest > 0 && sound(v.verdict)) parts.push_back(fmt::format("{} {:.1f} %", v.preset, 100 * widest));
  }
  if (parts.empty()) return {};
  return section("Tolerances that the spread of the repetitions widened",
                 {fmt::format("{}", fmt::join(parts, ", "))}, options.columns);
}

/// Likely mistakes in a row that would have had the same verdict, the first of each.
std::string passing_mistakes(const std::vector<PresetVerdict>& verdicts, const CheckText& options) {
  constexpr std::size_t few = 4;
  std::vector<std::string> lines;
  for (const PresetVerdict& v : verdicts) {
    const auto& all = v.passing_mistakes;
    if (all.empty()) continue;
    const std::size_t shown = options.all || all.size() <= few ? all.size() : few - 1;
    const std::string more = shown < all.size() ? fmt::format("; {} more (-a)", all.size() - shown) : "";
    lines.push_back(fmt::format("{}: {}{}", v.preset, fmt::join(std::span(all).first(shown), "; "), more));
  }
  return section("Mistakes in the rows that would not have been found", lines, options.columns);
}

std::string tally_text(const Checked& checked) {
  std::map<Verdict, int> numbers;
  for (const auto& v : checked.verdicts)
    ++numbers[v.verdict];
  std::vector<std::string> parts;
  for (auto it = numbers.rbegin(); it != numbers.rend(); ++it)
    parts.push_back(fmt::format("{}: {}", name_of(it->first), it->second));
  return fmt::format("{}", fmt::join(parts, ", "));
}

} // namespace

std::string short_point(const std::string& kernel, const result::Params& point) {
  result::Params some = point;
  for (const kernel::Kernel* known : kernel::all()) {
    if (known->name() != kernel) continue;
    for (const auto& parameter : known->parameters())
      if (const auto found = some.find(parameter.name);
          found != some.end() && found->second == parameter.fallback)
        some.erase(found);
  }
  return result::describe(some);
}

namespace {

/// The counts of a preset at one point, and the expected one.
void add_trial(show::Table& table, const PresetVerdict& v, const Judged& j) {
  show::Datum datum{.keys = {{"verdict", std::string(name_of(v.verdict))},
                             {"verdict at the point", std::string(name_of(j.judgement.verdict))},
                             {"kernel", j.trial.kernel}},
                    .quantity = v.preset};
  for (const auto& [name, setting] : j.trial.point)
    datum.keys.emplace_back(name, result::text(setting));
  const auto add = [&](const char* witness, const std::optional<Estimate>& e, const Measurement& measured) {
    datum.witness = witness;
    datum.repetitions = e ? e->n : 0;
    datum.reason = e ? "" : measured.reason.text();
    table.add_data({e ? datum.with("median", e->median, e->low, e->high) : datum,
                    datum.with("median of an empty region", bias(measured))});
  };
  add("perf", j.judgement.perf, j.trial.perf);
  add("papi", j.judgement.papi, j.trial.papi);
  datum.witness = "model";
  datum.reason = j.trial.unstated.text();
  datum.repetitions = 0;
  const auto& s = j.trial.stated;
  table.add_data({s ? datum.with("expected", s->value, s->value - s->below, s->value + s->above) : datum});
}

} // namespace

std::vector<show::Table> check_tables(const Checked& checked) {
  using show::Role;
  show::Table table({{"verdict"},
                     {"preset"},
                     {"perf", Role::number},
                     {"PAPI", Role::number, 1},
                     {"expected", Role::number, 2},
                     {"ratio", Role::number, 4},
                     {"empty", Role::number, 5},
                     {"kernel", Role::words, 3}},
                    "Verdicts");
  show::Table missing({{"preset"}, {"reason"}}, "Not counted");
  for (const auto& v : checked.verdicts) {
    if (const std::string why = why_not_counted(v); !why.empty()) missing.add({v.preset, why});
    if (v.verdict != Verdict::not_counted) add_row(table, v);
    for (const Judged& judged : v.trials)
      add_trial(table, v, judged);
    if (v.trials.empty())
      table.add_data(
          {{.keys = {{"verdict", std::string(name_of(v.verdict))}}, .quantity = v.preset, .reason = v.why}});
  }
  return {table, missing};
}

namespace {

/// Native events that contradict one another, and those at fault.
std::string inconsistency(const Inconsistency& joint, const CheckText& options) {
  auto lines = base::mapped(joint.broken, [](const Broken& one) {
    return fmt::format("{} ({})", check::describe(one), one.identity.why);
  });
  if (!joint.suspects.empty())
    lines.push_back(
        fmt::format("Without {}, all other relations hold.", fmt::join(joint.suspects, ", or without ")));
  else if (!joint.together.empty())
    lines.push_back(
        fmt::format("Without {} together, all other relations hold.", fmt::join(joint.together, " and ")));
  return section("Native events that contradict one another", lines, options.columns);
}

} // namespace

std::string check_table(const Checked& checked, const CheckContext& context, const CheckText& options) {
  const show::Table table = check_tables(checked).front();
  std::string text = table.empty() ? "" : command::table_text(table);
  for (const auto& v : checked.verdicts)
    if (!sound(v.verdict)) text += "\n" + details(v, options.columns);
  for (const std::string& rest :
       {inconsistency(checked.joint, options), widened(checked.verdicts, options),
        passing_mistakes(checked.verdicts, options), not_counted(checked.verdicts, options)})
    if (!rest.empty()) text += (text.empty() ? "" : "\n") + rest;
  for (const auto& note : context.notes)
    text += "\n" + command::wrap(note, options.columns, 0) + "\n";
  std::string tally = tally_text(checked) + ".";
  if (const auto& c = checked.coverage; options.coverage)
    tally += fmt::format(" {} of {} presets testable, {} by the kernels on this machine; {} counted.",
                         c.provokable, c.standard, c.proven, c.counted);
  return text + "\n" + command::wrap(tally, options.columns, 0) + "\n";
}

namespace {

Json measurement_json(const Measurement& measured, const std::optional<statistics::Estimate>& e) {
  using statistics::Estimate;
  const auto member = [&](double Estimate::*which) { return e ? Json((*e).*which) : Json(); };
  Json object{{"value", member(&Estimate::median)},
              {"low", member(&Estimate::low)},
              {"high", member(&Estimate::high)},
              {"n", e ? e->n : 0},
              {"bias", or_null(check::bias(measured))}};
  if (!e) object["reason"] = measured.reason.text();
  return object;
}

Json stated_json(const Trial& trial) {
  if (!trial.stated) return {{"value", nullptr}, {"reason", trial.unstated.text()}};
  const auto& s = *trial.stated;
  return {{"value", s.value}, {"low", s.value - s.below}, {"high", s.value + s.above}, {"form", s.form}};
}

Json trial_json(const Judged& judged) {
  const auto& [trial, judgement] = judged;
  return {{"kernel", trial.kernel},
          {"params", make_json(trial.point)},
          {"verdict", name_of(judgement.verdict)},
          {"why", judgement.why},
          {"perf", measurement_json(trial.perf, judgement.perf)},
          {"papi", measurement_json(trial.papi, judgement.papi)},
          {"model", stated_json(trial)},
          {"tolerance", trial.tolerance},
          {"relative", trial.relative},
          {"apart", trial.separate_runs},
          {"factor", or_null(judgement.factor)},
          {"causes", judgement.causes}};
}

Json term_json(const Term& term) {
  Json object{{"name", term.name}, {"dead", term.dead()}};
  if (term.counts.empty()) object["reason"] = term.reason;
  object["points"] = make_array(term.counts, [](const Term::Count& count) {
    return Json{{"kernel", count.kernel}, {"params", make_json(count.point)}, {"perf", count.counted}};
  });
  return object;
}

Json broken_json(const Broken& broken) {
  return {{"relation", broken.identity.text},  {"why", broken.identity.why},
          {"witness", broken.witness},         {"kernel", broken.kernel},
          {"params", make_json(broken.point)}, {"left", broken.left.median},
          {"right", broken.right.median}};
}

Json verdict_json(const PresetVerdict& verdict) {
  // The values of the decisive trial are repeated next to the verdict.
  const Json decisive = verdict.trials.empty() ? Json::object() : trial_json(verdict.trials.front());
  return {{"preset", verdict.preset},
          {"verdict", name_of(verdict.verdict)},
          {"why", verdict.why},
          {"perf", decisive.value("perf", Json())},
          {"papi", decisive.value("papi", Json())},
          {"model", decisive.value("model", Json())},
          {"factor", decisive.value("factor", Json())},
          {"causes", decisive.value("causes", Json::array())},
          {"points", make_array(verdict.trials, trial_json)},
          {"broken", make_array(verdict.broken, broken_json)},
          {"terms", make_array(verdict.terms, term_json)},
          {"passing_mistakes", verdict.passing_mistakes},
          {"errata", verdict.errata}};
}

} // namespace

std::string check_json(const Checked& checked, const CheckContext& context, const sweep::BatchResult& ended) {
  const auto failure_json = [](const result::Failure& failure) {
    return Json{{"kernel", failure.kernel},
                {"params", make_json(failure.params)},
                {"witness", failure.witness},
                {"reason", failure.reason.text()}};
  };
  const auto& c = checked.coverage;
  return json_text("check", {{"verdicts", make_array(checked.verdicts, verdict_json)},
                             {"joint",
                              {{"broken", make_array(checked.joint.broken, broken_json)},
                               {"suspects", checked.joint.suspects},
                               {"together", checked.joint.together}}},
                             {"coverage",
                              {{"standard", c.standard},
                               {"provokable", c.provokable},
                               {"proven", c.proven},
                               {"counted", c.counted}}},
                             {"table", context.table.empty() ? Json(nullptr) : Json(context.table)},
                             {"notes", context.notes},
                             {"runs", ended.outcome.runs},
                             {"interrupted", ended.outcome.stopped},
                             {"failures", make_array(ended.results.failures, failure_json)}});
}

namespace {
namespace fs = std::filesystem;

/// The header of the counts, and the microcode.
show::Table machine_table(const result::Run& run) {
  show::Table table({{"property"}, {"value"}}, "Machine and command");
  const auto& cpu = host::this_cpu();
  const auto add = [&](const std::string& name, const std::string& value) {
    table.add({name, value.empty() ? "not stated" : value});
  };
  add("CPU", fmt::format("{} ({})", run.cpu, cpu.identity()));
  add("microcode", cpu.microcode);
  add("kernel", run.os);
  add("hypervisor", run.virtualised.empty() ? "none detected" : run.virtualised);
  for (const auto& [name, version] : run.versions)
    if (name != "microcode") add(name, version);
  add("command", fmt::format("{}", fmt::join(run.command, " ")));
  return table;
}

/// Relations of native events that do not hold; the last column has the events that explain each of them.
show::Table joint_table(const Inconsistency& joint) {
  using show::Role;
  show::Table table({{"relation"},
                     {"left", Role::number},
                     {"right", Role::number},
                     {"witness"},
                     {"kernel"},
                     {"reason"},
                     {"suspects"}},
                    "Native events that contradict one another");
  const auto& explain = joint.suspects.empty() ? joint.together : joint.suspects;
  const std::string suspects =
      fmt::format("{}", fmt::join(explain, joint.suspects.empty() ? " and " : " or "));
  for (const Broken& one : joint.broken)
    table.add({one.identity.text, count_text(one.left.median), count_text(one.right.median),
               fmt::format("{}", one.witness), one.kernel + " " + short_point(one.kernel, one.point),
               one.identity.why, suspects});
  return table;
}

/// Why each verdict is no better.
show::Table findings_table(const Checked& checked) {
  show::Table table({{"preset"}, {"finding"}}, "Findings");
  for (const auto& v : checked.verdicts) {
    std::vector<std::string> lines = v.errata;
    for (const Judged& j : v.trials)
      if (!sound(j.judgement.verdict))
        lines.push_back(fmt::format("in {}: {}", place_text(j), j.judgement.why));
    if (!v.trials.empty())
      for (const auto& cause : v.trials.front().judgement.causes)
        lines.push_back("likely cause: " + cause);
    if (v.verdict == Verdict::plausible) lines.push_back("plausible: " + v.why);
    for (const auto& mistake : v.passing_mistakes)
      lines.push_back("would not have been found: " + mistake);
    for (const auto& line : lines)
      table.add({v.preset, line});
  }
  return table;
}

show::Table rows_table(const Checked& checked, const CheckContext& context) {
  show::Table table({{"preset"}, {"line", show::Role::number}, {"row"}},
                    "Rows of " + (context.table.empty() ? std::string("the table") : context.table));
  for (const auto& verdict : checked.verdicts)
    if (const auto row = context.rows.find(verdict.preset); row != context.rows.end())
      table.add({verdict.preset, std::to_string(row->second.line), row->second.text});
  return table;
}

void write_counts(const std::string& path, const result::Results& results) {
  result::Writer writer(path, result::Writer::Mode::create);
  for (const auto& run : results.runs)
    writer.write(run);
  for (const auto& observation : results.observations)
    writer.write(observation);
  for (const auto& failure : results.failures)
    writer.write(failure);
}

} // namespace

void make_bundle_folder(const std::string& folder) {
  std::error_code error;
  const auto kind = fs::status(folder, error);
  const std::string option = "--bundle " + folder;
  if (fs::exists(kind) && !fs::is_directory(kind))
    throw bad_input(option, "is a file, not a folder", "name another folder");
  fs::create_directories(folder, error);
  if (error) throw base::cannot_write(option, error.value());
  const bool empty = fs::is_empty(folder, error);
  if (error) throw base::cannot_write(option, error.value());
  if (!empty) throw bad_input(option, "the folder is not empty", "name a new folder, or remove its files");
  base::check_writable("--bundle", (fs::path(folder) / "check.md").string(), base::Output::replaced);
}

void write_bundle(const std::string& folder, const Checked& checked, const CheckContext& context,
                  const sweep::BatchResult& ended) {
  const auto path = [&](const char* name) { return (fs::path(folder) / name).string(); };
  const result::Run header = ended.results.runs.empty()
                                 ? witness::machine_header(process::command_line(), RECOUNT_VERSION)
                                 : ended.results.runs.back();
  std::vector<show::Table> tables{machine_table(header)};
  for (auto& table : check_tables(checked))
    tables.push_back(std::move(table));
  tables.push_back(findings_table(checked));
  if (!checked.joint.broken.empty()) tables.push_back(joint_table(checked.joint));
  tables.push_back(rows_table(checked, context));
  command::TableExport(path("check.md")).write("recount check", tables);
  if (!base::write_file(path("check.json"), check_json(checked, context, ended)))
    throw base::cannot_write(path("check.json"), errno);
  write_counts(path("counts.jsonl"), ended.results);
  try {
    plot_check(path("agreement.svg"), checked, ended.results);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::unavailable) throw;
    command::note("recount check: warning: no figure: {}: {}\n", error.problem().subject,
                  error.problem().cause);
  }
}

namespace {

using statistics::Estimate;

std::optional<plot::Share> share_of(const std::optional<Estimate>& counted, double stated) {
  if (!counted) return {};
  const auto [low, high] = std::minmax({counted->low / stated, counted->high / stated});
  return plot::Share{counted->median / stated, low, high};
}

/// Without the prefix that all names share.
std::string short_name(const std::string& preset) {
  for (const std::string_view prefix : {"PAPI_", "perf::"})
    if (preset.starts_with(prefix)) return preset.substr(prefix.size());
  return preset;
}

std::optional<plot::ShareRow> make_row(const PresetVerdict& verdict) {
  if (verdict.trials.empty()) return {};
  const auto& [trial, judgement] = verdict.trials.front();
  if (!trial.stated || trial.stated->value == 0 || (!judgement.perf && !judgement.papi)) return {};
  const Stated& s = *trial.stated;
  plot::ShareRow row;
  row.label = short_name(verdict.preset);
  row.perf = share_of(judgement.perf, s.value);
  row.papi = share_of(judgement.papi, s.value);
  row.stated = {1, (s.value - s.below) / s.value - trial.tolerance,
                (s.value + s.above) / s.value + trial.tolerance};
  row.remark = std::string(name_of(verdict.verdict));
  row.good = sound(verdict.verdict);
  return row;
}

} // namespace

plot::Sheet compose_agreement(const std::vector<PresetVerdict>& verdicts, const result::Results& results) {
  plot::Sheet sheet;
  sheet.name = "agreement";
  plot::Panel panel;
  std::vector<std::string> left_out;
  for (const auto& verdict : verdicts) {
    if (auto row = make_row(verdict))
      panel.rows.push_back(std::move(*row));
    else if (verdict.verdict != Verdict::not_counted)
      left_out.push_back(verdict.preset);
  }
  if (panel.rows.empty())
    throw bad_input("figure agreement", "no preset has both a count and an expected count",
                    "use the results of recount check");
  panel.title = "counts of presets, relative to the expected counts";
  panel.x_title = "counted / expected";
  sheet.panels.push_back(std::move(panel));
  sheet.caption = plot::machine_names(results);
  sheet.caption.emplace_back("bars: 90 % confidence intervals");
  if (!left_out.empty())
    sheet.warnings.push_back(
        fmt::format("not drawn, since the expected count is 0 or unknown: {}", fmt::join(left_out, ", ")));
  return sheet;
}

plot::Figure agreement_figure() {
  return {{"agreement",
           "counts of each preset by perf and by PAPI, relative to the expected count of its kernel",
           "the results of recount check"},
          [](const auto& results, const auto&) {
            return compose_agreement(check::read_verdicts(results), results);
          },
          [](const auto& results, const auto&) { return check::is_check(results); }};
}

void plot_check(const std::string& path, const Checked& checked, const result::Results& results) {
  if (path.empty()) return;
  if (std::ranges::all_of(checked.verdicts,
                          [](const auto& v) { return v.verdict == Verdict::not_counted; })) {
    command::note("recount check: no figure: nothing was counted\n");
    return;
  }
  command::draw_to(path, compose_agreement(checked.verdicts, results));
}

document::Section check_section() {
  return {"presets", [](const document::Material& material) {
            std::vector<document::Block> blocks;
            for (const document::Part& part : material.parts)
              material.gallery.add(blocks, "agreement", part);
            return document::under("Validation of presets", std::move(blocks));
          }};
}

} // namespace recount::check
