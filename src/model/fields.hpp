// Reading a JSON object field by field, with errors that name the file and the field.
#pragma once

#include "recount/error.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace recount::model {

/// One object of a description. Every field read becomes known; done() refuses the others.
class Fields {
public:
  Fields(const nlohmann::json& value, std::string file, std::string path);

  [[nodiscard]] std::string text(const std::string& name, const std::string& fallback);
  [[nodiscard]] std::string text(const std::string& name); ///< must be there
  /// Bytes: an integer, or text with K, M or G (powers of 1024). Must be there without a fallback.
  [[nodiscard]] std::int64_t bytes(const std::string& name, std::optional<std::int64_t> fallback = {});
  [[nodiscard]] std::int64_t count(const std::string& name, std::optional<std::int64_t> fallback = {});
  [[nodiscard]] bool flag(const std::string& name, bool fallback);
  [[nodiscard]] std::optional<double> number(const std::string& name);
  /// The position of the field's text in `words`; 0 when the field is not there.
  [[nodiscard]] std::size_t choice(const std::string& name, const std::vector<std::string>& words);
  /// The field itself, null when it is not there.
  [[nodiscard]] const nlohmann::json& any(const std::string& name);
  /// Its elements; must be there and hold at least one.
  [[nodiscard]] const nlohmann::json& list(const std::string& name);

  void done() const; ///< throws for a field never read
  [[nodiscard]] std::string path(const std::string& name) const;
  [[nodiscard]] Error error(const std::string& name, const std::string& cause,
                            const std::string& remedy = {}) const;

private:
  [[nodiscard]] const nlohmann::json& needed(const std::string& name);

  const nlohmann::json& value_;
  std::string file_, path_;
  std::vector<std::string> known_;
};

} // namespace recount::model
