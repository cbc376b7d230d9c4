#include "base/format.hpp"
#include "base/json.hpp"
#include "base/output_file.hpp"
#include "base/text.hpp"
#include "commands/explain/explanation.hpp"
#include "commands/explain/grade.hpp"
#include "model/machine.hpp"
#include "run/result/products.hpp"
#include "run/result/results_file.hpp"
#include "show/command/command.hpp"
#include "show/command/measuring.hpp"
#include "show/command/output.hpp"
#include "show/document/section.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <map>
#include <optional>
#include <ranges>
#include <string>
#include <tuple>
#include <vector>

// recount explain: counts that somebody measured or published against hypotheses.
namespace recount::explain {
namespace {

// One anonymised table of somebody's counts, in the format of the shipped ones.

constexpr std::array contributed{"seconds", "PAPI_L1_DCM", "PAPI_L2_DCM"};

/// What does not end a field, a line or a quotation.
std::string plain_field(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return c == ',' || c == '"' || c == '#' || static_cast<unsigned char>(c) < 0x20; },
      ' ');
  return text;
}

std::string describe_run(const result::Run& run) {
  std::vector<std::string> facts;
  for (const char* name : {"microcode", "papi", "recount"})
    if (const auto at = run.versions.find(name); at != run.versions.end())
      facts.push_back(fmt::format("{} {}", name, plain_field(at->second)));
  if (const auto at = run.versions.find("preset_table_hash"); at != run.versions.end()) // its path stays here
    facts.push_back("preset table " + plain_field(at->second));
  if (!run.os.empty()) facts.push_back(plain_field(run.os));
  if (!run.virtualised.empty()) facts.push_back("virtual machine: " + plain_field(run.virtualised));
  for (const char* preset : contributed)
    if (const auto at = run.presets.find(preset); at != run.presets.end())
      facts.push_back(fmt::format("{} = {}", preset, plain_field(at->second)));
  return fmt::format("{}", fmt::join(facts, "; "));
}

/// Rows of one machine: PAPI's counts before those of perf_event.
using Row = std::tuple<std::string, std::int64_t, std::int64_t, int>; // loops, n, block, repetition
using Rows = std::map<Row, std::array<std::optional<double>, contributed.size()>>;

/// Products of doubles that recount or PAPI counted in these results, as a published table
/// (recount-matmul(1)): CPU, microcode, kernel, versions of PAPI and recount, page size, counts and times. No
/// host, no user, no path, no command line, no date. Empty: there is no such count. Pure.
std::string contribution(const result::Results& results) {
  std::map<std::pair<std::string, bool>, Rows> groups; // by run, and whether in huge pages
  for (const Witness& preferred : {Witness(Witness::papi), Witness(Witness::perf), Witness(Witness::clock)})
    for (const auto& o : results.observations) {
      const auto product = matmul::parse_product(o.kernel, o.params);
      const auto metric = std::ranges::find(contributed, o.metric);
      const auto value = result::as_double(o.value);
      if (!product || product->element != "f64" || !product->build.empty() || product->transposes || !value ||
          metric == contributed.end() || o.witness != preferred)
        continue;
      const bool huge = result::word(o.params, "pagesize") == "huge";
      auto& cell = groups[{o.run.get(), huge}][{product->variant, product->n, product->block, o.repetition}]
                         [static_cast<std::size_t>(metric - contributed.begin())];
      if (!cell) cell = value;
    }
  if (groups.empty()) return {};
  std::string head = "# Source: contributed, written by recount explain --contribute\n", rows;
  int number = 0;
  const auto runs = results.runs_by_id();
  for (const auto& [key, cells] : groups) {
    if (!runs.contains(key.first)) continue;
    const result::Run* const run = runs.at(key.first);
    const std::string name = fmt::format("c{}", ++number);
    head += fmt::format("# {}: {}\n", name, describe_run(*run));
    for (const auto& [row, values] : cells) {
      const auto& [variant, n, block, repetition] = row;
      rows += fmt::format("{},{},{},{},{},{},{}", name, plain_field(run->cpu), key.second ? "huge" : "",
                          variant, n, block > 0 ? std::to_string(block) : "", repetition + 1);
      for (std::size_t i = 0; i < values.size(); ++i)
        rows += values[i] ? fmt::format(",{:.{}f}", *values[i], i == 0 ? 9 : 0) : ",";
      rows += '\n';
    }
  }
  return rows.empty() ? std::string()
                      : head + "group,cpu,pages,variant,n,block,repetition,seconds,l1_dcm,l2_dcm\n" + rows;
}

