// The axes of a panel: which scale suits what it shows.
#include "plot/panel_look.hpp"

#include "plot/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace recount::plot {
namespace {

struct Range {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  void take(double v) {
    low = std::min(low, v);
    high = std::max(high, v);
  }
};

/// Times over more than this factor are on a logarithmic axis: a step from 1 to 4 ns would vanish below
/// 100.
constexpr double most_on_linear = 8;
/// Over more than this factor, on one of decades: 1048576 ns says less than 1e6.
constexpr double most_on_powers_of_2 = 1e4;

/// Of the tics that are asked for, those that keep clear of the one before.
Axis linear_x_axis(const Panel& panel, Range x, double length, const Canvas& canvas) {
  for (const auto& span : panel.spans) {
    x.take(span.begin);
    x.take(span.end);
  }
  if (panel.x_tics.empty()) return linear_axis(x.low, x.high, std::max(2, static_cast<int>(length / 32)));
  Axis axis{x.low, x.high > x.low ? x.high : x.low + 1, false, {}};
  double right = -1e9;
  for (const auto& tic : panel.x_tics) {
    const double half = canvas.wide(tic.label) / 2, centre = axis.place(tic.x) * length;
    if (centre - half < right + 5 || centre + half > length + 8) continue;
    right = centre + half;
    axis.tics.push_back({tic.x, tic.label});
  }
  return axis;
}

} // namespace

Axis y_axis(const Panel& panel, const Box& plot, const Canvas& canvas) {
  Range middle, band;
  for (const auto& series : panel.series) {
    for (const auto& s : series.samples) {
      if (std::isnan(s.y)) continue;
      middle.take(s.y);
      band.take(s.high);
    }
  }
  const bool wide = panel.y_is_time && middle.high > most_on_linear * middle.low;
  if (middle.low > 0 && wide && middle.high > most_on_powers_of_2 * middle.low)
    return decades_axis(middle.low / 1.3, middle.high * 1.3);
  if (middle.low > 0 && (wide || panel.y_halves))
    return log2_axis(
        middle.low / 1.25, middle.high * 1.25, plot.height(), canvas.tall() / 2,
        [](double v) { return fmt::format("{:.7g}", v); }, [&](const std::string&) { return canvas.tall(); });
  if (panel.y_decades && middle.low > 0 && middle.high > most_on_linear * middle.low)
    return decades_axis(middle.low / 1.3, middle.high * 1.3);
  // One wild repetition must not flatten all curves: the band may leave the picture, the medians not.
  double high = std::max(middle.high, std::min(band.high, 1.25 * middle.high)) * 1.06;
  double low = std::min(0.0, middle.low);
  if (panel.y_is_share) {
    high = std::max(high, 1.03);
    low = std::min(low, -0.03); // a curve at 0 does not overlap the axis
  }
  const int wanted = panel.x_along == Panel::Along::linear
                         ? std::max(4, static_cast<int>(plot.height() / 12))
                         : std::max(2, static_cast<int>(plot.height() / 18));
  return linear_axis(low, high, wanted);
}

Axis x_axis(const Panel& panel, double length, const Canvas& canvas) {
  Range x;
  for (const auto& series : panel.series) {
    for (const auto& s : series.samples)
      x.take(s.x);
  }
  if (panel.x_along == Panel::Along::linear) return linear_x_axis(panel, {x.low, x.high}, length, canvas);
  if (panel.x_along == Panel::Along::names) {
    Axis axis{0.5, static_cast<double>(panel.x_names.size()) + 0.5, false, {}};
    for (std::size_t i = 0; i < panel.x_names.size(); ++i)
      axis.tics.push_back({static_cast<double>(i + 1), panel.x_names[i]});
    return axis;
  }
  if (panel.x_along == Panel::Along::number) return decades_axis(x.low, x.high);
  if (panel.x_along == Panel::Along::settings) {
    std::vector<double> values;
    for (const auto& series : panel.series)
      for (const auto& s : series.samples)
        values.push_back(s.x);
    return settings_axis(values, length, canvas.cells ? 8 : 5,
                         [&](const std::string& t) { return canvas.wide(t); });
  }
  // The axis ends a little outside the data, so that no marker sits on the border.
  const double margin = std::pow(std::max(x.high / x.low, 2.0), 0.02);
  return log2_axis(
      x.low / margin, x.high * margin, length, canvas.cells ? 8 : 7,
      [](double v) { return base::format_bytes(v); }, [&](const std::string& t) { return canvas.wide(t); });
}

} // namespace recount::plot
