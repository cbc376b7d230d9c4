#include "commands/report/build_report.hpp"

#include "base/nearest.hpp"
#include "base/output_file.hpp"
#include "base/process/child.hpp"
#include "base/text.hpp"
#include "run/result/results_file.hpp"
#include "show/document/document.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>
#include <system_error>
#include <utility>
#include <variant>

namespace recount::report {
namespace {

/// Whether cache misses were counted, and by which witnesses, or modelled.
std::string source_of_misses(const result::Results& results) {
  std::set<Witness> counted;
  bool modelled = false;
  for (const auto& o : results.observations) {
    if (o.value.index() == 0 || (!o.metric.starts_with("PAPI_L1") && !o.metric.starts_with("PAPI_L2")))
      continue;
    modelled = modelled || o.witness.modelled();
    if (!o.witness.modelled() && o.witness != Witness::published) counted.insert(o.witness);
  }
  if (!counted.empty()) return fmt::format("Cache misses were counted by {}.", fmt::join(counted, " and "));
  return modelled ? "Cache misses were not counted here; those in this report are modelled." : "";
}

/// The summaries of all sections, by machine, each followed by the source of its cache misses.
std::vector<std::string> summary(const std::vector<document::Part>& parts,
                                 const std::vector<document::Section>& sections) {
  std::vector<std::string> all;
  const bool several = std::ranges::count(parts, false, &document::Part::published) > 1;
  for (const document::Part& part : parts) {
    if (part.published) continue;
    const std::string where = several ? part.machine + ": " : std::string();
    for (const document::Section& section : sections)
      if (section.summary)
        for (const std::string& text : section.summary(part))
          all.push_back(where + text);
    if (const std::string text = source_of_misses(*part.results); !text.empty()) all.push_back(where + text);
  }
  return all;
}

/// The numbers of tables as the formats count them, from `first` on, by caption.
std::multimap<std::string, std::size_t> table_numbers(const std::vector<document::Block>& blocks,
                                                      std::size_t first) {
  std::multimap<std::string, std::size_t> numbers;
  for (const document::Block& block : blocks)
    if (const auto* const table = std::get_if<show::Table>(&block))
      numbers.emplace(table->caption, numbers.size() + first);
  return numbers;
}

/// Throws where a hit rate of a table is outside 0 to 1; plot::caption_text() looks at the figures.
void check_rates(const show::Table& table) {
  for (const show::Datum& datum : table.data)
    if (const bool rate = datum.quantity.ends_with("_HIT_RATE") || datum.quantity.ends_with("hit rate");
        rate && datum.value && !(*datum.value >= 0 && *datum.value <= 1))
      throw bad_input(fmt::format("table \"{}\": {}", table.caption, datum.quantity),
                      fmt::format("{} is outside 0 to 1", *datum.value), result::contradiction_fix);
}

/// Tables that are files move there; of the short form, those that no page holds, too. They leave a line.
void move_files(Report& report, bool full) {
  constexpr std::size_t max_rows = 40; // of a page
  std::map<std::string, std::size_t> alike;
  std::vector<std::string> lines;
  std::erase_if(report.document.blocks, [&](document::Block& block) {
    auto* const table = std::get_if<show::Table>(&block);
    if (table) check_rates(*table);
    if (!table || (table->file.empty() && (full || table->rows.size() <= max_rows))) return false;
    std::string& name = table->file;
    if (name.empty()) name = "table";
    for (char& c : name) // of a kernel in the results
      if ((c < 'a' || c > 'z') && (c < '0' || c > '9')) c = '-';
    if (const std::size_t n = ++alike[name]; n > 1) name += fmt::format("-{}", n);
    lines.push_back(fmt::format("{}.csv: {}", name, table->caption));
    report.files.push_back(std::move(*table));
    return true;
  });
  if (lines.empty()) return;
  report.document.blocks.emplace_back(document::Heading{"Values in files", 1});
  report.document.blocks.emplace_back(document::List{std::move(lines)});
}

std::string proof_text(const document::Answer& answer,
                       const std::multimap<std::string, std::size_t>& numbers) {
  std::vector<std::string> tables;
  const auto [first, last] = numbers.equal_range(answer.proof);
  for (auto at = first; at != last; ++at)
    tables.push_back(std::to_string(at->second));
  if (tables.empty()) return "-";
  return fmt::format("{} {}: {}", tables.size() > 1 ? "one of Tables" : "Table", fmt::join(tables, ", "),
                     answer.cells);
}

std::string answer_text(const document::Answer& answer) {
  if (answer.value.empty()) return "not answerable here: " + answer.reason;
  return answer.reason.empty() ? answer.value : answer.value + ". Not answered: " + answer.reason;
}

/// The questions of the assignments with their answers, a table for each machine, followed by the tables of
/// `rest` that prove them.
std::vector<document::Block> answers_section(const std::vector<document::Part>& parts,
                                             const std::vector<document::Section>& sections,
                                             const std::vector<document::Block>& rest) {
  std::vector<std::pair<std::string, std::vector<document::Answer>>> machines;
  for (const document::Part& part : parts) {
    std::vector<document::Answer> all;
    for (const document::Section& section : sections)
      if (section.answers && !part.published)
        std::ranges::move(section.answers(part), std::back_inserter(all));
    if (!all.empty()) machines.emplace_back(part.machine, std::move(all));
  }
  std::vector<document::Block> blocks;
  if (machines.empty()) return blocks;
  const auto numbers = table_numbers(rest, machines.size() + 1);
  for (const auto& [machine, answers] : machines) {
    show::Table table({{"question"}, {"answer"}, {"shown in"}, {"confidence"}},
                      "Questions and answers: " + machine);
    for (const auto& answer : answers)
      table.rows.push_back({answer.question, answer_text(answer), proof_text(answer, numbers),
                            answer.confidence.empty() ? "-" : answer.confidence_text()});
    blocks.emplace_back(std::move(table));
  }
  blocks.emplace_back(document::Paragraph{
      "Confidence: high, of at least 3 undisturbed repetitions or of two ways that agree; medium, of "
      "disturbed repetitions or of one way; low, of fewer repetitions or an estimate; modelled, computed "
      "for the stated or described machine and not measured; computed, from sizes alone; by the method, from "
      "how caches work."});
  return document::under("Answers", std::move(blocks));
}

/// That of the values: the machine of the run, or the described one where nothing else was modelled or
/// measured.
std::string title_machine(const document::Part& part) {
  std::set<std::string> described;
  for (const auto& o : part.results->observations) {
    if (o.value.index() == 0) continue;
    const auto machine = o.witness.described_machine();
    if (!machine || machine->substr(0, machine->find('~')) == "host") return part.machine; // "host~sample"
    described.insert(machine->substr(0, machine->find('~')));
  }
  return described.empty() ? part.machine : fmt::format("{} (modelled)", fmt::join(described, ", "));
}

std::string make_title(const std::vector<document::Part>& parts, const std::vector<std::string>& subjects) {
  std::vector<std::string> machines;
  for (const document::Part& part : parts)
    machines.push_back(part.published ? part.results->runs.front().cpu + " (published)"
                                      : title_machine(part));
  std::string title = subjects.empty() ? "counts" : fmt::format("{}", fmt::join(subjects, ", "));
  if (subjects.size() > 1) title.replace(title.rfind(", "), 2, " and ");
  if (std::ranges::all_of(parts, &document::Part::published)) return "Published " + title;
  if (title[0] >= 'a' && title[0] <= 'z') title[0] = static_cast<char>(title[0] - 'a' + 'A');
  return fmt::format("{} of {}", title,
                     machines.size() > 2 ? fmt::format("{} machines", machines.size())
                                         : fmt::format("{}", fmt::join(machines, " and ")));
}

} // namespace

Report build_report(const result::Results& results, const Origin& origin, const Tables& tables) {
  document::Gallery gallery(tables.figures);
  const document::Material material{results, document::by_machine(results), origin.machine, gallery,
                                    origin.full};
  std::vector<document::Block> body, appendix;
  std::vector<std::string> subjects; // of the sections that are not empty
  for (const document::Section& section : tables.sections) {
    auto blocks = section.write(material);
    if (!blocks.empty() && !section.subject.empty() &&
        std::ranges::find(subjects, section.subject) == subjects.end())
      subjects.push_back(section.subject);
    document::append(section.appendix ? appendix : body, std::move(blocks));
  }
  if (body.empty())
    throw bad_input(fmt::format("{}", fmt::join(origin.files, ", ")), "no data for a table or a figure",
                    "recount matmul -o FILE, recount caches -o FILE or recount sweep -o FILE");
  Report report;
  auto& blocks = report.document.blocks;
  report.document.title = make_title(material.parts, subjects);
  report.document.subtitle =
      fmt::format("Written by recount {} from {}", origin.version, fmt::join(origin.files, ", "));
  for (const auto& study : result::incomplete(results))
    blocks.emplace_back(document::Paragraph{result::describe(study)});
  if (auto lines = summary(material.parts, tables.sections); !lines.empty()) {
    blocks.emplace_back(document::Heading{"Summary", 1});
    blocks.emplace_back(document::List{std::move(lines)});
  }
  std::vector<document::Block> rest = machines_section(material.parts, origin.full);
  if (origin.full) document::append(rest, method_section(results, tables.sections));
  document::append(rest, std::move(body));
  if (!origin.full) document::append(rest, not_counted_section(results, false));
  document::append(rest, warnings_section(results, gallery.warnings()));
  document::append(rest, std::move(appendix));
  if (origin.full) document::append(blocks, answers_section(material.parts, tables.sections, rest));
  document::append(blocks, std::move(rest));
  move_files(report, origin.full);
  report.pictures = gallery.wanted();
  return report;
}

namespace {

namespace fs = std::filesystem;

struct FormatRow {
  Format format;
  const char *name, *file;
};
constexpr std::array format_rows{FormatRow{Format::markdown, "markdown", "report.md"},
                                 FormatRow{Format::html, "html", "report.html"},
                                 FormatRow{Format::latex, "latex", "report.tex"},
                                 FormatRow{Format::csv, "csv", ""}}; // no file: each table has its own

bool wants(const std::vector<Format>& formats, Format format) {
  return std::ranges::find(formats, format) != formats.end();
}

void create_folder(const std::string& folder) {
  std::error_code error;
  const auto kind = fs::status(folder, error);
  const bool is_file = fs::exists(kind) && !fs::is_directory(kind);
  if (!is_file) fs::create_directories(folder, error);
  if (error || is_file)
    throw bad_input(folder, is_file ? "is a file, not a folder" : "cannot be created: " + error.message(),
                    "name another folder with -o");
}

class Publisher {
public:
  Publisher(Report report, std::string folder, const std::vector<Format>& formats)
      : report_(std::move(report)), folder_(std::move(folder)), formats_(formats) {}

