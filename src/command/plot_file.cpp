#include "command/plot_file.hpp"

#include "command/print.hpp"

#include <fmt/format.h>
#include <recount/error.hpp>

namespace recount::cli {

void check_plot(const std::string& path, Dash dash) {
  if (path.empty()) return;
  const bool text = path == "-" && dash == Dash::text;
  const auto format = text ? figure::Format::dumb : figure::format_of(path);
  if (!format)
    throw bad_input("--plot " + path, "unknown figure format",
                    std::string("use the suffix .pdf, .svg, .png, .tikz, .tex or .txt") +
                        (dash == Dash::text ? "; or - for the terminal" : ""));
  figure::check_drawable(*format);
}

void tell_drawn(const std::string& figure, const figure::Drawn& drawn) {
  for (const auto& text : drawn.warnings)
    cli::print(stderr, "recount: warning: {}\n", text);
  for (const auto& file : drawn.files)
    cli::print(stderr, "{}: {}\n", figure, file);
}

void draw_to(const std::string& path, const figure::Sheet& sheet) {
  figure::Options options;
  options.targets = {{*figure::format_of(path), path}};
  tell_drawn(sheet.name, figure::draw(sheet, options));
}

} // namespace recount::cli
