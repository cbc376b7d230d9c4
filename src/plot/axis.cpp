#include "plot/axis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace recount::plot {

double Axis::place(double value) const {
  if (log2) return (std::log2(value) - std::log2(low)) / (std::log2(high) - std::log2(low));
  return (value - low) / (high - low);
}

Axis linear_axis(double low, double high, int wanted) {
  if (!(high > low)) high = low + 1;
  const double rough = (high - low) / wanted;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double nice : {1.0, 2.0, 5.0}) {
    if (nice * power >= rough * 0.999) {
      step = nice * power;
      break;
    }
  }
  Axis axis{low, high, false, {}};
  const int decimals = std::clamp(static_cast<int>(-std::floor(std::log10(step) + 1e-9)), 0, 12);
  for (auto i = static_cast<long>(std::ceil(low / step - 1e-9));
       static_cast<double>(i) * step <= high * (1 + 1e-9); ++i)
    axis.tics.push_back(
        {static_cast<double>(i) * step, fmt::format("{:.{}f}", static_cast<double>(i) * step, decimals)});
  return axis;
}

Axis decades_axis(double low, double high) {
  if (!(high > low)) high = low * 10;
  Axis axis{low, high, true, {}};
  const bool few = high / low < 200;
  for (int power = static_cast<int>(std::floor(std::log10(low))); power <= std::log10(high); ++power)
    for (const double step : {1.0, 2.0, 5.0}) {
      const double at = step * std::pow(10.0, power);
      if (at < low || at > high || (step > 1 && !few)) continue;
      std::string text = fmt::format("{:g}", at);
      if (const auto plus = text.find("e+0"); plus != text.npos) text.replace(plus, 3, "e"); // 1e6
      axis.tics.push_back({at, std::move(text)});
    }
  return axis;
}

Axis settings_axis(std::vector<double> values, double length, double gap,
                   const std::function<double(const std::string&)>& wide) {
  constexpr double most_on_linear = 3;
  std::ranges::sort(values);
  const double least = values.front(), most = values.back();
  Axis axis{least, most, most > most_on_linear * least && least > 0, {}};
  if (axis.log2) {
    axis.low = least / std::pow(most / least, 0.03);
    axis.high = most * std::pow(most / least, 0.03);
  } else {
    const double margin = most > least ? 0.03 * (most - least) : 0.5;
    axis.low -= margin;
    axis.high += margin;
  }
  // The ends first, then what fits between them.
  std::vector<double> order{least, most};
  order.insert(order.end(), values.rbegin(), values.rend());
  for (const double at : order) {
    const std::string text = fmt::format("{:g}", at);
    const bool fits = std::ranges::all_of(axis.tics, [&](const Tic& other) {
      return std::abs(axis.place(at) - axis.place(other.at)) * length >=
             (wide(text) + wide(other.text)) / 2 + gap;
    });
    if (fits) axis.tics.push_back({at, text});
  }
  std::ranges::sort(axis.tics, {}, &Tic::at);
  return axis;
}

Axis log2_axis(double low, double high, double length, double gap,
               const std::function<std::string(double)>& name,
               const std::function<double(const std::string&)>& wide) {
  Axis axis{low, high, true, {}};
  if (!(high > low)) {
    axis.low = low / 2;
    axis.high = low * 2;
  }
  const int first = static_cast<int>(std::ceil(std::log2(axis.low) - 1e-9));
  const int last = static_cast<int>(std::floor(std::log2(axis.high) + 1e-9));
  for (int every = 1;; ++every) {
    axis.tics.clear();
    double right = -1e9; // where the text before ends
    bool fits = true;
    // Even powers of the step, so that 4 KiB, 64 KiB, 1 MiB come back in every figure.
    for (int p = first; p <= last; ++p) {
      if (((p % every) + every) % every != 0) continue;
      const double at = std::exp2(p);
      const std::string text = name(at);
      const double centre = axis.place(at) * length, half = wide(text) / 2;
      fits = fits && centre - half >= right + gap;
      right = centre + half;
      axis.tics.push_back({at, text});
    }
    if (fits || every > last - first) break;
  }
  return axis;
}

} // namespace recount::plot