struct ExplainArguments {
  std::vector<std::string> files, groups;
  std::string hypotheses, contribute, export_to;
  bool json = false, verbose = false, list = false, grade = false;
};

std::string percent(double share) {
  return fmt::format("{:+.1f} %", 100 * share);
}

std::string cells_text(const std::vector<Cell>& cells) {
  std::vector<std::string> texts;
  for (const Cell& cell : cells)
    texts.push_back(cell.text());
  return fmt::format("{}", fmt::join(texts, "; "));
}

using Texts = std::vector<std::string>;

Texts machine_texts(const Explanation& e) {
  if (!e.l1)
    return {"fewer than three counts of PAPI_L1_DCM of simple or line: no hypothesis can be refuted"};
  const auto survivors = e.survivors();
  if (survivors.empty()) return {"no hypothesis survives: the tried ones explain nothing"};
  Texts texts = e.determined();
  for (const std::string& text : e.undetermined())
    texts.push_back("not determined: " + text);
  for (const Trial* trial : survivors)
    texts.push_back(fmt::format("explained by {}: {}{}", trial->hypothesis->machine, trial->hypothesis->claim,
                                trial->hypothesis->huge ? "; huge pages" : ""));
  return texts;
}

void add_count_texts(const Explanation& e, Texts& texts) {
  const auto add = [&](const std::string& claim) {
    texts.push_back(
        fmt::format("PAPI_L2_DCM ({:.2f} times the lines that line needs): {}", e.lines_requested, claim));
  };
  for (const CountTrial& trial : e.counts)
    if (trial.survives) add(trial.hypothesis->claim);
  if (!e.counts.empty() && std::ranges::none_of(e.counts, &CountTrial::survives))
    add("no hypothesis survives");
  if (e.blocks.empty()) return;
  Texts excess;
  for (const BlockExcess& block : e.blocks) // + 0.0: no "-0.0"
    excess.push_back(fmt::format("{:.1f} at {}", std::round(10 * block.lines) / 10 + 0.0, block.block));
  texts.push_back(
      fmt::format("lines that L1 fetched beyond the misses modelled for {}, per inner run of block: {}",
                  e.blocks_model, fmt::join(excess, ", ")));
}

void add_mistake_texts(const Explanation& e, Texts& texts) {
  for (const TableFinding& finding : e.findings)
    texts.push_back(finding.text);
  for (const MovedRows& rows : e.moved)
    texts.push_back(
        fmt::format("rows of {} hold one another's PAPI_L1_DCM: {} of {} are possible for their size, all in "
                    "the order of the sizes{}",
                    matmul::loops_name({rows.loops, "", "f64", 0, 0}), rows.in_place, rows.cells,
                    rows.digit ? ", once a lost digit is added to one" : ""));
  for (const OtherLoops& other : e.other_loops)
    texts.push_back(fmt::format("rows of {} are not of these loops on the machine of the other rows; {}",
                                matmul::loops_name({other.named, "", "f64", 0, 0}),
                                other.orders.empty()
                                    ? "no other order of the loops fits"
                                    : fmt::format("they fit {}", fmt::join(other.orders, " or "))));
  if (!e.unexplained.empty())
    texts.push_back("explained by no hypothesis that is left: " + cells_text(e.unexplained));
}