  Published publish() {
    create_folder(folder_);
    draw();
    for (const FormatRow& row : format_rows)
      if (wants(formats_, row.format) && *row.file) write(row.file, text(row.format));
    write_parts();
    if (wants(formats_, Format::latex)) typeset();
    published_.files.insert(published_.files.end(), figures_.begin(), figures_.end());
    return std::move(published_);
  }

private:
  [[nodiscard]] std::string path(const std::string& name) const {
    return (fs::path(folder_) / name).string();
  }

  /// Atomically.
  void write(const std::string& name, const std::string& text) {
    if (!base::replace_file(path(name), text)) throw base::cannot_write(path(name), errno);
    published_.files.push_back(path(name));
  }

  [[nodiscard]] std::string text(Format format) const {
    if (format == Format::markdown) return document::to_markdown(report_.document);
    if (format == Format::latex) return document::to_latex(report_.document);
    return document::to_html(report_.document, [this](const std::string& name) { return svgs_.at(name); });
  }

  /// For other documents: files of each table, numbered as in the report, and a float per figure.
  void write_parts() {
    const bool latex = wants(formats_, Format::latex), csv = wants(formats_, Format::csv);
    std::size_t number = 0;
    for (const document::Block& block : report_.document.blocks)
      if (const auto* const table = std::get_if<show::Table>(&block)) {
        const std::string name = fmt::format("table-{}", ++number);
        if (latex) write(name + ".tex", document::latex_table(*table));
        if (csv) write(name + ".csv", show::csv_text(*table));
      } else if (const auto* const picture = std::get_if<document::Picture>(&block); picture && latex) {
        write(picture->name + ".tex", document::latex_figure(*picture));
      }
    for (const show::Table& table : report_.files)
      write(table.file + ".csv", show::csv_text(table));
  }

