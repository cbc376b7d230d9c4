#include "base/formula/expression.hpp"
#include "base/names.hpp"
#include "base/text.hpp"
#include "count/lint/lint.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>

// Findings about formulas: parse errors, unusual evaluation order, implausible results.
namespace recount::lint {
namespace {

using Kind = preset::DiagnosticKind;
using formula::Linear;
using formula::Quotient;

/// One preset on one CPU, with what each check needs.
class Checker {
public:
  Checker(const preset::CpuView& view, const Preset& preset, const preset::Document& table,
          Findings& findings)
      : view_(view),
        preset_(preset),
        line_(preset::line_at(table, preset.place)),
        findings_(findings),
        variables_(view.variables(preset)) {}

  void run() {
    if (preset_.half_read || !preset_.undefined.empty() || !line_) return;
    if (!has_value()) return;
    if (has_nested()) return nested();
    unused();
    order();
    const auto means = view_.meanings.find(preset_.name);
    if (means == view_.meanings.end()) return;
    if (preset_.natives.size() == 1 && (preset_.type == Derived::add || preset_.type == Derived::sub))
      add("one-term", fmt::format("{} is {} with one term", preset_.name, name_of(preset_.type)),
          "NOT_DERIVED, or add the missing term");
    if (const auto form = formula::linear(means->second)) {
      twice(*form);
      part_and_whole(*form);
      always_zero(*form);
      negative(*form);
    }
    const auto& divisor = means->second.denominator;
    if (is_preset(preset_.name) && !is_count(means->second))
      add("impossible", fmt::format("{} is a ratio, a product, a rate or a number, no count", preset_.name));
    else if (divisor.size() != 1 || !divisor.begin()->first.empty())
      add("can-divide-by-zero", fmt::format("{} divides by a count", preset_.name));
  }

private:
  void add(std::string_view rule, std::string message, std::string suggestion = {}) {
    findings_.add_here(rule, {preset_.place, preset_.name, view_.cpu}, std::move(message),
                       std::move(suggestion));
  }
  bool has_nested() const {
    return std::ranges::any_of(view_.diagnostics, [&](const preset::Diagnostic& d) {
      return (d.kind == Kind::nested || d.kind == Kind::nested_unknown) && d.place.line == preset_.place.line;
    });
  }
  const std::string& name(formula::Variable v) const { return view_.names[static_cast<std::size_t>(v)]; }
  const preset::Native& code(formula::Variable v) const { return view_.codes[static_cast<std::size_t>(v)]; }
  std::string written() const { return preset_.written.empty() ? preset_.postfix : preset_.written; }