void add_next_texts(const Explanation& e, Texts& texts) {
  if (e.next) {
    Texts predicted;
    for (const auto& [hypothesis, value] : e.next->predicted)
      predicted.push_back(fmt::format("{:.4g} by {}", value, hypothesis->machine));
    texts.push_back(
        fmt::format("measure next: PAPI_L1_DCM of {}: {}", e.next->cell.text(), fmt::join(predicted, ", ")));
  } else if (e.survivors().size() > 1) {
    texts.emplace_back("measure next: no size of simple up to 4000 separates these; repeat with small pages "
                       "(/sys/kernel/mm/transparent_hugepage/enabled = never)");
  }
}

/// What the counts tell, without the refuted hypotheses.
Texts conclusions(const Explanation& e) {
  Texts texts = machine_texts(e);
  // What follows is about the values in their places.
  if (e.exchanged) texts.emplace_back("columns exchanged: PAPI_L2_DCM holds the values of PAPI_L1_DCM");
  if (e.exchanged_labels)
    texts.emplace_back("labels exchanged: rows of simple hold the values of line, and the other way round");
  if (!e.rescaled.empty()) texts.push_back("unit wrong: all values of PAPI_L1_DCM are " + e.rescaled);
  add_count_texts(e, texts);
  add_mistake_texts(e, texts);
  add_next_texts(e, texts);
  return texts;
}

struct Refuted {
  const MachineHypothesis* hypothesis = nullptr;
  std::vector<Comparison> cells; ///< those that refute it, the most deciding one first
};

std::vector<Refuted> refuted(const Explanation& e) {
  std::vector<Refuted> all;
  for (const Trial& trial : e.trials) {
    if (!e.l1 || trial.survives || trial.compared.empty()) continue;
    all.push_back({trial.hypothesis, trial.refuting()});
    std::ranges::sort(all.back().cells, std::greater(), [](const Comparison& c) { return std::abs(c.off); });
  }
  return all;
}

std::string group_name(const Explanation& e) {
  return e.group + (e.cpu.empty() ? "" : " (" + e.cpu + ")");
}

void print(const Explanation& e, bool verbose) {
  command::print_wrapped(command::paint(command::Style::strong, command::one_line(group_name(e))), 2);
  Texts texts = conclusions(e);
  const auto others = refuted(e);
  if (!verbose && !others.empty())
    texts.push_back(base::format_count(others.size(), "hypothesis", "hypotheses") + " refuted (-v)");
  for (const Refuted& one : others) {
    if (!verbose) break;
    Texts cells;
    for (const Comparison& c : one.cells)
      cells.push_back(fmt::format("{} {}", c.cell.text(), percent(c.off)));
    texts.push_back(fmt::format("refuted: {}: {}", one.hypothesis->machine, fmt::join(cells, "; ")));
  }
  for (const std::string& text : texts)
    command::print_wrapped(text, 4, "  ");
}

/// Per group what the counts tell, and the hypotheses that they refute, each by the cell that decides most.
std::vector<document::Block> write_section(const document::Material& material) {
  const Hypotheses& hypotheses = shipped_hypotheses();
  Predictor predictor;
  std::vector<document::Block> blocks;
  for (const Group& group : measured_groups(matmul::group_products(material.results))) {
    const Explanation e = Explainer(hypotheses, predictor).explain(group);
    blocks.emplace_back(document::Heading{group_name(e), 2});
    blocks.emplace_back(document::List{conclusions(e)});
    show::Table table({{"hypothesis"},
                       {"product"},
                       {"witness"},
                       show::number("counted"),
                       show::number("modelled"),
                       show::number("off")},
                      "Hypotheses about the machine that PAPI_L1_DCM refutes: " + group_name(e));
    for (const Refuted& one : refuted(e)) {
      if (one.cells.empty()) continue;
      const Comparison& c = one.cells.front();
      table.rows.push_back({one.hypothesis->machine, c.cell.text(), base::format_witness(c.witness),
                            base::format_number(c.measured), base::format_number(c.predicted.value),
                            percent(c.off)});
      show::Datum datum{{{"hypothesis", one.hypothesis->machine}, {"product", c.cell.text()}},
                        l1_metric,
                        "median",
                        c.measured};
      datum.witness = c.witness.name();
      table.data.push_back(datum);
      datum.witness = Witness{Witness::Kind::model, one.hypothesis->machine}.name();
      table.data.push_back(datum.with("value", c.predicted.value, c.predicted.low, c.predicted.high));
    }
    if (!table.rows.empty()) blocks.emplace_back(std::move(table));
  }
  if (blocks.empty())
    blocks.emplace_back(document::Paragraph{
        "The results have no counts of products of doubles, so that no hypothesis can be tested."});
  return document::under("Hypotheses about machine and events", std::move(blocks));
}