  /// Draws each figure in all formats that need one.
  void draw() {
    for (const document::RequestedPicture& wanted : report_.pictures) {
      plot::Options options;
      options.targets.push_back({plot::Format::svg, path(wanted.name + ".svg")});
      if (wants(formats_, Format::latex))
        options.targets.push_back({plot::Format::pdf, path(wanted.name + ".pdf")});
      try {
        const auto drawn = plot::draw(wanted.sheet, options);
        figures_.insert(figures_.end(), drawn.files.begin(), drawn.files.end());
        // The warnings of the sheet are in the report already; those of gnuplot follow them.
        for (std::size_t i = wanted.sheet.warnings.size(); i < drawn.warnings.size(); ++i)
          published_.warnings.push_back(wanted.name + ": " + drawn.warnings[i]);
        svgs_[wanted.name] = base::read_file(path(wanted.name + ".svg")).value_or("");
      } catch (const plot::CannotDraw& error) { // the next figure would fail as well
        return drop_undrawn_figures(error);
      }
    }
    if (!wants(formats_, Format::markdown)) remove_svg_files();
  }

  void drop_undrawn_figures(const Error& error) {
    std::erase_if(report_.document.blocks, [&](const document::Block& block) {
      const auto* const picture = std::get_if<document::Picture>(&block);
      return picture && !svgs_.contains(picture->name);
    });
    const std::string why = "without figures: " + error.problem().subject + ": " + error.problem().cause;
    published_.warnings.push_back(error.problem().fix.empty() ? why : why + "; " + error.problem().fix);
    report_.document.blocks.emplace_back(document::Heading{"Figures", 1});
    report_.document.blocks.emplace_back(document::Paragraph{"This report was written " + why + "."});
  }

