#include "show/command/measuring.hpp"

#include "base/format.hpp"
#include "base/host/pmu.hpp"
#include "base/names.hpp"
#include "base/output_file.hpp"
#include "base/process/signals.hpp"
#include "base/text.hpp"
#include "kernel/command_line.hpp"
#include "show/command/output.hpp"
#include "show/command/print.hpp"
#include "show/command/terminal.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <random>

namespace recount::command {
std::uint64_t parse_seed(const std::string& text) {
  if (text.empty()) return std::random_device{}();
  if (const auto seed = base::parse<std::uint64_t>(text)) return *seed;
  throw bad_input("--seed " + text, fmt::format("is not a whole number from 0 to {}", ~std::uint64_t{0}));
}

std::string without_text(const std::map<std::string, Reason>& left_out) {
  const auto without_pmu =
      std::ranges::find_if(left_out, [](const auto& one) { return one.second.code == ReasonCode::no_pmu; });
  std::map<std::string, std::vector<std::string>> reasons;
  for (const auto& [what, why] : left_out)
    reasons[brief(without_pmu != left_out.end() && is_preset(why.cause) ? without_pmu->second : why)]
        .push_back(what);
  std::string text;
  for (const auto& [why, what] : reasons)
    text += fmt::format("{}{}: {}", text.empty() ? "without " : "; ", fmt::join(what, ", "), why);
  return text;
}

void require_repeatable(const std::string& command, const process::Input& input,
                        const std::vector<std::string>& program) {
  if (!input.once().empty())
    throw bad_input(
        "standard input",
        fmt::format("is {}: of several runs of the program, only the first could read it", input.once()),
        "--input FILE (--input /dev/null for a program that reads nothing)");
  for (const std::string& word : process::fifos_among(program))
    note("recount {}: warning: {} is a FIFO: of several runs of the program, only the first can read what it "
         "holds\n",
         command, base::printable(word));
}

namespace {

void check_standard_output(const Outputs& o) {
  std::vector<std::string> takers;
  if (o.json) takers.emplace_back("--json");
  if (o.plot == "-" && o.plot_on_terminal) takers.emplace_back("--plot -");
  if (o.results == "-") takers.emplace_back("-o -");
  if (takers.size() > 1)
    throw bad_input("standard output", fmt::format("requested by both {}", fmt::join(takers, " and ")),
                    "write all but one of them to a file");
}

void check_plot(const Outputs& o) {
  if (o.plot.empty()) return;
  const auto format =
      o.plot == "-" && o.plot_on_terminal ? plot::Format::dumb : plot::format_by_suffix(o.plot);
  if (!format)
    throw bad_input("--plot " + o.plot, "unknown figure format",
                    std::string("use the suffix .pdf, .svg, .png, .tikz, .tex or .txt") +
                        (o.plot_on_terminal ? "; or - for the terminal" : ""));
  plot::check_drawable(*format);
}

/// In lines that a shell joins again.
std::string command_lines(const std::vector<std::string>& words, std::size_t columns) {
  std::string text = " ";
  std::size_t used = 1;
  for (const auto& word : words) {
    const std::string one = kernel::quoted({word});
    if (used + width(one) + 3 > columns && used > 1) { // a blank before, " \\" behind
      text += " \\\n     ";
      used = 5;
    }
    text += " " + one;
    used += 1 + width(one);
  }
  return text;
}

} // namespace

void check_outputs(const Outputs& o) {
  if (o.resume && (o.results.empty() || o.results == "-"))
    throw bad_input("--resume", "there is no file to resume", "add -o FILE, the file to resume");
  check_standard_output(o);
  auto files = o.files;
  files.emplace_back("-o", o.results);
  files.emplace_back("--plot", o.plot);
  std::vector<std::filesystem::path> seen;
  for (const auto& [option, path] : files) {
    if (path.empty() || path == "-") continue;
    using base::Output;
    base::check_writable(option, path, option == "--plot" ? Output::replaced : Output::appended);
    std::error_code error;
    auto place = std::filesystem::weakly_canonical(std::filesystem::absolute(path, error), error);
    if (std::filesystem::is_character_file(place, error)) continue; // /dev/null takes everything
    if (std::ranges::find(seen, place) != seen.end())
      throw bad_input(option + " " + path, "another option writes to this file", "name another file");
    seen.push_back(std::move(place));
  }
  check_plot(o);
}

void print_resume_command(const std::string& command, const std::string& file, std::vector<std::string> words,
                          bool measured) {
  if (!measured || file.empty() || file == "-") return;
  const auto program = std::ranges::find(words, "--"); // its options are its own
  if (std::find(words.begin(), program, "--resume") == program) words.emplace(program, "--resume");
  command::note("recount {}: the results so far are in {}; resume with\n{}\n", command, file,
                command_lines(words, std::min(line_width(stderr), max_of_prose)));
}

void draw_to(const std::string& path, const plot::Sheet& sheet) {
  if (path == "-") return command::print("{}", own_controls(plot::draw_text(sheet, terminal_size())));
  plot::Options options;
  options.targets = {{*plot::format_by_suffix(path), path}};
  const plot::Drawn drawn = plot::draw(sheet, options);
  for (const auto& text : drawn.warnings)
    command::note("recount: warning: {}\n", text);
  for (const auto& file : drawn.files)
    command::print(stderr, "{}: {}\n", sheet.name, file);
}

} // namespace recount::command
