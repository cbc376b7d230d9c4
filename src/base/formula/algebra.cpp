#include "base/formula/algebra.hpp"

namespace recount::formula {
namespace {

// Far beyond any preset: they bound the time that a hostile formula takes.
constexpr std::size_t max_monomials = 512;
constexpr std::size_t max_products = 4096;
constexpr int highest_power = 1000;
constexpr std::int64_t largest = INT64_MAX / 4; // a difference of two stays in range

bool add_to(Polynomial& sum, const Monomial& m, std::int64_t c) {
  const auto at = sum.try_emplace(m, 0).first;
  if (__builtin_add_overflow(at->second, c, &at->second)) return false;
  if (at->second == 0) sum.erase(at);
  return sum.size() <= max_monomials;
}

Monomial product(const Monomial& a, const Monomial& b) {
  std::map<Variable, int> powers(a.begin(), a.end());
  for (const auto& [v, power] : b)
    powers[v] += power;
  return {powers.begin(), powers.end()};
}

using Maybe = std::optional<Polynomial>;

Maybe sum(const Maybe& a, const Maybe& b, int sign) {
  if (!a || !b) return {};
  Polynomial out = *a;
  for (const auto& [m, c] : *b)
    if (c == INT64_MIN || !add_to(out, m, sign * c)) return {};
  return out;
}

Maybe product(const Maybe& a, const Maybe& b) {
  if (!a || !b || a->size() * b->size() > max_products) return {};
  Polynomial out;
  for (const auto& [ma, ca] : *a)
    for (const auto& [mb, cb] : *b) {
      std::int64_t c = 0;
      const Monomial m = product(ma, mb);
      for (const auto& [v, power] : m)
        if (power > highest_power) return {};
      if (__builtin_mul_overflow(ca, cb, &c) || !add_to(out, m, c)) return {};
    }
  return out;
}

std::optional<Quotient> quotient(Maybe numerator, Maybe denominator) {
  if (!numerator || !denominator || denominator->empty()) return {};
  return Quotient{std::move(*numerator), std::move(*denominator)};
}

} // namespace

Quotient variable(Variable v) {
  return {{{{{v, 1}}, 1}}, {{{}, 1}}};
}

Quotient number(std::int64_t n) {
  Quotient q{{}, {{{}, 1}}};
  if (n != 0) q.numerator[{}] = n;
  return q;
}

std::optional<Quotient> combine(const Quotient& a, const Quotient& b, Op op) {
  const int sign = op == Op::sub ? -1 : 1;
  if (op == Op::mul)
    return quotient(product(a.numerator, b.numerator), product(a.denominator, b.denominator));
  if (op == Op::div)
    return quotient(product(a.numerator, b.denominator), product(a.denominator, b.numerator));
  if (a.denominator == b.denominator) return quotient(sum(a.numerator, b.numerator, sign), a.denominator);
  return quotient(sum(product(a.numerator, b.denominator), product(b.numerator, a.denominator), sign),
                  product(a.denominator, b.denominator));
}

std::optional<Quotient> meaning(const Rpn& rpn, std::span<const Quotient> operands) {
  const auto operand = [&](const Step& step) -> std::optional<Quotient> {
    if (step.op == Op::number) return number(step.value);
    if (step.op == Op::clock) return variable(clock_variable);
    const auto index = static_cast<std::size_t>(step.value); // a negative one is beyond all
    return index < operands.size() ? std::optional(operands[index]) : std::nullopt;
  };
  return fold<Quotient>(rpn, operand, combine);
}

std::optional<Linear> linear(const Quotient& q) {
  if (q.denominator.size() != 1 || !q.denominator.begin()->first.empty()) return {};
  const std::int64_t divisor = q.denominator.begin()->second;
  Linear form;
  for (const auto& [m, c] : q.numerator) {
    if (c > largest || c < -largest || c % divisor != 0) return {};
    if (m.empty())
      form.constant = c / divisor;
    else if (m.size() == 1 && m.front().second == 1)
      form.coefficients[m.front().first] = c / divisor;
    else
      return {};
  }
  return form;
}

std::optional<bool> equal(const Quotient& a, const Quotient& b) {
  const Maybe left = product(a.numerator, b.denominator);
  const Maybe right = product(b.numerator, a.denominator);
  if (!left || !right) return {};
  return *left == *right;
}

Linear difference(const Linear& a, const Linear& b) {
  Linear out = a;
  for (const auto& [v, c] : b.coefficients) {
    out.coefficients[v] -= c;
    if (out.coefficients[v] == 0) out.coefficients.erase(v);
  }
  out.constant -= b.constant;
  return out;
}

std::string to_text(const Linear& form, const std::vector<std::string>& names) {
  std::string text;
  const auto add = [&](std::int64_t factor, const std::string& name) {
    text += text.empty() ? (factor < 0 ? "-" : "") : factor < 0 ? " - " : " + ";
    const auto size =
        factor < 0 ? 0 - static_cast<std::uint64_t>(factor) : static_cast<std::uint64_t>(factor);
    text += name.empty() ? std::to_string(size) : size == 1 ? name : std::to_string(size) + "*" + name;
  };
  for (const bool positive : {true, false}) // a sum that starts with a minus is hard to read
    for (const auto& [v, factor] : form.coefficients)
      if ((factor > 0) == positive) add(factor, v < 0 ? "max_hz" : names.at(static_cast<std::size_t>(v)));
  if (form.constant != 0) add(form.constant, {});
  return text.empty() ? "0" : text;
}

} // namespace recount::formula
