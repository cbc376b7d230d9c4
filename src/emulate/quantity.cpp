#include "emulate/quantity.hpp"

#include <algorithm>
#include <sstream>
#include <stdexcept>

namespace recount::emulate {
namespace {

std::vector<std::string> fields_of(const std::string& name) {
  std::vector<std::string> fields;
  std::istringstream text(name);
  for (std::string field; std::getline(text, field, '_');)
    fields.push_back(field);
  return fields;
}

bool means(const std::string& field, const char* value) {
  return field == "any" || field == value;
}

} // namespace

void add(Work& to, const Work& what, double times) {
  for (std::size_t i = 0; i < all_quantities; ++i)
    to.of[i] += times * what.of[i];
}

std::vector<std::size_t> quantities_named(const std::string& name) {
  const auto plain = std::ranges::find(quantity_names, name);
  if (plain != std::end(quantity_names)) return {static_cast<std::size_t>(plain - quantity_names)};
  const auto fields = fields_of(name);
  if (fields.size() != 4 || fields[0] != "fp") return {};
  std::vector<std::size_t> found;
  std::size_t at = plain_quantities;
  for (const char* operation : fp_operations)
    for (const char* element : fp_elements)
      for (const char* width : fp_widths) {
        if (means(fields[1], operation) && means(fields[2], element) && means(fields[3], width))
          found.push_back(at);
        ++at;
      }
  return found;
}

std::size_t fp_quantity(const std::string& operation, const std::string& element, const std::string& width) {
  return quantities_named("fp_" + operation + "_" + element + "_" + width).at(0);
}

} // namespace recount::emulate
