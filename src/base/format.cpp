#include "base/format.hpp"

#include "base/witness.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace recount::base {

std::string format_number(double value) {
  if (value == 0) return "0";
  const int digits = static_cast<int>(std::floor(std::log10(std::abs(value))));
  return fmt::format("{:.{}f}", value, std::clamp(3 - digits, 0, 9));
}

std::string format_millions(double value) {
  const double millions = value / 1e6;
  if (millions == 0) return "0";
  if (std::abs(millions) < 0.001) return fmt::format("{:.2g}", millions);
  const int digits = static_cast<int>(std::floor(std::log10(std::abs(millions))));
  return fmt::format("{:.{}f}", millions, std::clamp(3 - digits, 0, 3));
}

std::string format_share(double share) {
  return fmt::format("{:.2f} %", 100 * share);
}

std::string format_points(double difference) {
  const std::string text = fmt::format("{:+.2f}", 100 * difference);
  return text == "-0.00" || text == "+0.00" ? "0.00" : text;
}

std::string format_times(double factor) {
  return fmt::format("{:.{}f} times", factor, factor < 10 ? 2 : 1);
}

std::string format_seconds(double seconds) {
  return format_number(seconds);
}

std::string format_bytes(double bytes, bool compact) {
  constexpr std::array prefixes{"", "K", "M", "G", "T"};
  std::size_t power = 0;
  while (bytes >= 1024 && power + 1 < prefixes.size()) {
    bytes /= 1024;
    ++power;
  }
  const char* const unit = compact ? "" : power > 0 ? "iB" : "B";
  return fmt::format("{:.4g}{}{}{}", bytes, compact ? "" : " ", prefixes.at(power), unit);
}

std::string format_size(std::int64_t bytes) {
  const char* unit = "";
  for (const char* larger : {"K", "M", "G"}) {
    if (bytes % 1024 != 0) break;
    bytes /= 1024;
    unit = larger;
  }
  return fmt::format("{}{}", bytes, unit);
}

std::string format_witness(const Witness& witness) {
  if (const auto machine = witness.described_machine()) return "modelled (" + *machine + ")";
  switch (witness.kind) {
  case Witness::model: return "modelled";
  case Witness::clock: return "by the clock";
  case Witness::published: return "published";
  default: return "counted by " + witness.name();
  }
}

} // namespace recount::base
