#include "cli/plot_file.hpp"

#include "figure/figure.hpp"

#include <fmt/format.h>
#include <recount/error.hpp>

namespace recount::cli {

void check_plot(const std::string& path) {
  if (!figure::format_of(path))
    throw bad_input("--plot " + path, "no format is known by this suffix",
                    "end it in .pdf, .svg, .png, .tikz, .tex or .txt");
}

void draw_to(const std::string& path, const std::string& figure, const result::Results& results) {
  figure::Options options;
  options.targets = {{*figure::format_of(path), path}};
  const auto drawn = figure::draw(figure, results, options);
  for (const auto& text : drawn.warnings)
    fmt::print(stderr, "recount: warning: {}\n", text);
  for (const auto& file : drawn.files)
    fmt::print(stderr, "{}: {}\n", figure, file);
}

} // namespace recount::cli
