#include "base/format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace recount::analysis {

std::string show_number(double value) {
  if (value == 0) return "0";
  const int digits = static_cast<int>(std::floor(std::log10(std::abs(value))));
  return fmt::format("{:.{}f}", value, std::clamp(3 - digits, 0, 9));
}

std::string show_millions(double value) {
  const double millions = value / 1e6;
  if (millions == 0) return "0";
  if (std::abs(millions) < 0.001) return fmt::format("{:.2g}", millions);
  const int digits = static_cast<int>(std::floor(std::log10(std::abs(millions))));
  return fmt::format("{:.{}f}", millions, std::clamp(3 - digits, 0, 3));
}

std::string show_share(double share) {
  return fmt::format("{:.2f} %", 100 * share);
}

std::string show_points(double difference) {
  return fmt::format("{:+.2f}", 100 * difference);
}

std::string show_times(double factor) {
  return fmt::format("{:.{}f} times", factor, factor < 10 ? 2 : 1);
}

std::string show_seconds(double seconds) {
  return show_number(seconds);
}

std::string show_bytes(double bytes) {
  constexpr std::array units{"B", "KiB", "MiB", "GiB"};
  std::size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < units.size()) {
    bytes /= 1024;
    ++unit;
  }
  return fmt::format("{:.4g} {}", bytes, units[unit]);
}

std::string show_witness(const std::string& witness) {
  if (witness == "model") return "modelled";
  if (witness.starts_with("model:")) return "modelled (" + witness.substr(6) + ")";
  if (witness == "clock") return "by the clock";
  if (witness == "published") return "published";
  return "counted by " + witness;
}

} // namespace recount::analysis
