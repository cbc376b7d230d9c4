#include "plot/plot_format.hpp"

#include "base/nearest.hpp"

#include <recount/error.hpp>

#include <range/v3/range/conversion.hpp>
#include <range/v3/view/transform.hpp>

#include <algorithm>
#include <array>
#include <string_view>

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

/// The first row that fits; every format has one.
template <class Fits>
const Suffix* find_row(Fits fits) {
  const auto* const row = std::ranges::find_if(table, fits);
  return row == table.end() ? nullptr : row;
}
const Suffix& row_of(Format format) {
  return *find_row([&](const Suffix& row) { return row.format == format; });
}
const Suffix* row_with_suffix(std::string_view path) {
  return find_row([&](const Suffix& row) { return path.ends_with(row.suffix); });
}
} // namespace

Format parse_format(const std::string& name) {
  if (const auto* row = find_row([&](const Suffix& r) { return r.name == name; })) return row->format;
  throw bad_input(name, "no such figure format",
                  base::did_you_mean_or_all(name, table | ranges::views::transform([](const Suffix& row) {
                                                    return std::string(row.name);
                                                  }) | ranges::to<std::vector>()));
}

std::string name_of(Format format) {
  return std::string(row_of(format).name);
}

std::vector<Format> formats() {
  return table | ranges::views::transform(&Suffix::format) | ranges::to<std::vector>();
}

std::optional<Format> format_of(const std::string& path) {
  const auto* const row = row_with_suffix(path);
  return row ? std::optional(row->format) : std::nullopt;
}

std::string with_suffix(const std::string& path, Format format) {
  const auto* const row = row_with_suffix(path);
  const std::string stem = path.substr(0, path.size() - (row ? row->suffix.size() : 0));
  return stem + (format == Format::cairolatex ? "-latex.tex" : std::string(row_of(format).suffix));
}

} // namespace recount::plot
