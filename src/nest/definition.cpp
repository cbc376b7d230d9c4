#include "nest/definition.hpp"

#include "recount/error.hpp"

#include <fmt/format.h>

#include <array>

namespace recount::nest {
namespace {

struct TypeRow {
  const char* name;
  std::int64_t bytes;
};
/// In the order of Type.
constexpr std::array type_rows{TypeRow{"f64", 8}, TypeRow{"f32", 4}, TypeRow{"i64", 8},
                               TypeRow{"i32", 4}, TypeRow{"i16", 2}, TypeRow{"i8", 1}};

} // namespace

const char* name(Type type) {
  return type_rows[static_cast<std::size_t>(type)].name;
}

std::int64_t bytes(Type type) {
  return type_rows[static_cast<std::size_t>(type)].bytes;
}

std::optional<Type> parse_type(std::string_view name) {
  for (std::size_t i = 0; i < type_rows.size(); ++i)
    if (name == type_rows[i].name) return static_cast<Type>(i);
  return {};
}

void refuse(const std::string& file, Spot at, const std::string& cause, const std::string& remedy) {
  throw bad_input(fmt::format("{}:{}:{}", file, at.line, at.column), cause, remedy);
}

} // namespace recount::nest
