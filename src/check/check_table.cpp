#include "check/check_table.hpp"

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/output_file.hpp"
#include "command/measuring.hpp"
#include "command/output.hpp"
#include "host/machine.hpp"
#include "kernel/kernel.hpp"
#include "result/results_file.hpp"
#include "witness/results_header.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <filesystem>
#include <map>

namespace recount::check {
namespace {

using statistics::Estimate;

std::string count_of(double value) {
  if (std::abs(value) < 1e12 && (std::floor(value) == value || std::abs(value) >= 1000))
    return fmt::format("{:.0f}", value);
  return fmt::format("{:.6g}", value);
}

std::string count_of(const std::optional<Estimate>& e) {
  return e ? count_of(e->median) : "-";
}

std::string stated_of(const std::optional<Stated>& s) {
  if (!s) return "-";
  if (s->below + s->above == 0) return count_of(s->value);
  return fmt::format("{} to {}", count_of(std::max(0.0, s->value - s->below)), count_of(s->value + s->above));
}

std::string ratio_of(const Judged& j) {
  const auto& counted = j.judgement.perf ? j.judgement.perf : j.judgement.papi;
  if (!counted || !j.trial.stated || j.trial.stated->value == 0) return "-";
  return fmt::format("{:.4g}", counted->median / j.trial.stated->value);
}

std::string empty_of(const Judged& j) {
  const auto text = [](const Measurement& measured) {
    const auto bias = check::bias(measured);
    return bias ? count_of(*bias) : std::string("-");
  };
  return text(j.trial.perf) + ", " + text(j.trial.papi);
}

command::Style style_of(Verdict verdict) {
  if (verdict == Verdict::agrees) return command::Style::good;
  if (verdict == Verdict::not_counted) return command::Style::faint;
  return verdict == Verdict::unstable || verdict == Verdict::plausible ? command::Style::warning
                                                                       : command::Style::bad;
}

std::string painted(Verdict verdict) {
  return command::paint(style_of(verdict), std::string(name_of(verdict)));
}

std::string place_of(const Judged& j) {
  const std::string point = short_point(j.trial.kernel, j.trial.point);
  return j.trial.kernel + (point.empty() ? "" : " ") + point;
}

void add_row(command::Table& table, const PresetVerdict& v) {
  if (v.trials.empty()) {
    table.add({painted(v.verdict), v.preset});
    return;
  }
  const Judged& j = v.trials.front();
  const std::string more = v.trials.size() > 1 ? fmt::format(" (+{})", v.trials.size() - 1) : "";
  table.add({painted(v.verdict), v.preset, count_of(j.judgement.perf), count_of(j.judgement.papi),
             stated_of(j.trial.stated), ratio_of(j), empty_of(j), place_of(j) + more});
}

std::string interval(const char* who, const std::optional<Estimate>& e, const std::string& reason) {
  if (!e) return fmt::format("{}: not counted: {}", who, reason);
  if (e->low == e->high) return fmt::format("{} {}", who, count_of(e->median));
  return fmt::format("{} {} ({} to {})", who, count_of(e->median), count_of(e->low), count_of(e->high));
}

std::size_t executions(const Judged& j) {
  const auto& e = j.judgement.perf ? j.judgement.perf : j.judgement.papi;
  return e ? e->n : 0;
}

void add_lines(std::string& text, const std::string& line, std::size_t columns) {
  text += "    " + command::wrap(line, columns, 8) + "\n";
}

/// One kernel's evidence.
std::string evidence(const Judged& j, std::size_t columns) {
  std::string text;
  add_lines(text, fmt::format("in {}: {}", place_of(j), j.judgement.why), columns);
  add_lines(text,
            fmt::format("{}; {}; {}{}", interval("perf", j.judgement.perf, j.trial.perf.reason),
                        interval("PAPI", j.judgement.papi, j.trial.papi.reason),
                        base::format_count(executions(j), "execution"),
                        !j.trial.apart ? ""
                        : j.trial.kernel == command_kernel
                            ? ", separate for perf and PAPI"
                            : ", separate for perf and PAPI: too few counters for both"),
            columns);
  if (j.trial.stated)
    add_lines(text,
              fmt::format("expected {}: {}; tolerance {:g} %", stated_of(j.trial.stated),
                          j.trial.stated->form, 100 * j.trial.tolerance),
              columns);
  return text;
}

/// What is wrong with one preset, with the evidence of at most two kernels.
std::string details(const PresetVerdict& v, std::size_t columns) {
  constexpr std::size_t most = 2;
  std::string text = command::paint(command::Style::strong, v.preset) + ": " + painted(v.verdict) + "\n";
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

/// One line per reason, with the presets that it concerns.
std::string not_counted(const std::vector<PresetVerdict>& verdicts, const CheckText& how) {
  std::vector<std::pair<std::string, std::vector<std::string>>> reasons;
  for (const PresetVerdict& v : verdicts) {
    if (v.verdict != Verdict::not_counted) continue;
    const auto at = std::ranges::find(reasons, v.why, &decltype(reasons)::value_type::first);
    if (at == reasons.end())
      reasons.push_back({v.why, {v.preset}});
    else
      at->second.push_back(v.preset);
  }
  std::string text;
  for (const auto& [why, names] : reasons) {
    constexpr std::size_t few = 3;
    const bool whole = how.all || names.size() <= few;
    const std::string who = whole ? fmt::format("{}", fmt::join(names, ", "))
                                  : fmt::format("{} and {} others", names.front(), names.size() - 1);
    text += "  " + command::wrap(who + ": " + why, how.columns, 6) + "\n";
  }
  return text.empty() ? text : command::paint(command::Style::strong, "Not counted") + "\n" + text;
}

/// What a verdict does not exclude, one line per preset.
std::string not_excluded(const std::vector<PresetVerdict>& verdicts, const CheckText& how) {
  constexpr std::size_t few = 4;
  std::string text;
  for (const PresetVerdict& v : verdicts) {
    if (v.could_also_be.empty()) continue;
    auto names = v.could_also_be;
    std::string more;
    if (names.size() > few && !how.all) {
      more = " and " + base::format_count(names.size() - few, "other");
      names.resize(few);
    }
    text += "  " +
            command::wrap(fmt::format("{}: {}{}", v.preset, fmt::join(names, ", "), more), how.columns, 6) +
            "\n";
  }
  return text.empty() ? text
                      : command::paint(command::Style::strong, "Cannot be distinguished from") + "\n" + text;
}

/// Terms that contribute nothing, though the total is right.
std::string idle_terms(const std::vector<PresetVerdict>& verdicts, const CheckText& how) {
  std::string text;
  for (const PresetVerdict& v : verdicts) {
    if (!sound(v.verdict)) continue;
    for (const auto& term : v.terms)
      if (term.dead() || term.constant())
        text += "  " +
                command::wrap(fmt::format("{}: {} counts {} in every kernel ({})", v.preset, term.name,
                                          term.dead() ? "0" : count_of(term.counts.front().counted),
                                          term.counts.size()),
                              how.columns, 6) +
                "\n";
  }
  return text.empty() ? text : command::paint(command::Style::strong, "Terms without effect") + "\n" + text;
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

std::vector<command::Table> check_tables(const Checked& checked) {
  using Align = command::Table::Align;
  command::Table table({{"verdict"},
                        {"preset"},
                        {"perf", Align::right},
                        {"PAPI", Align::right},
                        {"expected", Align::right, 1},
                        {"ratio", Align::right, 3},
                        {"empty", Align::right, 4},
                        {"kernel", Align::left, 2}},
                       "Verdicts");
  command::Table missing({{"preset"}, {"reason"}}, "Not counted");
  for (const auto& v : checked.verdicts)
    if (v.verdict == Verdict::not_counted)
      missing.add({v.preset, v.why});
    else
      add_row(table, v);
  return {table, missing};
}

std::string check_table(const Checked& checked, const CheckContext& context, const CheckText& how) {
  const command::Table table = check_tables(checked).front();
  std::string wrong;
  for (const auto& v : checked.verdicts) {
    if (!sound(v.verdict)) wrong += "\n" + details(v, how.columns);
  }
  std::string text = table.empty() ? "" : table.text();
  text += wrong;
  for (const std::string& rest : {idle_terms(checked.verdicts, how), not_excluded(checked.verdicts, how),
                                  not_counted(checked.verdicts, how)})
    if (!rest.empty()) text += (text.empty() ? "" : "\n") + rest;
  for (const auto& note : context.notes)
    text += "\n" + command::wrap(note, how.columns, 0) + "\n";
  std::string tally = tally_text(checked) + ".";
  if (const auto& c = checked.coverage; how.coverage)
    tally += fmt::format(" {} of {} presets testable, {} by the kernels on this machine; {} counted, {} "
                         "distinguishable from all "
                         "others.",
                         c.provokable, c.standard, c.proven, c.counted, c.apart);
  return text + "\n" + command::wrap(tally, how.columns, 0) + "\n";
}

namespace {

Json point_json(const result::Params& params) {
  Json object = Json::object();
  for (const auto& [name, value] : params)
    std::visit([&](const auto& v) { object[name] = v; }, value);
  return object;
}

Json measurement_json(const Measurement& measured, const std::optional<statistics::Estimate>& e) {
  Json object{{"value", nullptr}, {"low", nullptr}, {"high", nullptr}, {"n", e ? e->n : 0}};
  if (e) {
    object["value"] = e->median;
    object["low"] = e->low;
    object["high"] = e->high;
  }
  object["bias"] = or_null(check::bias(measured));
  if (!e) object["reason"] = measured.reason;
  return object;
}

Json stated_json(const Trial& trial) {
  if (!trial.stated) return {{"value", nullptr}, {"reason", trial.unstated}};
  const auto& s = *trial.stated;
  return {{"value", s.value}, {"low", s.value - s.below}, {"high", s.value + s.above}, {"form", s.form}};
}

Json trial_json(const Judged& judged) {
  const auto& [trial, judgement] = judged;
  Json object{{"kernel", trial.kernel}, {"params", point_json(trial.point)}};
  object["verdict"] = name_of(judgement.verdict);
  object["why"] = judgement.why;
  object["perf"] = measurement_json(trial.perf, judgement.perf);
  object["papi"] = measurement_json(trial.papi, judgement.papi);
  object["model"] = stated_json(trial);
  object["tolerance"] = trial.tolerance;
  object["relative"] = trial.relative;
  object["apart"] = trial.apart;
  object["factor"] = or_null(judgement.factor);
  object["causes"] = judgement.causes;
  return object;
}

Json term_json(const Term& term) {
  Json object{{"name", term.name}, {"dead", term.dead()}, {"constant", term.constant()}};
  if (term.counts.empty()) object["reason"] = term.reason;
  object["points"] = Json::array();
  for (const auto& count : term.counts)
    object["points"].push_back(
        {{"kernel", count.kernel}, {"params", point_json(count.point)}, {"perf", count.counted}});
  return object;
}

Json broken_json(const Broken& broken) {
  return {{"relation", broken.identity.text},   {"why", broken.identity.why},
          {"witness", broken.witness},          {"kernel", broken.kernel},
          {"params", point_json(broken.point)}, {"left", broken.left.median},
          {"right", broken.right.median}};
}

Json verdict_json(const PresetVerdict& verdict) {
  Json object{{"preset", verdict.preset}, {"verdict", name_of(verdict.verdict)}, {"why", verdict.why}};
  // The values of the decisive trial are repeated next to the verdict.
  for (const char* key : {"perf", "papi", "model", "factor"})
    object[key] = nullptr;
  object["causes"] = object["points"] = object["broken"] = object["terms"] = Json::array();
  object["could_also_be"] = verdict.could_also_be;
  object["errata"] = verdict.errata;
  for (const auto& judged : verdict.trials)
    object["points"].push_back(trial_json(judged));
  for (const auto& term : verdict.terms)
    object["terms"].push_back(term_json(term));
  if (!verdict.trials.empty())
    for (const char* key : {"perf", "papi", "model", "factor", "causes"})
      object[key] = object["points"][0][key];
  for (const auto& broken : verdict.broken)
    object["broken"].push_back(broken_json(broken));
  return object;
}

} // namespace

std::string check_json(const Checked& checked, const CheckContext& context, const sweep::Ended& ended) {
  Json object{{"verdicts", Json::array()}};
  for (const auto& verdict : checked.verdicts)
    object["verdicts"].push_back(verdict_json(verdict));
  const auto& c = checked.coverage;
  object["coverage"] = {{"standard", c.standard},
                        {"provokable", c.provokable},
                        {"proven", c.proven},
                        {"counted", c.counted},
                        {"apart", c.apart}};
  object["table"] = context.table.empty() ? Json(nullptr) : Json(context.table);
  object["notes"] = context.notes;
  object["runs"] = ended.outcome.runs;
  object["interrupted"] = ended.outcome.stopped;
  object["failures"] = Json::array();
  for (const auto& failure : ended.results.failures)
    object["failures"].push_back({{"kernel", failure.kernel},
                                  {"params", point_json(failure.params)},
                                  {"witness", failure.witness},
                                  {"reason", failure.reason}});
  return json_text("check", object);
}

namespace {
namespace fs = std::filesystem;

/// The header of the counts, and the microcode.
command::Table machine_table(const result::Run& run) {
  command::Table table({{"machine"}, {""}}, "Machine");
  const auto& cpu = host::this_machine().cpu;
  const auto add = [&](const std::string& name, const std::string& value) {
    table.add({name, value.empty() ? "not stated" : value});
  };
  add("CPU", fmt::format("{} ({})", run.cpu, cpu.identity()));
  add("microcode", cpu.microcode);
  add("kernel", run.os);
  add("hypervisor", run.virtualised.empty() ? "none detected" : run.virtualised);
  for (const auto& [name, version] : run.versions)
    add(name, version);
  return table;
}

command::Table rows_table(const Checked& checked, const CheckContext& context) {
  command::Table table({{"preset"}, {"line", command::Table::Align::right}, {"row"}},
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
                  const sweep::Ended& ended) {
  const auto path = [&](const char* name) { return (fs::path(folder) / name).string(); };
  const result::Run header = ended.results.runs.empty()
                                 ? witness::machine_header(command::command_line(), RECOUNT_VERSION)
                                 : ended.results.runs.back();
  std::vector<command::Table> tables{machine_table(header)};
  for (auto& table : check_tables(checked))
    tables.push_back(std::move(table));
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

} // namespace recount::check
