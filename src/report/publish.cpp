#include "base/nearest.hpp"
#include "report/build_report.hpp"

#include "base/output_file.hpp"
#include "document/document.hpp"
#include "plot/output.hpp"
#include "process/child.hpp"
#include "process/program.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>

namespace recount::report {
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

void write_file(const std::string& path, const std::string& text) {
  const plot::Delivery delivery(path);
  if (!base::write_file(delivery.draft(), text)) throw base::cannot_write(path, errno);
  static_cast<void>(delivery.deliver());
}

class Publisher {
public:
  Publisher(Report report, std::string folder, const std::vector<Format>& formats)
      : report_(std::move(report)), folder_(std::move(folder)), formats_(formats) {}

  Published made() {
    make_folder(folder_);
    draw();
    for (const FormatRow& row : format_rows)
      if (wants(formats_, row.format) && *row.file) {
        write_file(path(row.file), text(row.format));
        made_.files.push_back(path(row.file));
      }
    write_tables();
    if (wants(formats_, Format::latex)) typeset();
    made_.files.insert(made_.files.end(), figures_.begin(), figures_.end());
    return std::move(made_);
  }

private:
  [[nodiscard]] std::string path(const std::string& name) const {
    return (fs::path(folder_) / name).string();
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
      const std::string name = path(fmt::format("table-{}", ++number));
      if (wants(formats_, Format::latex)) write_file(name + ".tex", document::latex_table(*table));
      if (wants(formats_, Format::csv)) write_file(name + ".csv", document::csv_table(*table));
      for (const auto& [format, suffix] : {std::pair{Format::latex, ".tex"}, {Format::csv, ".csv"}})
        if (wants(formats_, format)) made_.files.push_back(name + suffix);
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
          if (warning.starts_with("gnuplot")) made_.warnings.push_back(wanted.name + ": " + warning);
        svgs_[wanted.name] = plot::file_contents(path(wanted.name + ".svg"));
      } catch (const Error& error) {
        if (error.problem().subject != "gnuplot" && !error.problem().subject.starts_with("figure ")) throw;
        leave_out(wanted.name, error);
        if (error.kind() == ErrorKind::unavailable) return leave_out_all(error);
      }
    }
    if (!wants(formats_, Format::markdown)) drop_svgs();
  }

  void leave_out(const std::string& name, const Error& error) {
    std::erase_if(report_.document.blocks, [&](const document::Block& block) {
      const auto* picture = std::get_if<document::Picture>(&block);
      return picture && picture->name == name;
    });
    if (error.kind() == ErrorKind::bad_input) made_.warnings.push_back(name + ": " + error.problem().cause);
  }

  void leave_out_all(const Error& error) {
    std::erase_if(report_.document.blocks, [&](const document::Block& block) {
      const auto* picture = std::get_if<document::Picture>(&block);
      return picture && !svgs_.contains(picture->name);
    });
    const std::string why = "without figures: " + error.problem().subject + ": " + error.problem().cause;
    made_.warnings.push_back(error.problem().remedy.empty() ? why : why + "; " + error.problem().remedy);
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
      made_.warnings.emplace_back("no report.pdf: pdflatex not found in PATH (Debian: texlive-latex-base)");
      return;
    }
    constexpr auto longest = std::chrono::seconds(60);
    const std::string folder = fs::absolute(folder_).string();
    process::Spawn spawn;
    // -C of env: pdflatex looks for figures in its working folder. No command may be started from the text.
    spawn.argv = {"env",
                  "-C",
                  folder,
                  "pdflatex",
                  "-no-shell-escape",
                  "-halt-on-error",
                  "-interaction=nonstopmode",
                  "report.tex"};
    spawn.environment = {{"openout_any", "p"}, {"openin_any", "p"}};
    const auto said = process::capture(spawn, {}, longest);
    std::error_code none;
    for (const char* rest : {"report.aux", "report.out"})
      fs::remove(path(rest), none);
    if (said.exit.ok()) {
      fs::remove(path("report.log"), none);
      made_.files.push_back(path("report.pdf"));
      return;
    }
    const auto at = said.out.find("\n!");
    made_.warnings.push_back(fmt::format(
        "no report.pdf: pdflatex failed ({}); {}{}", process::describe(said.exit),
        at == said.out.npos ? "" : said.out.substr(at + 3, 120) + "; ", "see " + path("report.log")));
    fs::remove(path("report.pdf"), none);
  }

  Report report_;
  std::string folder_;
  const std::vector<Format>& formats_;
  std::map<std::string, std::string> svgs_;
  std::vector<std::string> figures_;
  Published made_;
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
  return Publisher(std::move(report), folder, formats).made();
}

} // namespace recount::report
