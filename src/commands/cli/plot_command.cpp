#include "base/format.hpp"
#include "base/output_file.hpp"
#include "base/text.hpp"
#include "base/witness.hpp"
#include "commands/cli/commands.hpp"
#include "run/result/results_file.hpp"
#include "show/command/measuring.hpp"
#include "show/command/output.hpp"
#include "show/command/print.hpp"
#include "show/plot/sheet.hpp"

#include <fmt/ranges.h>
#include <recount/error.hpp>

#include <cerrno>
#include <cstdio>

// recount plot: figures from results files.
namespace recount::cli {
namespace {

struct Settings {
  std::vector<std::string> files, metrics, witnesses, formats;
  std::string figure, output, width, script, statistic, caption_file;
  bool list = false, no_caption = false;
};

double parse_width(const std::string& text) {
  const auto inches = base::parse<double>(text);
  if (!(inches >= 2 && inches <= 20)) // neither does an absent one
    throw bad_input("--width " + text, "must be a number of inches between 2 and 20",
                    "--width 3.33 (one column of a paper) or --width 7 (its full width)");
  return *inches;
}

/// The files that -o and --format ask for together.
std::vector<plot::Target> targets(const Settings& s) {
  const auto named = plot::format_by_suffix(s.output);
  auto formats = base::mapped(base::list_words(s.formats), plot::parse_format);
  if (s.output.empty()) return {};
  if (formats.empty()) {
    if (!named)
      throw bad_input("-o " + s.output, "unknown figure format",
                      "use the suffix .pdf, .svg, .png, .tikz, .tex or .txt, or add --format");
    return {{*named, s.output}};
  }
  if (formats.size() == 1) return {{formats[0], s.output}};
  if (s.output == "-")
    throw bad_input("-o -", fmt::format("one format at a time (--format = {})", s.formats),
                    "recount plot FILE -o - --format " + plot::name_of(formats[0]));
  return base::mapped(formats, [&](plot::Format format) {
    return plot::Target{format, format == named ? s.output : plot::with_suffix(s.output, format)};
  });
}

void list_figures() {
  for (const auto& [entry, compose, suits] : figures())
    command::print("{:<20}{}\n{:<20}{}\n", entry.name, command::wrap(entry.prose, command::line_width(), 20),
                   "", command::wrap("needs " + entry.needs, command::line_width(), 20));
}

void warn(const std::vector<std::string>& warnings) {
  for (const auto& text : warnings)
    command::note("recount plot: warning: {}\n", text);
}

int execute_plot(const Settings& s) {
  if (s.list) {
    list_figures();
    return 0;
  }
  if (s.files.empty())
    throw bad_input("plot", "no results file given", "recount plot FILE, or recount plot --list");
  plot::Options options;
  if (!s.width.empty()) options.width = parse_width(s.width);
  if (!s.script.empty()) options.script = s.script;
  options.targets = targets(s);
  for (const auto& target : options.targets)
    base::check_writable("-o", target.path, base::Output::replaced);
  base::check_writable("--script", s.script, base::Output::replaced);
  base::check_writable("--caption-file", s.caption_file, base::Output::replaced);
  const auto statistic = command::parse_statistic(s.statistic);
  auto results = result::read(s.files);
  results.statistic = statistic;
  warn(results.warnings);
  std::vector<std::string> unmatched;
  const auto choice =
      plot::resolve({base::list_words(s.metrics), list_witnesses(s.witnesses)}, results, unmatched);
  warn(unmatched);
  const auto& figure =
      s.figure.empty() ? plot::suitable(figures(), results, choice) : plot::find(figures(), s.figure);
  auto sheet = figure.compose(results, choice);
  if (!s.caption_file.empty() &&
      !base::write_file(s.caption_file, command::one_line(plot::caption_text(figure.entry, sheet)) + "\n"))
    throw base::cannot_write(s.caption_file, errno);
  if (s.no_caption) sheet.caption.clear();
  const bool text = options.targets.empty() && s.script.empty();
  if (text) {
    if (!s.formats.empty() && base::list_words(s.formats) != std::vector<std::string>{"dumb"})
      throw bad_input("--format", "no output file given", "add -o FILE");
    command::draw_to("-", sheet);
    return 0;
  }
  const auto drawn = plot::draw(sheet, options);
  warn(drawn.warnings);
  for (const auto& file : drawn.files)
    command::print(stderr, "{}: {}\n", sheet.name, file);
  return 0;
}
} // namespace

command::Command plot_command() {
  return command::make_command<Settings>(
      "plot", "draw figures from results",
      [](command::Options& options, Settings& s) {
        options.words("FILE", s.files, "results files, merged")
            .text("--figure", s.figure, "NAME",
                  "draw this figure (default: the first that suits the results)")
            .text("-o,--output", s.output, "FILE", "write the figure to FILE (default: text on the terminal)")
            .list(
                "--format", s.formats, "LIST",
                "write these formats: pdf, svg, png, tikz, cairolatex, dumb (default: by the suffix of FILE)")
            .text("--width", s.width, "INCHES", "width of the figure, from 2 to 20 (default 3.33)")
            .text("--caption-file", s.caption_file, "FILE",
                  "write the whole caption to FILE, as plain text (default: one short line in the figure)")
            .flag("--no-caption", s.no_caption, "draw axes and curves only")
            .text("--script", s.script, "FILE", "also write a gnuplot script that contains the data")
            .list("--metric", s.metrics, "LIST",
                  "draw only these presets, events, seconds or tsc_cycles (default: all)")
            .list("--witness", s.witnesses, "LIST", "draw only values of these witnesses (default: all)")
            .text("--statistic", s.statistic, "NAME", command::statistic_help)
            .flag("--list", s.list, "list the figures with the results that each needs, and exit");
      },
      execute_plot);
}

} // namespace recount::cli
