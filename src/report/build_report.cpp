#include "report/build_report.hpp"

#include "base/nearest.hpp"
#include "base/output_file.hpp"
#include "base/text.hpp"
#include "document/document.hpp"
#include "process/child.hpp"
#include "process/spawn.hpp"
#include "result/completeness.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <set>

namespace recount::report {
namespace {

/// The source of the numbers of cache misses: counters or the model.
std::string misses_summary(const result::Results& results) {
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

/// Sentences on each machine, and the source of its numbers of misses.
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
    if (const std::string text = misses_summary(*part.results); !text.empty()) all.push_back(where + text);
  }
  return all;
}

std::string title_of(const std::vector<document::Part>& parts, const std::vector<std::string>& subjects) {
  std::vector<std::string> machines;
  for (const document::Part& part : parts)
    if (!part.published) machines.push_back(part.machine);
  std::string title = subjects.empty() ? "counts" : fmt::format("{}", fmt::join(subjects, " and "));
  if (machines.empty()) return "Published " + title;
  if (title[0] >= 'a' && title[0] <= 'z') title[0] = static_cast<char>(title[0] - 'a' + 'A');
  return fmt::format("{} of {}", title,
                     machines.size() > 2 ? fmt::format("{} machines", machines.size())
                                         : fmt::format("{}", fmt::join(machines, " and ")));
}

} // namespace

Report build_report(const result::Results& results, const Origin& origin, const Tables& tables) {
  document::Gallery gallery(tables.figures);
  const document::Material material{results, document::by_machine(results), origin.machine, gallery};
  std::vector<document::Block> body, appendix;
  std::vector<std::string> subjects; // of the sections that have any text
  for (const document::Section& section : tables.sections) {
    auto blocks = section.write(material);
    if (!blocks.empty() && !section.subject.empty() &&
        std::ranges::find(subjects, section.subject) == subjects.end())
      subjects.push_back(section.subject);
    document::append(section.appendix ? appendix : body, std::move(blocks));
  }
  mark_tables(body, material.parts);
  mark_tables(appendix, material.parts);
  auto verdicts = verdicts_section(material.parts);
  if (body.empty() && verdicts.empty())
    throw bad_input(fmt::format("{}", fmt::join(origin.files, ", ")), "no data for a table or a figure",
                    "recount matmul -o FILE, recount caches -o FILE or recount sweep -o FILE");
  Report report;
  auto& blocks = report.document.blocks;
  report.document.title = title_of(material.parts, subjects);
  report.document.subtitle =
      fmt::format("Written by recount {} from {}", origin.version, fmt::join(origin.files, ", "));
  for (const auto& study : result::incomplete(results))
    blocks.emplace_back(document::Paragraph{result::describe(study)});
  if (auto lines = summary(material.parts, tables.sections); !lines.empty()) {
    blocks.emplace_back(document::Heading{"Summary", 1});
    blocks.emplace_back(document::List{std::move(lines)});
  }
  document::append(blocks, machines_section(material.parts));
  document::append(blocks, method_section(results, tables.sections, !appendix.empty()));
  document::append(blocks, std::move(verdicts));
  document::append(blocks, std::move(body));
  document::append(blocks, warnings_section(results, gallery.warnings()));
  document::append(blocks, std::move(appendix));
  report.pictures = gallery.wanted();
  return report;
}

namespace {

namespace fs = std::filesystem;

struct FormatRow {
  Format format;
  const char *name, *file;
};
constexpr std::array format_rows{
    FormatRow{Format::markdown, "markdown", "report.md"}, FormatRow{Format::html, "html", "report.html"},
    FormatRow{Format::latex, "latex", "report.tex"}, FormatRow{Format::csv, "csv", ""}}; // tables alone

bool wants(const std::vector<Format>& formats, Format format) {
  return std::ranges::find(formats, format) != formats.end();
}

void make_folder(const std::string& folder) {
  std::error_code error;
  const auto kind = fs::status(folder, error);
  const bool in_the_way = fs::exists(kind) && !fs::is_directory(kind);
  if (!in_the_way) fs::create_directories(folder, error);
  if (error || in_the_way)
    throw bad_input(folder, in_the_way ? "is a file, not a folder" : "cannot be created: " + error.message(),
                    "name another folder with -o");
}

class Publisher {
public:
  Publisher(Report report, std::string folder, const std::vector<Format>& formats)
      : report_(std::move(report)), folder_(std::move(folder)), formats_(formats) {}

