// The name of a witness, parsed: one independent source of counts, as options and results files state it.
#pragma once

#include <fmt/format.h>

#include <compare>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace recount {

/// Ordered as the names are.
struct Witness {
  enum Kind { none, both, clock, model, papi, perf, published, rusage, other };
  Kind kind = none;
  /// model: the described machine with its options ("i7-9700~sample"); empty: the machine of its run.
  /// other: the name.
  std::string detail;

  Witness() = default;
  Witness(Kind which, std::string machine = {}) : kind(which), detail(std::move(machine)) {}
  Witness(std::string_view name); // parses
  Witness(const std::string& name) : Witness(std::string_view(name)) {}
  Witness(const char* name) : Witness(std::string_view(name)) {}

  [[nodiscard]] bool empty() const { return kind == none; }
  /// Whether its values are simulated, not measured.
  [[nodiscard]] bool modelled() const { return kind == model; }
  /// The machine that a model describes, with its options; nothing for a model of the machine of its run.
  [[nodiscard]] std::optional<std::string> described_machine() const {
    return modelled() && !detail.empty() ? std::optional(detail) : std::nullopt;
  }
  /// The machine of a model, as model::machine() takes it: "host" where it is the machine of its run.
  [[nodiscard]] std::string machine() const { return detail.empty() ? "host" : detail; }
  /// The model of the same machine with one more option, "sample": "model:i7-9700~sample".
  [[nodiscard]] Witness with(const std::string& option) const { return {model, machine() + '~' + option}; }
  /// As in results files: "perf", "model:i7-9700".
  [[nodiscard]] std::string name() const;

  auto operator<=>(const Witness&) const = default;
  friend std::ostream& operator<<(std::ostream& out, const Witness& witness) { return out << witness.name(); }
  template <class Json>
  friend void to_json(Json& json, const Witness& witness) {
    json = witness.name();
  }
};

/// The words of comma-separated lists, each once, as witnesses. Pure.
[[nodiscard]] std::vector<Witness> list_witnesses(const std::vector<std::string>& lists);

} // namespace recount

template <>
struct fmt::formatter<recount::Witness> : fmt::formatter<std::string> {
  template <class Context>
  auto format(const recount::Witness& witness, Context& context) const {
    return fmt::formatter<std::string>::format(witness.name(), context);
  }
};