Json cell_json(const Cell& cell) {
  return {{"loops", cell.loops}, {"n", cell.n}, {"block", cell.block > 0 ? Json(cell.block) : Json()}};
}

Json cells_json(const std::vector<Cell>& cells) {
  return make_array(cells, cell_json);
}

Json trial_json(const Trial& trial) {
  const auto refuting = make_array(trial.refuting(), [](const Comparison& c) {
    Json one = cell_json(c.cell);
    one.update({{"measured", c.measured},
                {"predicted", c.predicted.value},
                {"low", c.predicted.low},
                {"high", c.predicted.high},
                {"off", c.off},
                {"allowance", c.allowance}});
    return one;
  });
  return {{"machine", trial.hypothesis->machine}, {"pages", trial.hypothesis->huge ? "huge" : "4K"},
          {"claim", trial.hypothesis->claim},     {"survives", trial.survives},
          {"cells", trial.compared.size()},       {"refuting", refuting}};
}

Json explanation_json(const Explanation& e) {
  static constexpr const char* kinds[] = {"digit lost", "digit added", "copied",       "outlier",
                                          "rotated",    "rounded",     "more than L1", "dead"};
  Json object{
      {"group", e.group}, {"cpu", e.cpu}, {"determined", e.determined()}, {"undetermined", e.undetermined()}};
  object["columns_exchanged"] = e.exchanged;
  object["labels_exchanged"] = e.exchanged_labels;
  object["findings"] = make_array(e.findings, [](const TableFinding& f) {
    return Json{{"kind", kinds[static_cast<std::size_t>(f.kind)]},
                {"metric", f.metric},
                {"cells", cells_json(f.cells)},
                {"text", f.text}};
  });
  object["hypotheses"] = make_array(e.trials, trial_json);
  object["moved_rows"] = make_array(e.moved, [](const MovedRows& rows) {
    return Json{{"loops", rows.loops}, {"rows", rows.cells}, {"in_place", rows.in_place}};
  });
  object["other_loops"] = make_array(e.other_loops, [](const OtherLoops& other) {
    return Json{{"loops", other.named}, {"fit", other.orders}};
  });
  object["l2"] = make_array(e.counts, [](const CountTrial& trial) {
    return Json{{"name", trial.hypothesis->name},
                {"claim", trial.hypothesis->claim},
                {"survives", trial.survives},
                {"refuting", cells_json(trial.refuting)}};
  });
  object["blocks"] = make_array(e.blocks, [](const BlockExcess& block) {
    return Json{{"block", block.block}, {"lines_per_run", block.lines}};
  });
  object["l2_lines_requested"] = e.lines_requested;
  object["unexplained"] = cells_json(e.unexplained);
  object["next"] = e.next ? cell_json(e.next->cell) : Json();
  return object;
}

Hypotheses make_hypotheses(const ExplainArguments& a) {
  if (a.hypotheses.empty()) return shipped_hypotheses();
  auto all = parse_hypotheses(
      base::require_file(a.hypotheses, "recount explain --list shows the shipped hypotheses"), a.hypotheses);
  for (const auto& one : all.machines)
    static_cast<void>(model::machine(one.machine));
  return all;
}

