#include "sweep/condition.hpp"
#include "base/nearest.hpp"
#include "sweep/range.hpp"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <recount/error.hpp>

namespace recount::sweep {
namespace {

__extension__ using Wide = __int128; // products of two 64-bit numbers

/// A side's value times the other side's divisor: fractions are compared by multiplying them out.
Wide value(const Term& term, const Term& other, const result::Params& point) {
  Wide v = term.name.empty() ? term.factor : std::get<std::int64_t>(point.at(term.name));
  if (!term.name.empty() && !term.divided) v *= term.factor;
  return other.divided ? v * other.factor : v;
}

Term parse_term(const kernel::Kernel& kernel, const std::string& text, const std::string& subject) {
  if (!text.empty() && std::isdigit(static_cast<unsigned char>(text[0])))
    return {{}, parse_size(text, subject), false};
  const std::size_t at = text.find_first_of("/*");
  Term term{text.substr(0, at), 1, at != text.npos && text[at] == '/'};
  if (at != text.npos) term.factor = parse_size(text.substr(at + 1), subject);
  if (term.factor < 1) throw bad_input(subject, "the factor must be at least 1");
  std::vector<std::string> names;
  for (const auto& p : kernel.parameters()) {
    if (p.unit == kernel::Parameter::Unit::choice || p.unit == kernel::Parameter::Unit::text) continue;
    if (p.name == term.name) return term;
    names.push_back(p.name);
  }
  throw bad_input(subject,
                  fmt::format("\"{:.40}\" is not a numeric parameter of kernel {}", term.name, kernel.name()),
                  base::did_you_mean(term.name, names));
}

} // namespace

bool Condition::holds(const result::Params& point) const {
  const Wide a = value(left, right, point), b = value(right, left, point);
  if (op == "<=") return a <= b;
  if (op == "<") return a < b;
  if (op == ">=") return a >= b;
  if (op == ">") return a > b;
  return (op == "=") == (a == b);
}

Condition parse_condition(const kernel::Kernel& kernel, const std::string& text) {
  Condition condition;
  std::copy_if(text.begin(), text.end(), std::back_inserter(condition.text),
               [](unsigned char c) { return !std::isspace(c); });
  const std::string& all = condition.text;
  const std::string subject = "--where " + all.substr(0, 80);
  for (const char* op : {"<=", ">=", "!=", "<", ">", "="}) {
    const std::size_t at = all.find(op);
    if (at == all.npos) continue;
    condition.op = op;
    condition.left = parse_term(kernel, all.substr(0, at), subject);
    condition.right = parse_term(kernel, all.substr(at + condition.op.size()), subject);
    return condition;
  }
  throw bad_input(subject, "is not a condition", "write a condition such as stride<=size/2 or n>=1K");
}

} // namespace recount::sweep
