#include "command/plot_file.hpp"

#include "command/print.hpp"

#include <fmt/format.h>
#include <recount/error.hpp>

namespace recount::command {

void check_plot(const std::string& path, Dash dash) {
  if (path.empty()) return;
  const bool text = path == "-" && dash == Dash::text;
  const auto format = text ? plot::Format::dumb : plot::format_of(path);
  if (!format)
    throw bad_input("--plot " + path, "unknown figure format",
                    std::string("use the suffix .pdf, .svg, .png, .tikz, .tex or .txt") +
                        (dash == Dash::text ? "; or - for the terminal" : ""));
  plot::check_drawable(*format);
}

void tell_drawn(const std::string& figure, const plot::Drawn& drawn) {
  for (const auto& text : drawn.warnings)
    command::note("recount: warning: {}\n", text);
  for (const auto& file : drawn.files)
    command::print(stderr, "{}: {}\n", figure, file);
}

void draw_to(const std::string& path, const plot::Sheet& sheet) {
  plot::Options options;
  options.targets = {{*plot::format_of(path), path}};
  tell_drawn(sheet.name, plot::draw(sheet, options));
}

} // namespace recount::command