int list_hypotheses(const Hypotheses& all) {
  show::Table table({{"machine"}, {"groups", show::Role::number}, {"hypothesis"}});
  for (const auto& one : all.machines) {
    const auto machine = model::machine(one.machine);
    const bool described = one.machine.find('~') == std::string::npos || one.machine.ends_with("~huge");
    table.add({one.machine, described && machine.validated ? std::to_string(machine.validated->groups) : "-",
               one.claim});
  }
  command::print("{}", command::table_text(table));
  return 0;
}

/// One file to send; nothing is sent.
int write_contribution(const ExplainArguments& a) {
  for (const std::string& file : a.files)
    if (file.ends_with(".csv") || file.ends_with(".txt"))
      throw bad_input(file, "is a published table, not a results file of recount",
                      "recount matmul --study report -o FILE.jsonl, then recount explain FILE.jsonl "
                      "--contribute FILE.csv");
  if (!a.contribute.ends_with(".csv"))
    throw bad_input("--contribute " + a.contribute, "does not end in .csv");
  base::check_writable("--contribute", a.contribute, base::Output::replaced);
  const std::string text = contribution(result::read(a.files));
  if (text.empty())
    throw bad_input("recount explain", "the files have no counts or times of products of doubles",
                    "recount matmul --study report -o FILE.jsonl");
  static_cast<void>(matmul::parse_published(text, a.contribute)); // as its receiver reads it
  if (!base::replace_file(a.contribute, text)) throw base::cannot_write(a.contribute, errno);
  command::note("recount explain: {} written; it names the CPU, no host, user, path or date\n", a.contribute);
  return 0;
}

/// Those of --group, or all; files of one name by their paths, and in one file only groups are graded.
std::vector<Group> read_groups(const ExplainArguments& a) {
  const auto wanted = base::list_words(a.groups);
  const auto file_name = [](const std::string& file) { return file.substr(file.rfind('/') + 1); };
  std::vector<Group> all;
  for (const std::string& file : a.files)
    for (Group& group : read_measured(file)) {
      if (!wanted.empty() && std::ranges::none_of(wanted, [&](const std::string& word) {
            return group.name == word || group.name.ends_with(" " + word);
          }))
        continue;
      const std::string name = file_name(file);
      if (std::ranges::count(a.files, name, file_name) > 1 && group.name.starts_with(name))
        group.name.replace(0, name.size(), file);
      else if (a.grade && a.files.size() == 1 && group.name.starts_with(name + " "))
        group.name.erase(0, name.size() + 1);
      all.push_back(std::move(group));
    }
  if (all.empty())
    throw bad_input(fmt::format("--group {}", fmt::join(a.groups, ",")), "no such group in the files",
                    "recount explain FILE without --group");
  return all;
}

/// A row per table with its first mark, or a row per mark.
show::Table grade_table(const std::vector<Grade>& grades, bool every_mark) {
  show::Table table({show::key_words("table"), {"verdict"}, {"row and column"}});
  if (every_mark) table.columns.push_back({"what"});
  for (const Grade& one : grades)
    for (const Mark& mark : one.marks) {
      const auto style = mark.verdict == Verdict::consistent  ? show::Style::good
                         : mark.verdict == Verdict::undecided ? show::Style::plain
                                                              : show::Style::bad;
      std::vector<show::Cell> row{one.table, {style, verdict_text(mark.verdict)}, mark.place};
      if (every_mark)
        row.emplace_back(mark.text);
      else if (!mark.text.empty())
        row.back().text +=
            ": " + mark.text +
            (one.marks.size() > 1 ? fmt::format(" (+{})", one.marks.size() - 1) : std::string());
      table.add(std::move(row));
      if (!every_mark) break;
    }
  return table;
}