  Published publish() {
    make_folder(folder_);
    draw();
    for (const FormatRow& row : format_rows)
      if (wants(formats_, row.format) && *row.file) write(row.file, text(row.format));
    write_tables();
    if (wants(formats_, Format::latex)) typeset();
    published_.files.insert(published_.files.end(), figures_.begin(), figures_.end());
    return std::move(published_);
  }

private:
  [[nodiscard]] std::string path(const std::string& name) const {
    return (fs::path(folder_) / name).string();
  }

  /// Whole or not at all.
  void write(const std::string& name, const std::string& text) {
    if (!base::replace_file(path(name), text)) throw base::cannot_write(path(name), errno);
    published_.files.push_back(path(name));
  }

  [[nodiscard]] std::string text(Format format) const {
    if (format == Format::markdown) return document::to_markdown(report_.document);
    if (format == Format::latex) return document::to_latex(report_.document);
    return document::to_html(report_.document, [this](const std::string& name) { return svgs_.at(name); });
  }

  /// Each table by itself, with the number that it has in the report.
  void write_tables() {
    std::size_t number = 0;
    for (const document::Block& block : report_.document.blocks) {
      const auto* const table = std::get_if<document::Table>(&block);
      if (!table) continue;
      const std::string name = fmt::format("table-{}", ++number);
      if (wants(formats_, Format::latex)) write(name + ".tex", document::latex_table(*table));
      if (wants(formats_, Format::csv)) write(name + ".csv", document::csv_table(*table));
    }
  }

  /// Each figure for all formats at once. If gnuplot is missing, this is reported once.
  void draw() {
    for (const document::RequestedPicture& wanted : report_.pictures) {
      plot::Options options;
      options.targets.push_back({plot::Format::svg, path(wanted.name + ".svg")});
      if (wants(formats_, Format::latex))
        options.targets.push_back({plot::Format::pdf, path(wanted.name + ".pdf")});
      try {
        auto drawn = plot::draw(wanted.sheet, options);
        figures_.insert(figures_.end(), drawn.files.begin(), drawn.files.end());
        for (auto& warning : drawn.warnings)
          if (warning.starts_with("gnuplot")) published_.warnings.push_back(wanted.name + ": " + warning);
        svgs_[wanted.name] = base::read_file(path(wanted.name + ".svg")).value_or("");
      } catch (const Error& error) {
        if (error.problem().subject != "gnuplot" && !error.problem().subject.starts_with("figure ")) throw;
        if (error.kind() == ErrorKind::unavailable) return leave_out_all(error);
        drop_pictures([&](const std::string& name) { return name == wanted.name; });
        published_.warnings.push_back(wanted.name + ": " + error.problem().cause);
      }
    }
    if (!wants(formats_, Format::markdown)) drop_svgs();
  }

  void drop_pictures(const std::function<bool(const std::string& name)>& unwanted) {
    std::erase_if(report_.document.blocks, [&](const document::Block& block) {
      const auto* picture = std::get_if<document::Picture>(&block);
      return picture && unwanted(picture->name);
    });
  }

  void leave_out_all(const Error& error) {
    drop_pictures([&](const std::string& name) { return !svgs_.contains(name); });
    const std::string why = "without figures: " + error.problem().subject + ": " + error.problem().cause;
    published_.warnings.push_back(error.problem().fix.empty() ? why : why + "; " + error.problem().fix);
    report_.document.blocks.emplace_back(document::Heading{"Figures", 1});
    report_.document.blocks.emplace_back(document::Paragraph{"This report was written " + why + "."});
  }

  /// They are within the page.
  void drop_svgs() {
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
    // -C of env: pdflatex looks for figures in its working folder. No command may be started from the text.
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
