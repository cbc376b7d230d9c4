#include "result/observation.hpp"

namespace recount::result {

std::optional<double> as_double(const Number& number) {
  if (const auto* whole = std::get_if<std::int64_t>(&number)) return static_cast<double>(*whole);
  if (const auto* real = std::get_if<double>(&number)) return *real;
  return std::nullopt;
}

std::string describe(const Params& params) {
  std::string text;
  for (const auto& [name, value] : params) {
    if (!text.empty()) text += ' ';
    text += name + '=';
    if (const auto* whole = std::get_if<std::int64_t>(&value))
      text += std::to_string(*whole);
    else
      text += std::get<std::string>(value);
  }
  return text;
}

bool is_reading(const Observation& observation) {
  if (observation.kernel == "visit") return true;
  const auto rounds = observation.params.find("rounds");
  const auto* number =
      rounds == observation.params.end() ? nullptr : std::get_if<std::int64_t>(&rounds->second);
  return observation.kernel == "chase" && (!number || *number == 0);
}

} // namespace recount::result