  /// Each term of a count has one factor more above the line than below; with the clock it is a rate.
  static bool is_count(const Quotient& means) {
    const auto degree = [](const formula::Monomial& factors) {
      int sum = 0;
      for (const auto& [v, power] : factors)
        sum += v == formula::clock_variable ? 2 * power : power;
      return sum;
    };
    return std::ranges::all_of(means.numerator, [&](const auto& above) {
      return std::ranges::all_of(means.denominator, [&](const auto& below) {
        return degree(above.first) == degree(below.first) + 1;
      });
    });
  }
  /// False when no read can give a value.
  bool has_value() {
    const std::vector<long long> ones(preset_.natives.size(), 1);
    const PresetValue value = evaluate(preset_, ones, 1000, view_.version);
    if (value.ending == PresetValue::Ending::dies)
      add("formula-dies", fmt::format("{}: {} ({})", preset_.name, written(), value.why));
    else if (value.ending == PresetValue::Ending::undefined)
      add("missing-term", fmt::format("{}: {} {}", preset_.name, written(), value.why));
    else if (value.unreadable)
      add("formula-cut", fmt::format("{}: PAPI parses only a part of {}", preset_.name, written()),
          written().find(' ') != std::string::npos ? "remove the blanks" : "");
    return value.ending == PresetValue::Ending::value && !value.unreadable;
  }
  void unused() {
    const std::size_t terms = preset_.natives.size();
    std::size_t used = terms;
    if (preset_.type == Derived::none) used = 1;
    if (preset_.type == Derived::ps) used = 2;
    const auto rpn = formula::parse_rpn(preset_.type == Derived::postfix ? preset_.postfix : "");
    for (std::size_t i = 0; i < terms; ++i) {
      const bool in_formula = std::ranges::any_of(rpn.steps, [&](const formula::Step& step) {
        return step.op == formula::Op::native && step.value == static_cast<int>(i);
      });
      if (preset_.type == Derived::postfix ? !in_formula : i >= used)
        add("unused-term",
            fmt::format("{} does not use its term N{}, {}", preset_.name, i, preset_.natives[i].name));
    }
  }
  /// INFIX: whether the usual left-associativity gives another value.
  void order() {
    if (line_->fields.size() < 4 || derived_named(line_->fields[2].text) != Derived::infix) return;
    const std::string left = formula::infix_to_postfix_left(preset_.written);
    const auto usual =
        formula::meaning(formula::parse_rpn(left), base::mapped(variables_, formula::variable));
    const auto means = view_.meanings.find(preset_.name);
    if (!usual || means == view_.meanings.end() || formula::equal(*usual, means->second).value_or(true))
      return;
    std::vector<std::string> names;
    for (std::size_t i = 0; i < variables_.size(); ++i)
      names.push_back("N" + std::to_string(i));
    add("infix-order",
        fmt::format("{}: PAPI computes {} as {}", preset_.name, preset_.written,
                    formula::to_infix(formula::parse_rpn(preset_.postfix), names)),
        "DERIVED_POSTFIX," + left);
  }
  /// The same count with a weight of two and more, in a formula that has no numbers to say so.
  void twice(const Linear& form) {
    const auto rpn = formula::parse_rpn(preset_.type == Derived::postfix ? preset_.postfix : "");
    if (std::ranges::any_of(rpn.steps, [](const formula::Step& s) { return s.op == formula::Op::number; }))
      return;
    for (const auto& [v, c] : form.coefficients)
      if ((c > 1 && !weighted(v)) || c < -1)
        add("same-term-twice", fmt::format("{} {} {} {} times", preset_.name, c > 0 ? "adds" : "subtracts",
                                           spellings(v), c > 0 ? c : -c));
    for (std::size_t i = 0; i < variables_.size(); ++i)
      for (std::size_t k = i + 1; k < variables_.size(); ++k)
        if (variables_[i] == variables_[k] && !form.coefficients.contains(variables_[i]))
          add("same-term-twice",
              fmt::format("{} adds and subtracts {}", preset_.name, spellings(variables_[i])));
  }
  std::vector<std::string> list_names(formula::Variable v) const {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < variables_.size(); ++i)
      if (variables_[i] == v && std::ranges::find(names, preset_.natives[i].name) == names.end())
        names.push_back(preset_.natives[i].name);
    return names;
  }
  /// An event of two operations, added twice on purpose: the same name twice in a count of operations.
  bool weighted(formula::Variable v) const {
    return list_names(v).size() == 1 && preset_.name.ends_with("_OPS");
  }
  /// "A", or "A, also named B (one event, 0xc224),".
  std::string spellings(formula::Variable v) const {
    const auto names = list_names(v);
    if (names.size() == 1) return names.front();
    return fmt::format("{} (one event, {:#x}),", fmt::join(names, ", also named "), code(v).config);
  }
  /// "E:ALL_BRANCHES" or "E:ANY" for "E:X": the masks of some PMUs are codes of their own, not bits of a
  /// field.
  bool includes_by_name(formula::Variable whole, formula::Variable part) const {
    const std::string& a = name(whole);
    const std::string& b = name(part);
    const std::size_t mask = a.find(':') + 1;
    if (mask == 0 || a.compare(0, mask, b, 0, mask) != 0) return false;
    const std::string_view all = std::string_view(a).substr(mask);
    return all == "ALL" || all == "ANY" || all == "ALL_BRANCHES";
  }
  /// A unit mask that includes the other's: its count cannot be the smaller one.
  bool includes(formula::Variable whole, formula::Variable part) const {
    const preset::Native& a = code(whole);
    const preset::Native& b = code(part);
    constexpr std::uint64_t mask = 0xff00;
    return view_.kind == preset::CpuKind::cisc && a.ok() && b.ok() && a.type == b.type &&
           (a.config & ~mask) == (b.config & ~mask) && (a.config & b.config & mask) == (b.config & mask);
  }
  /// A unit mask that counts all of the other's and more.
  bool exceeds(formula::Variable whole, formula::Variable part) const {
    const std::uint64_t own = code(whole).config & 0xff00, other = code(part).config & 0xff00;
    return other != 0 && own != other && includes(whole, part);
  }
  /// A whole less all its parts.
  void always_zero(Linear form) {
    if (form.coefficients.empty()) return;
    const std::string text = formula::to_text(form, view_.names);
    expand_sums(view_, form);
    if (form.coefficients.empty() && form.constant == 0)
      findings_.add("impossible", preset_.name + text, {preset_.place, preset_.name, view_.cpu},
                    fmt::format("{} = {}, which is 0 for any code", preset_.name, text));
  }
  void part_and_whole(const Linear& form) {
    for (const auto& [whole, weight] : form.coefficients)
      for (const auto& [part, other] : form.coefficients) {
        if (whole < 0 || part < 0 || whole == part || weight < 0 || other < 0) continue;
        const std::string& a = name(whole);
        const std::string& b = name(part);
        if (!exceeds(whole, part) && !includes_by_name(whole, part) && !is_part(a, b)) continue;
        findings_.add("part-and-whole", preset_.name + a + "+" + b,
                      {preset_.place, preset_.name, view_.cpu,
                       view_.written(preset_, whole) + "+" + view_.written(preset_, part)},
                      fmt::format("{} adds {} and its part {}", preset_.name, a, b));
      }
  }
  void negative(const Linear& form) {
    for (const auto& [v, c] : form.coefficients) {
      if (c > 0 || v < 0) continue;
      if (std::ranges::any_of(form.coefficients, [&](const auto& other) {
            return other.second > 0 && other.first >= 0 &&
                   (includes(other.first, v) || includes_by_name(other.first, v) ||
                    is_part(name(other.first), name(v)));
          }))
        continue;
      const std::string text = formula::to_text(form, view_.names);
      findings_.add("can-go-negative", preset_.name + text, {preset_.place, preset_.name, view_.cpu},
                    fmt::format("{} = {}", preset_.name, text));
      return;
    }
  }
  /// A nested preset: the formula of the row compared with the one that PAPI builds.
  void nested() {
    if (view_.version == PapiVersion::v7_3)
      add("nested-name",
          fmt::format("{} cannot be added by name: PAPI 7.3 looks up its terms as native events",
                      preset_.name),
          "use the native events instead");
    const auto type = derived_named(line_->fields[2].text);
    if (!type) return;
    const auto operands = base::mapped(preset::row_terms(*line_, *type),
                                       [&](const std::string& term) { return operand(term); });
    const std::string formula =
        *type == Derived::infix ? formula::infix_to_postfix(preset_.written).postfix : preset_.written;
    const auto meant = preset::meaning(*type, formula, operands);
    const auto known = view_.meanings.find(preset_.name);
    if (!meant) return;
    if (known != view_.meanings.end() && formula::equal(*meant, known->second).value_or(true)) return;
    add("nested-wrong",
        fmt::format("{}: PAPI {} does not compute the formula of the row over its nested presets",
                    preset_.name, view_.version == PapiVersion::v7_0 ? "7.0" : "7.3"),
        "use the native events instead");
  }
  Quotient operand(const std::string& term) const {
    if (const Preset* inner = view_.loaded.find(term)) {
      const auto at = view_.meanings.find(inner->name);
      if (at != view_.meanings.end()) return at->second;
    }
    for (const Preset& preset : view_.loaded.presets)
      for (std::size_t k = 0; k < preset.natives.size(); ++k)
        if (preset.natives[k].name == term) return formula::variable(view_.variables(preset)[k]);
    return formula::variable(static_cast<formula::Variable>(view_.names.size())); // PAPI dropped the term
  }

  const preset::CpuView& view_;
  const Preset& preset_;
  const preset::Line* line_;
  Findings& findings_;
  std::vector<formula::Variable> variables_;
};

} // namespace

void check_formulas(const preset::CpuView& view, const preset::Document& table, Findings& findings) {
  for (const Preset& preset : view.loaded.presets)
    Checker(view, preset, table, findings).run();
}

} // namespace recount::lint
