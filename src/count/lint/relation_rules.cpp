#include "base/text.hpp"
#include "count/lint/lint.hpp"
#include "count/lint/relatives_data.hpp"
#include "count/lint/sums_data.hpp"

#include <fmt/ranges.h>
#include <linux/perf_event.h>

#include <algorithm>
#include <span>

// Findings between the presets of one CPU: what should differ, what should add up.
namespace recount::lint {

using formula::Linear;
using formula::Quotient;

const std::vector<EventSum>& event_sums() {
  static const std::vector<EventSum> all = [] {
    std::vector<EventSum> found;
    for (const auto& [where, cells] : base::data_rows(sums_data, "sums.txt", '=')) {
      EventSum& sum = found.emplace_back(EventSum{std::string(cells.at(0)), {}});
      for (const auto part : base::split(cells.at(1), '+'))
        sum.parts.emplace_back(base::trim(part));
    }
    return found;
  }();
  return all;
}

bool is_part(std::string_view whole, std::string_view part) {
  return std::ranges::any_of(event_sums(), [&](const EventSum& sum) {
    return sum.whole == whole && std::ranges::find(sum.parts, part) != sum.parts.end();
  });
}

void expand_sums(const preset::CpuView& view, Linear& form) {
  const auto find = [&](const std::string& name) {
    return std::ranges::find_if(form.coefficients, [&](const auto& term) {
      return term.first >= 0 && view.names[static_cast<std::size_t>(term.first)] == name;
    });
  };
  for (const EventSum& sum : event_sums()) {
    const auto whole = find(sum.whole);
    if (whole == form.coefficients.end() || !std::ranges::all_of(sum.parts, [&](const auto& name) {
          return find(name) != form.coefficients.end();
        }))
      continue;
    const auto weight = whole->second;
    form.coefficients.erase(whole);
    for (const std::string& name : sum.parts) {
      const auto part = find(name);
      part->second += weight;
      if (part->second == 0) form.coefficients.erase(part);
    }
  }
}

namespace {

/// "PAPI_L1_DCM": level 1, D, CM; level 0 for what is no cache preset.
struct Cache {
  int level = 0;
  std::string kind;
};
Cache parse_cache(const std::string& name) {
  if (name.size() != 11 || name.compare(0, 6, "PAPI_L") != 0 || name[7] != '_') return {};
  return {name[6] - '0', name.substr(8)};
}

/// Whether two presets may well count the same: what misses one level is what reaches the next; an
/// instruction that loads is a read of the first level; and the identities of one preset on either side.
bool may_be_equal(const std::string& one, const std::string& other) {
  for (const preset::Identity& identity : preset::identities())
    if (!identity.at_most && identity.left.size() == 1 && identity.right.size() == 1 &&
        ((identity.left[0] == one && identity.right[0] == other) ||
         (identity.left[0] == other && identity.right[0] == one)))
      return true;
  static const std::set<std::set<std::string>> accesses{
      {"PAPI_L1_DCR", "PAPI_LD_INS"}, {"PAPI_L1_DCW", "PAPI_SR_INS"}, {"PAPI_L1_DCA", "PAPI_LST_INS"}};
  if (accesses.contains({one, other})) return true;
  Cache a = parse_cache(one);
  Cache b = parse_cache(other);
  if (a.level == 0 || b.level == 0 || a.level == b.level) return false;
  if (a.level > b.level) std::swap(a, b);
  const bool inner_miss = a.kind.ends_with("CM") || a.kind == "LDM" || a.kind == "STM";
  const bool outer_access = b.kind.ends_with("CA") || b.kind.ends_with("CR") || b.kind.ends_with("CW");
  const auto side = [](const Cache& cache) {
    return cache.kind == "LDM" || cache.kind == "STM" ? 'D' : cache.kind[0];
  };
  return b.level == a.level + 1 && inner_miss && outer_access &&
         (side(a) == side(b) || side(a) == 'T' || side(b) == 'T');
}

std::string text(const preset::CpuView& view, const Quotient& q) {
  const auto form = formula::linear(q);
  return form ? formula::to_text(*form, view.names) : "the same formula";
}

/// "A, B and C".
std::string listed(const std::vector<std::string>& words) {
  const auto most = std::span(words).first(words.size() - 1);
  return fmt::format("{}{}{}", fmt::join(most, ", "), most.empty() ? "" : " and ", words.back());
}

/// Whether the notes of a row say that it counts more than its name, as "Counts both divide and square root".
bool admits_more(const preset::CpuView& view, const std::string& name) {
  const Preset& preset = *view.loaded.find(name);
  for (const std::string* const note : {&preset.note, &preset.brief, &preset.text})
    for (const std::string_view word : {"both", "Also includes", "also includes", "also counts"})
      if (note->find(word) != std::string::npos) return true;
  return false;
}

} // namespace

void check_family(const preset::CpuView& view, Findings& findings) {
  std::map<std::pair<formula::Polynomial, formula::Polynomial>, std::vector<std::string>> groups;
  for (const auto& [name, q] : view.meanings)
    groups[{q.numerator, q.denominator}].push_back(name);
  for (const auto& [q, all] : groups) {
    std::vector<std::string> names;
    for (const std::string& name : all)
      if (std::ranges::any_of(all, [&](const std::string& other) {
            return other != name && !may_be_equal(name, other) && !admits_more(view, name) &&
                   !admits_more(view, other);
          }))
        names.push_back(name);
    if (names.empty()) continue;
    const std::string what = text(view, {q.first, q.second});
    const std::string message =
        fmt::format("{} are {} {}", listed(names), names.size() == 2 ? "both" : "all", what);
    for (const std::string& name : names)
      findings.add("same-formula", message, {view.loaded.find(name)->place, name, view.cpu}, message);
  }
}

namespace {

/// Cancels, within one event, what unit masks make equal: A:x + A:y against A:x:y. `parts` gives the event of
/// a variable, and the parts of its mask, which each count their own share; no parts: it is not compared.
template <class Parts>
void cancel_masks(Linear& form, const Parts& parts) {
  using Part = typename decltype(parts(0).second)::value_type;
  struct Group {
    std::set<Part> plus, minus;
    bool simple = true; ///< no part occurs twice on one side, no variable has a factor
    std::vector<formula::Variable> members;
  };
  std::map<decltype(parts(0).first), Group> groups;
  for (const auto& [v, c] : form.coefficients) {
    if (v < 0) continue;
    const auto [event, own] = parts(v);
    Group& g = groups[event];
    g.members.push_back(v);
    g.simple = g.simple && (c == 1 || c == -1) && !own.empty();
    for (const auto& part : own)
      g.simple = (c > 0 ? g.plus : g.minus).insert(part).second && g.simple;
  }
  for (const auto& [event, g] : groups)
    if (g.simple && g.plus == g.minus)
      for (const formula::Variable v : g.members)
        form.coefficients.erase(v);
}

/// By the bits of the unit masks, but for those that all masks of the event have.
void cancel_mask_bits(const preset::CpuView& view, Linear& form) {
  if (view.kind != preset::CpuKind::cisc) return;
  constexpr std::uint64_t field = 0xff00;
  using Event = std::pair<std::uint64_t, int>; ///< of what is not compared, a variable of its own
  std::map<Event, std::uint64_t> common;
  const auto event_of = [&](formula::Variable v) {
    const preset::Native& code = view.codes[static_cast<std::size_t>(v)];
    const bool raw = code.ok() && code.config1 == 0 && code.type == PERF_TYPE_RAW;
    return raw ? Event{code.config & ~field, -1} : Event{0, v};
  };
  for (const auto& [v, c] : form.coefficients)
    if (v >= 0)
      common.try_emplace(event_of(v), field).first->second &= view.codes[static_cast<std::size_t>(v)].config;
  cancel_masks(form, [&](formula::Variable v) {
    const Event event = event_of(v);
    std::vector<std::uint64_t> bits;
    const std::uint64_t mask = view.codes[static_cast<std::size_t>(v)].config & field & ~common.at(event);
    for (std::uint64_t bit = 0x100; event.second < 0 && bit < 0x10000; bit <<= 1)
      if ((mask & bit) != 0) bits.push_back(bit);
    return std::pair(event, bits);
  });
}

/// By the names of the unit masks, where their codes are not bits of one field: E:A + E:B against E:A:B.
void cancel_mask_names(const preset::CpuView& view, Linear& form) {
  cancel_masks(form, [&](formula::Variable v) {
    auto words = base::split(view.names[static_cast<std::size_t>(v)], ':');
    const std::string_view event = words.front();
    words.erase(words.begin());
    return std::pair(event, words);
  });
}

} // namespace

void reduce(const preset::CpuView& view, Linear& form) {
  cancel_mask_bits(view, form);
  cancel_mask_names(view, form);
  expand_sums(view, form);
}

namespace {

/// The two halves of right - left: what the left side has beyond the right one, and the other way round.
std::pair<std::string, std::string> halves(const preset::CpuView& view, const Linear& difference) {
  Linear left;
  Linear right;
  for (const auto& [v, c] : difference.coefficients)
    (c < 0 ? left : right).coefficients[v] = c < 0 ? -c : c;
  (difference.constant < 0 ? left : right).constant =
      difference.constant < 0 ? -difference.constant : difference.constant;
  return {formula::to_text(left, view.names), formula::to_text(right, view.names)};
}

/// Whether the total has all events of all its parts but one, and none of that part: "TCM = A + B" where
/// "ICM = B" and "DCM = C".
bool one_part(const preset::CpuView& view, const preset::Identity& identity, const Linear& difference) {
  if (identity.right.size() < 2) return false;
  std::size_t inside = 0, outside = 0;
  for (const std::string& part : identity.right) {
    const auto form = formula::linear(view.meanings.at(part));
    if (!form) return false;
    std::size_t left = 0;
    for (const auto& [v, weight] : form->coefficients)
      left += difference.coefficients.count(v);
    if (left == 0) ++inside;
    if (left == form->coefficients.size()) ++outside;
  }
  return outside == 1 && inside + 1 == identity.right.size();
}

void relation(const preset::CpuView& view, const preset::Identity& identity, Findings& findings) {
  const auto left = view.sum(identity.left);
  const auto right = view.sum(identity.right);
  if (!left || !right || formula::equal(*left, *right).value_or(true)) return;
  const auto a = formula::linear(*left);
  const auto b = formula::linear(*right);
  if (!a || !b) return;
  Linear difference = formula::difference(*b, *a);
  reduce(view, difference);
  if (difference.coefficients.empty() && difference.constant == 0) return;
  auto [more, less] = halves(view, difference);
  if (identity.at_most && less != "0") return; // no event decides it
  const bool one_sided = more == "0" || less == "0";
  if (less < more) std::swap(less, more);
  // The same condition is the same cause, on any CPU and for any relation that it decides.
  const std::string condition = fmt::format("{} = {}", less, more);
  const bool unrelated =
      identity.right.size() > 1 && std::ranges::none_of(a->coefficients, [&](const auto& term) {
        return b->coefficients.contains(term.first);
      });
  const std::string_view rule = identity.at_most                                    ? "impossible"
                                : one_sided                                         ? "identity"
                                : unrelated || one_part(view, identity, difference) ? "other-sources"
                                                                                    : "identity-note";
  for (const auto* side : {&identity.left, &identity.right})
    for (const std::string& preset : *side) {
      Finding& f = findings.add(rule, condition,
                                {view.loaded.find(preset)->place, preset, view.cpu, identity.text}, {});
      if (std::ranges::find(f.relations, identity.text) != f.relations.end()) continue;
      f.relations.push_back(identity.text);
      const bool many = f.relations.size() > 1;
      f.message = fmt::format("{} {} only if {}", listed(f.relations), many ? "hold" : "holds", condition);
      if (!many) f.message += fmt::format(" ({})", identity.why);
    }
}

} // namespace

void check_identities(const preset::CpuView& view, const std::vector<preset::Identity>& identities,
                      Findings& findings) {
  for (const preset::Identity& identity : identities)
    if (identity.applies_to(view.kind)) relation(view, identity, findings);
}

// Outliers: a preset whose formula differs from that of related CPUs, whose events exist here too.
namespace {

/// Least number of other rows of relatives for a usual formula.
constexpr std::size_t min_rows = 3;

/// A row, as one family's CPUs that have it define a preset.
struct RelativeRow {
  const preset::CpuView* view = nullptr; ///< the first of them
  const Preset* preset = nullptr;
  std::vector<const preset::CpuView*> views;
  Linear form;
};

/// A formula over encodings: equal for equal counts, under whatever names.
using CodedSum =
    std::map<std::tuple<std::uint32_t, std::uint64_t, std::uint64_t, std::uint64_t>, std::int64_t>;

/// No value when an event does not exist on `view`.
std::optional<CodedSum> coded(const RelativeRow& row, const preset::CpuView& view) {
  CodedSum sum;
  for (const auto& [v, weight] : row.form.coefficients) {
    if (v < 0) return std::nullopt;
    const preset::Native& code = view.natives->of(row.view->names[static_cast<std::size_t>(v)]);
    const preset::Native& other = row.view->codes[static_cast<std::size_t>(v)];
    // A name without unit masks may be two events: only one of the CPUs may have masks, with a default.
    const bool masked = row.view->names[static_cast<std::size_t>(v)].find(':') != std::string::npos;
    if (!code.ok() || !other.ok() || (!masked && code.config != other.config)) return std::nullopt;
    sum[{code.type, code.config, code.config1, code.config2}] += weight;
  }
  return sum;
}

/// The number of added and of subtracted events. A total may also be the sum of its parts: formulas of
/// different shapes are not compared.
std::pair<std::size_t, std::size_t> shape(const Linear& form) {
  std::pair<std::size_t, std::size_t> count;
  for (const auto& [v, weight] : form.coefficients)
    ++(weight > 0 ? count.first : count.second);
  return count;
}

std::vector<RelativeRow> list_rows(const std::string& preset,
                                   const std::vector<const preset::CpuView*>& members) {
  std::vector<RelativeRow> rows;
  for (const preset::CpuView* const view : members) {
    const Preset* const found = view->loaded.find(preset);
    const auto means = view->meanings.find(preset);
    if (!found || means == view->meanings.end()) continue;
    const auto form = formula::linear(means->second);
    if (!form || form->constant != 0) continue;
    const auto same = std::ranges::find_if(
        rows, [&](const RelativeRow& row) { return row.preset->place.line == found->place.line; });
    if (same != rows.end())
      same->views.push_back(view);
    else
      rows.push_back({view, found, {view}, *form});
  }
  return rows;
}

/// Whether `part` lacks events of `whole` and has all its own events there, with the same weights.
bool is_partial(const CodedSum& part, const CodedSum& whole) {
  return part.size() < whole.size() && std::ranges::all_of(part, [&](const auto& term) {
           const auto at = whole.find(term.first);
           return at != whole.end() && at->second == term.second;
         });
}

/// A formula that relatives have, and the rows with it.
using FormulaGroup = std::pair<const CodedSum, std::vector<const RelativeRow*>>;

/// Whether the own events are the better choice: retired instructions instead of speculative ones, the
/// precise count of instructions, or events of the cache that the preset names.
bool better(const RelativeRow& own, const RelativeRow& usual) {
  const auto all_have = [](const RelativeRow& row, std::string_view word) {
    return std::ranges::all_of(row.form.coefficients, [&](const auto& term) {
      return row.view->names[static_cast<std::size_t>(term.first)].find(word) != std::string::npos;
    });
  };
  const auto only_own = [&](std::string_view word) { return all_have(own, word) && !all_have(usual, word); };
  const bool instructions = own.preset->name == "PAPI_L1_ICM";
  return only_own("RETIRED") || only_own("PREC_DIST") ||
         (instructions && (only_own("ICACHE") || only_own("L1I")));
}

/// Whether the row of data/relatives.txt that begins with this word has the CPU.
bool has_property(std::string_view word, const std::string& cpu) {
  static const auto rows = base::data_rows(relatives_data, "relatives.txt", ' ');
  return std::ranges::any_of(rows, [&](const base::DataRow& row) {
    return row.cells.front() == word &&
           std::ranges::find(row.cells, base::lower_case(cpu)) != row.cells.end();
  });
}

/// The formula of most relatives has all events of this row, and more: a part may be missing.
void missing_part(const std::map<CodedSum, std::vector<const RelativeRow*>>& others, const CodedSum& sum,
                  std::size_t comparable, const RelativeRow& own, const preset::CpuView& view,
                  Findings& findings) {
  constexpr std::size_t least = 2;
  const auto usual =
      std::ranges::max_element(others, {}, [](const FormulaGroup& group) { return group.second.size(); });
  if (usual == others.end() || usual->second.size() < least || 2 * usual->second.size() <= comparable ||
      !is_partial(sum, usual->first))
    return;
  const RelativeRow& one = *usual->second.front();
  const std::string other_formula = formula::to_text(one.form, one.view->names);
  findings.add("missing-part", own.preset->name + other_formula,
               {own.preset->place, own.preset->name, view.cpu, "relatives"},
               fmt::format("{} = {}, but {} on {}, whose events exist here too", own.preset->name,
                           formula::to_text(own.form, own.view->names), other_formula, one.view->cpu));
}

void compare_rows(const std::vector<RelativeRow>& rows, const RelativeRow& own, const preset::CpuView& view,
                  Findings& findings) {
  const auto sum = coded(own, view);
  if (!sum) return;
  std::map<CodedSum, std::vector<const RelativeRow*>> others, all;
  std::size_t comparable = 0;
  for (const RelativeRow& row : rows) {
    if (&row == &own) continue;
    const auto other_sum = coded(row, view);
    if (!other_sum) continue;
    if (*other_sum == *sum) return;
    ++comparable;
    all[*other_sum].push_back(&row);
    if (shape(row.form) == shape(own.form)) others[*other_sum].push_back(&row);
  }
  missing_part(all, *sum, comparable, own, view, findings);
  if (has_property("own", view.cpu)) return; // its own choice of events is no outlier
  const auto usual =
      std::ranges::max_element(others, {}, [](const auto& group) { return group.second.size(); });
  if (usual == others.end() || usual->second.size() < min_rows || 2 * usual->second.size() <= comparable)
    return;
  const RelativeRow& one = *usual->second.front();
  if (better(own, one)) return;
  const std::string other_formula = formula::to_text(one.form, one.view->names);
  const std::string formula = formula::to_text(own.form, own.view->names);
  const std::string& preset = own.preset->name;
  const std::string codes = sum->size() == 1 && usual->first.size() == 1
                                ? fmt::format(" (codes {:#x} and {:#x})", std::get<1>(sum->begin()->first),
                                              std::get<1>(usual->first.begin()->first))
                                : std::string();
  std::vector<std::string> cpus;
  for (const RelativeRow* const row : usual->second)
    cpus.push_back(row->view->cpu);
  findings.add(
      "outlier", preset + formula + other_formula, {own.preset->place, preset, view.cpu},
      fmt::format("{} = {}, but {} on {}{}", preset, formula, other_formula, fmt::join(cpus, ", "), codes));
}

} // namespace

const std::vector<std::vector<std::string>>& families() {
  static const auto all = [] {
    std::vector<std::vector<std::string>> found;
    for (const auto& row : base::data_rows(relatives_data, "relatives.txt", ' '))
      if (row.cells.front() != "own" && row.cells.front() != "never")
        found.emplace_back(row.cells.begin(), row.cells.end());
    return found;
  }();
  return all;
}

bool never_loaded(const std::string& cpu) {
  return has_property("never", cpu);
}

void check_relatives(const std::vector<preset::CpuView>& views, Findings& findings) {
  for (const auto& family : families()) {
    std::vector<const preset::CpuView*> members;
    std::set<std::string> presets;
    for (const std::string& cpu : family)
      for (const preset::CpuView& view : views) {
        if (!view.natives || !preset::same_word(view.cpu, cpu)) continue;
        members.push_back(&view);
        for (const auto& [name, meaning] : view.meanings)
          presets.insert(name);
      }
    for (const std::string& preset : presets) {
      const auto rows = list_rows(preset, members);
      for (const RelativeRow& row : rows)
        for (const preset::CpuView* const view : row.views)
          compare_rows(rows, row, *view, findings);
    }
  }
}

} // namespace recount::lint
