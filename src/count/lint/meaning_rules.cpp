#include "base/format.hpp"
#include "base/names.hpp"
#include "base/text.hpp"
#include "count/lint/lint.hpp"
#include "count/lint/meaning_data.hpp"
#include "count/lint/weights_data.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>

// Findings about what an event counts, by its name and description: the rules are data, in data/meaning.txt.
namespace recount::lint {
namespace {

using Words = std::vector<std::string>;

struct MeaningRule {
  std::string rule;
  std::map<std::string, Words, std::less<>> lists; ///< by keyword; a switch is an empty list

  [[nodiscard]] bool has(const char* keyword) const { return lists.contains(keyword); }
  [[nodiscard]] const Words& list(const char* keyword) const { return base::value_at(lists, keyword); }
};

std::vector<MeaningRule> parse_meaning(std::string_view text) {
  std::vector<MeaningRule> found;
  for (const auto& [where, cells] : base::data_rows(text, "meaning.txt", ' ')) {
    if (cells[0] == "rule")
      found.emplace_back().rule = cells.at(1);
    else
      found.back().lists[std::string(cells[0])] = Words(cells.begin() + 1, cells.end());
  }
  return found;
}

const std::vector<MeaningRule>& meaning_rules() {
  static const std::vector<MeaningRule> rules = parse_meaning(meaning_data);
  return rules;
}

/// The runs of letters and digits, in capitals.
Words split_words(std::string_view text) {
  Words words(1);
  for (const char c : text) {
    const bool small = c >= 'a' && c <= 'z';
    if (small || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'))
      words.back() += small ? static_cast<char>(c - 'a' + 'A') : c;
    else if (!words.back().empty())
      words.emplace_back();
  }
  return words;
}

bool has_one(const Words& words, const Words& patterns) {
  return std::ranges::any_of(patterns, [&](const std::string& pattern) {
    const bool open = pattern.ends_with('*');
    const std::string_view stem = std::string_view(pattern).substr(0, pattern.size() - (open ? 1 : 0));
    return std::ranges::any_of(
        words, [&](const std::string& word) { return open ? word.starts_with(stem) : word == stem; });
  });
}

/// Whether one of these events is among those of the CPU; where they are not known, among those of the table.
bool exists(const preset::CpuView& view, const Words& events) {
  return std::ranges::any_of(events, [&](const std::string& event) {
    return view.natives ? view.natives->of(event).ok()
                        : std::ranges::find(view.names, event) != view.names.end();
  });
}

bool matches_one(const Words& patterns, std::string_view text) {
  return std::ranges::any_of(patterns, [&](const std::string& pattern) {
    return base::Pattern(pattern).matches(std::string(text));
  });
}

bool applies(const MeaningRule& rule, const preset::CpuView& view, const std::string& preset) {
  if (!matches_one(rule.list("presets"), preset) || matches_one(rule.list("except"), preset)) return false;
  return !rule.has("cpu") || std::ranges::find(rule.list("cpu"), view.cpu) != rule.list("cpu").end();
}

/// The words of the name and of the description of each event of a CPU.
using EventWords = std::vector<std::pair<Words, Words>>;

/// Whether words in a row are one of the phrases, such as "ANY_THREAD".
bool has_phrase(const Words& words, const Words& phrases) {
  std::string text(1, '_');
  for (const std::string& word : words)
    text += word + '_';
  return std::ranges::any_of(phrases, [&](const std::string& phrase) {
    return text.find(phrase.ends_with('*') ? '_' + phrase.substr(0, phrase.size() - 1)
                                           : '_' + phrase + '_') != text.npos;
  });
}

bool violates(const MeaningRule& rule, const Words& name, const Words& prose) {
  if (!has_one(name, rule.list("name")) || has_one(name, rule.list("lacks"))) return false;
  std::size_t last = name.size() - 1; // of the event and its unit masks: "e=1" is a modifier
  while (last > 0 &&
         (name[last].size() < 2 || name[last].find_first_not_of("0123456789") == std::string::npos))
    --last;
  if (rule.has("last") && !has_one({name[last]}, rule.list("last"))) return false;
  if (rule.has("called") && !has_phrase(name, rule.list("called"))) return false;
  if (rule.has("says") && !has_phrase(prose, rule.list("says"))) return false;
  if (has_phrase(prose, rule.list("silent"))) return false;
  constexpr std::size_t beginning = 6;
  if (rule.has("begins") &&
      !has_one(Words(prose.begin(),
                     prose.begin() + static_cast<std::ptrdiff_t>(std::min(beginning, prose.size()))),
               rule.list("begins")))
    return false;
  const Words& unsaid = rule.list("unsaid");
  return unsaid.empty() || (prose != Words(1) && !has_one(name, unsaid) && !has_one(prose, unsaid));
}

/// The events of a formula that violate a rule.
std::vector<std::size_t> violations(const MeaningRule& rule, const formula::Linear& form,
                                    const EventWords& events) {
  std::vector<std::size_t> found;
  std::size_t added = 0;
  bool accompanied = !rule.has("beside");
  for (const auto& [v, weight] : form.coefficients) {
    if (v < 0) continue;
    if (rule.has("whole") && weight < 0) return {};
    const auto at = static_cast<std::size_t>(v);
    if (weight > 0) ++added;
    if ((weight < 0) != rule.has("subtracted")) continue;
    if (violates(rule, events[at].first, events[at].second))
      found.push_back(at);
    else
      accompanied = accompanied || has_one(events[at].first, rule.list("beside"));
  }
  if (rule.has("single") && added > 1) return {};
  return accompanied && (!rule.has("each") || found.size() == added) ? found : std::vector<std::size_t>{};
}

/// "Each count represents 4 computations", as Intel describes its events of packed operations: 4.
std::optional<int> described_operations(std::string_view prose) {
  for (const std::string_view phrase : {"represents ", "multiply by ", "multiplied by "})
    if (const auto at = prose.rfind(phrase); at != prose.npos) { // the unit mask's own text is the last
      const std::string_view rest = prose.substr(at + phrase.size());
      const auto digits = rest.substr(0, rest.find_first_not_of("0123456789"));
      if (rest.substr(digits.size()).starts_with(" or")) return {}; // of precisions that one mask adds
      if (!digits.empty() && digits.size() < 3) return base::parse<int>(digits);
    }
  return {};
}

/// The operations per count that data/weights.txt states.
std::optional<int> stated_operations(const std::string& cpu, const std::string& event) {
  static const auto rows = base::data_rows(weights_data, "weights.txt");
  for (const auto& [where, cells] : rows)
    if (const auto cpus = base::words(cells.at(0)); std::ranges::find(cpus, cpu) != cpus.end())
      if (base::Pattern(std::string(cells.at(1))).matches(event)) return base::parse<int>(cells.at(2));
  return {};
}

/// Whether modifiers of an event, such as k=1 or u=0, restrict it to the kernel.
bool kernel_only(const std::string& name) {
  bool user = false, kernel = false, no_user = false;
  for (const std::string_view part : base::split(std::string_view(name), ':')) {
    user = user || part == "u" || part == "u=1";
    no_user = no_user || part == "u=0";
    kernel = kernel || part == "k" || part == "k=1" || part == "h=1";
  }
  return no_user || (kernel && !user);
}

void check_domain(const preset::CpuView& view, const Preset& preset, Findings& findings) {
  for (const PresetNative& native : preset.natives)
    if (kernel_only(native.name))
      findings.add("kernel-only", preset.name + native.name,
                   {preset.place, preset.name, view.cpu, native.name},
                   fmt::format("{} counts {} in the kernel only", preset.name, native.name),
                   "leave out the modifiers u, k and h");
}

/// Events of the other core type of a hybrid CPU, whose names PAPI finds, too: by themselves up to 7.2, and
/// with the name of their PMU.
void check_core_type(const preset::CpuView& view, const Preset& preset, Findings& findings) {
  if (!view.natives) return;
  for (const PresetNative& native : preset.natives) {
    const std::string& pmu = view.natives->of(native.name).pmu;
    if (pmu.empty() || pmu == view.core->name || pmu == "ix86arch" || pmu.starts_with("perf")) continue;
    findings.add("wrong-pmu", preset.name + native.name, {preset.place, preset.name, view.cpu, native.name},
                 fmt::format("{} counts {} on cores of {}", preset.name, native.name, pmu));
  }
}

/// The names of the term's siblings: the same event with another width of vectors, the fixed and the scaled
/// half of a count of operations, hits and misses in the second-level TLB of what misses the first.
std::vector<std::string> list_siblings(const std::string& name) {
  static const std::vector<Words> alternatives{{"128B", "256B", "512B"},
                                               {"FIXED_OPS", "SCALE_OPS"},
                                               {"_MISS_L2_ITLB_HIT", "_MISS_L2_ITLB_MISS"},
                                               {"_MISS_L2_DTLB_HIT", "_MISS_L2_DTLB_MISS"}};
  std::vector<std::string> found;
  for (const Words& words : alternatives)
    for (const std::string& word : words)
      if (const auto at = name.find(word); at != name.npos)
        for (const std::string& other : words)
          if (other != word) found.push_back(std::string(name).replace(at, word.size(), other));
  return found;
}

/// Whether a formula lacks an event that this CPU has: another event than `own`, with whatever unit masks, or
/// another unit mask of it.
bool lacks(const preset::CpuView& view, const formula::Linear& form, const preset::Native& own,
           const std::string& name) {
  const preset::Native& native = view.natives->of(name);
  const bool other_event = native.event != own.event;
  if (!native.ok() && !(other_event && native.status == preset::Native::Status::refused)) return false;
  return std::ranges::none_of(form.coefficients, [&](const auto& term) {
    if (term.first < 0) return false;
    const preset::Native& code = view.codes[static_cast<std::size_t>(term.first)];
    return code.same_as(native) || (other_event && code.event == native.event);
  });
}

void check_siblings(const preset::CpuView& view, const Preset& preset, const formula::Linear& form,
                    Findings& findings) {
  if (!view.natives || !matches_one({"*_OPS", "PAPI_VEC_*", "PAPI_TLB_*"}, preset.name)) return;
  std::set<std::string> missing;
  for (const auto& [v, weight] : form.coefficients) {
    if (v < 0 || weight < 0) continue;
    const std::string term = view.written(preset, v);
    for (const std::string& name : list_siblings(term))
      if (lacks(view, form, view.natives->of(term), name)) missing.insert(name);
  }
  for (const std::string& name : missing)
    findings.add("missing-part", preset.name + name, {preset.place, preset.name, view.cpu, name},
                 fmt::format("{} lacks {}, which exists here and counts another part", preset.name, name),
                 "add " + name);
}

/// A total of events that each state a precision, without those of half precision that the CPU has.
void check_half(const preset::CpuView& view, const Preset& preset, const formula::Linear& form,
                const EventWords& events, Findings& findings) {
  if (!view.natives || (!preset.name.starts_with("PAPI_FP_") && preset.name != "PAPI_VEC_INS")) return;
  const Words half{"HALF", "HP"}, precisions{"SINGLE", "DOUBLE", "SP", "DP"};
  for (const auto& [v, weight] : form.coefficients) {
    if (v < 0) return;
    const auto& [name, prose] = events[static_cast<std::size_t>(v)];
    if (has_one(name, half) || has_one(prose, half) ||
        !(has_one(name, precisions) || has_one(prose, precisions)))
      return;
  }
  std::string nearest; // to one of the terms, by the words of its name
  std::ptrdiff_t most = 1;
  for (const std::string& name : view.natives->core_names()) {
    const Words words = split_words(name);
    for (const auto& [v, weight] : form.coefficients) {
      const Words& own = events[static_cast<std::size_t>(v)].first;
      const auto common = std::ranges::count_if(
          words, [&](const std::string& word) { return std::ranges::find(own, word) != own.end(); });
      if (common <= most || !view.natives->of(name).ok()) continue;
      if (!has_one(words, half) && !has_one(split_words(view.natives->of(name).prose), half)) continue;
      most = common;
      nearest = name;
    }
  }
  if (!nearest.empty())
    findings.add(
        "missing-part", preset.name + nearest, {preset.place, preset.name, view.cpu, nearest},
        fmt::format("{} lacks half precision, which is counted here, such as by {}", preset.name, nearest),
        "add " + nearest);
}

void check_weights(const preset::CpuView& view, const Preset& preset, const formula::Linear& form,
                   Findings& findings) {
  const bool operations = preset.name.ends_with("_OPS");
  if (preset.name == "PAPI_REF_CYC") return; // at any ratio to the core's cycles
  for (const auto& [v, weight] : form.coefficients) {
    if (v < 0) continue;
    const std::string& event = view.names[static_cast<std::size_t>(v)];
    // Some counters run at half the rate of the core.
    if (!operations && weight > 1 &&
        (weight > 2 || matches_one({"PAPI_VEC_*", "PAPI_F*_INS", "PAPI_CUDA_*_FMA"}, preset.name))) {
      findings.add("wrong-unit", preset.name + event, {preset.place, preset.name, view.cpu},
                   fmt::format("{} counts {} {} times", preset.name, event, weight));
      return;
    }
    if (!operations) continue;
    auto wanted = stated_operations(view.cpu, event);
    if (!wanted) wanted = described_operations(view.codes[static_cast<std::size_t>(v)].prose);
    if (!wanted || weight == *wanted) continue;
    findings.add("flop-weight", preset.name + event,
                 {preset.place, preset.name, view.cpu, view.written(preset, v)},
                 fmt::format("{} counts {} {}, but each count is {}", preset.name, event,
                             base::format_count(weight, "time"), base::format_count(*wanted, "operation")));
  }
}

} // namespace

void check_meaning(const preset::CpuView& view, Findings& findings) {
  EventWords events;
  for (std::size_t v = 0; v < view.names.size(); ++v)
    events.emplace_back(split_words(view.names[v]), split_words(view.codes[v].prose));
  for (const Preset& preset : view.loaded.presets) {
    check_domain(view, preset, findings);
    check_core_type(view, preset, findings);
    const auto means = view.meanings.find(preset.name);
    if (means == view.meanings.end() || !is_preset(preset.name)) continue;
    const auto form = formula::linear(means->second);
    if (!form) continue;
    check_weights(view, preset, *form, findings);
    check_siblings(view, preset, *form, findings);
    check_half(view, preset, *form, events, findings);
    if (preset.type == Derived::compound) continue; // the other terms set up what the first one counts
    for (const MeaningRule& rule : meaning_rules()) {
      if (!applies(rule, view, preset.name.substr(preset_prefix.size()))) continue;
      const auto found = violations(rule, *form, events);
      if (!found.empty() && rule.has("exists") && !exists(view, rule.list("exists"))) continue;
      const char* const verb = rule.has("subtracted") ? "subtracts" : rule.has("beside") ? "adds" : "counts";
      for (const std::size_t at : found)
        findings.add(
            rule.rule, preset.name + view.names[at],
            {preset.place, preset.name, view.cpu, view.written(preset, static_cast<formula::Variable>(at))},
            fmt::format("{} {} {}", preset.name, verb, view.names[at]));
    }
  }
}

} // namespace recount::lint
