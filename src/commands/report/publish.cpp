#include "commands/report/build_report.hpp"

#include "base/nearest.hpp"
#include "base/output_file.hpp"
#include "base/process/child.hpp"
#include "base/text.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>
#include <variant>

namespace recount::report {
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
