#include "plot/plot_format.hpp"

#include "base/nearest.hpp"

#include <recount/error.hpp>

#include <array>
#include <string_view>
#include <utility>

namespace recount::plot {
namespace {
struct Suffix {
  Format format;
  std::string_view name, suffix;
};
constexpr std::array<Suffix, 6> table{{{Format::pdf, "pdf", ".pdf"},
                                       {Format::svg, "svg", ".svg"},
                                       {Format::png, "png", ".png"},
                                       {Format::tikz, "tikz", ".tikz"},
                                       {Format::cairolatex, "cairolatex", ".tex"},
                                       {Format::dumb, "dumb", ".txt"}}};

std::string stem_of(const std::string& path) {
  for (const auto& row : table) {
    if (path.ends_with(row.suffix)) return path.substr(0, path.size() - row.suffix.size());
  }
  return path;
}
} // namespace

Format parse_format(const std::string& name) {
  std::vector<std::string> known;
  for (const auto& row : table) {
    if (row.name == name) return row.format;
    known.emplace_back(row.name);
  }
  throw bad_input(name, "no such figure format", base::did_you_mean_or_all(name, known));
}

std::string name_of(Format format) {
  for (const auto& row : table) {
    if (row.format == format) return std::string(row.name);
  }
  return {};
}

const std::vector<Format>& formats() {
  static const std::vector<Format> all = [] {
    std::vector<Format> list;
    for (const auto& row : table)
      list.push_back(row.format);
    return list;
  }();
  return all;
}

std::optional<Format> format_of(const std::string& path) {
  for (const auto& row : table) {
    if (path.ends_with(row.suffix)) return row.format;
  }
  return {};
}

std::string with_suffix(const std::string& path, Format format) {
  if (format == Format::cairolatex) return stem_of(path) + "-latex.tex";
  for (const auto& row : table) {
    if (row.format == format) return stem_of(path) + std::string(row.suffix);
  }
  return path;
}

} // namespace recount::plot