  /// The HTML page contains the figures itself.
  void remove_svg_files() {
    std::error_code none;
    std::erase_if(figures_,
                  [&](const std::string& file) { return file.ends_with(".svg") && fs::remove(file, none); });
  }

  void typeset() {
    if (!process::find_program("pdflatex")) {
      published_.warnings.emplace_back(
          "no report.pdf: pdflatex not found in PATH (Debian: texlive-latex-base)");
      return;
    }
    process::Spawn spawn;
    // pdflatex searches figures in its working folder: env -C. -no-shell-escape: the text starts no command.
    spawn.argv = {"env", "-C", fs::absolute(folder_).string(), "pdflatex"};
    for (const char* argument :
         {"-no-shell-escape", "-halt-on-error", "-interaction=nonstopmode", "report.tex"})
      spawn.argv.emplace_back(argument);
    spawn.environment = {{"openout_any", "p"}, {"openin_any", "p"}};
    const auto output = process::capture(spawn, {}, std::chrono::seconds(60));
    std::error_code none;
    for (const char* rest : {"report.aux", "report.out"})
      fs::remove(path(rest), none);
    if (output.exit.ok()) {
      fs::remove(path("report.log"), none);
      published_.files.push_back(path("report.pdf"));
      return;
    }
    const auto at = output.out.find("\n!");
    published_.warnings.push_back(fmt::format(
        "no report.pdf: pdflatex failed ({}); {}{}", process::describe(output.exit),
        at == output.out.npos ? "" : output.out.substr(at + 3, 120) + "; ", "see " + path("report.log")));
    fs::remove(path("report.pdf"), none);
  }

  Report report_;
  std::string folder_;
  const std::vector<Format>& formats_;
  std::map<std::string, std::string> svgs_;
  std::vector<std::string> figures_;
  Published published_;
};

} // namespace

Format parse_format(const std::string& name) {
  std::vector<std::string> names;
  for (const FormatRow& row : format_rows) {
    if (name == row.name) return row.format;
    names.emplace_back(row.name);
  }
  throw bad_input("--format " + name, "no such format",
                  base::did_you_mean(name, names, "markdown, html, latex or csv"));
}

Published publish(Report report, const std::string& folder, const std::vector<Format>& formats) {
  return Publisher(std::move(report), folder, formats).publish();
}

} // namespace recount::report
