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

} // namespace recount::result