Json grade_json(const Grade& one) {
  return {{"table", one.table},
          {"verdict", verdict_text(one.marks.front().verdict)},
          {"marks", make_array(one.marks, [](const Mark& mark) {
             return Json{{"verdict", verdict_text(mark.verdict)}, {"place", mark.place}, {"text", mark.text}};
           })}};
}

void print_grades(const std::vector<Grade>& grades, const std::vector<Explanation>& explanations,
                  bool verbose) {
  command::print("{}", command::table_text(grade_table(grades, verbose)));
  const auto has = [&](Verdict verdict) {
    return std::ranges::count(grades, verdict, [](const Grade& one) { return one.marks.front().verdict; });
  };
  if (has(Verdict::same_values) > 0)
    command::print_wrapped("copied?: the values do not show which of the tables is the original.", 2);
  command::print_wrapped(fmt::format("{} of {} consistent{}", has(Verdict::consistent),
                                     base::format_count(grades.size(), "table"),
                                     verbose ? "" : "; reasons: -v"),
                         2);
  for (const Explanation& e : explanations)
    if (verbose) command::print("\n"), print(e, true);
}

int execute_explain(const ExplainArguments& a) {
  const Hypotheses hypotheses = make_hypotheses(a);
  if (a.list) return list_hypotheses(hypotheses);
  if (a.files.empty())
    throw bad_input("recount explain", "no file given",
                    "recount explain FILE ..., a published table or a results file");
  if (!a.contribute.empty()) return write_contribution(a);
  if (!a.export_to.empty() && !a.grade)
    throw bad_input("--export " + a.export_to, "only --grade makes a table", "add --grade");
  const command::TableExport tables(a.export_to);
  Predictor predictor;
  Explainer explainer(hypotheses, predictor);
  const std::vector<Group> groups = read_groups(a);
  constexpr std::size_t few = 4;
  if (a.grade && groups.size() > few)
    command::note("recount explain: {} tables, a few seconds each\n", groups.size());
  std::vector<Explanation> explanations;
  for (const Group& group : groups) {
    explanations.push_back(explainer.explain(group));
    if (a.json || a.grade) continue;
    command::print("{}", explanations.size() > 1 ? "\n" : ""), print(explanations.back(), a.verbose);
    command::flush(stdout);
  }
  const auto grades = a.grade ? grade(groups, explanations) : std::vector<Grade>();
  Json object{{"simulated", predictor.simulated()}};
  if (a.grade)
    object["grades"] = make_array(grades, grade_json);
  else
    object["groups"] = make_array(explanations, explanation_json);
  if (a.json)
    command::print("{}", json_text("explain", object));
  else if (a.grade)
    print_grades(grades, explanations, a.verbose);
  if (a.grade) tables.write("recount explain", {grade_table(grades, true)});
  return 0;
}

} // namespace

document::Section explain_section() {
  return {"hypotheses", write_section};
}

command::Command explain_command() {
  return command::make_command<ExplainArguments>(
      "explain", "test hypotheses about a machine against counts of matrix products",
      [](command::Options& options, ExplainArguments& a) {
        options.words("FILE", a.files, "published tables (.csv), lines of counts (.txt) or results files")
            .list("--group", a.groups, "LIST", "only these groups of the files")
            .text("--hypotheses", a.hypotheses, "FILE", "hypotheses to try (default: the shipped ones)")
            .text("--contribute", a.contribute, "FILE.csv",
                  "write the counts of results files as one anonymised table and exit")
            .flag("--grade", a.grade, "print a verdict for each table: consistent, exchanged, copied ...")
            .text("--export", a.export_to, "FILE", command::export_help)
            .flag("--list", a.list, "list the hypotheses and exit")
            .flag("--json", a.json, "print one JSON object")
            .flag("-v,--verbose", a.verbose, "show the refuted hypotheses, with the cells that refute them");
      },
      execute_explain);
}

} // namespace recount::explain
