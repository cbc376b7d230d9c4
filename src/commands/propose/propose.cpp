#include "commands/propose/propose.hpp"

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/nearest.hpp"
#include "base/text.hpp"
#include "commands/propose/architecture_data.hpp"
#include "count/preset/catalogue.hpp"
#include "count/preset/preset_table.hpp"
#include "count/preset/standard.hpp"
#include "kernel/proofs.hpp"
#include "show/command/output.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <linux/perf_event.h>
#include <optional>

namespace recount::propose {
using formula::Quotient;

formula::Variable Codes::of(const preset::Native& native, const std::string& name) {
  std::size_t at = 0;
  while (at < natives.size() && !natives[at].same_as(native))
    ++at;
  if (at == natives.size()) {
    natives.push_back(native);
    names.push_back(name);
  }
  return static_cast<formula::Variable>(at);
}

std::string formula_text(const Quotient& meaning, const std::vector<std::string>& codes, const Preset& preset,
                         const std::vector<std::string>& terms) {
  if (const auto form = formula::linear(meaning)) return formula::to_text(*form, codes);
  const std::string infix = formula::to_infix(formula::parse_rpn(preset.postfix), terms);
  return infix.empty() ? fmt::format("{} of {}", name_of(preset.type), fmt::join(terms, ", ")) : infix;
}

namespace {

/// Rows over events that an architecture defines for all its cores, from data/architecture.txt, each with the
/// pattern of its PMUs: type, formula and terms; `place.line` is negative, so that it is no line of a table.
const std::vector<std::pair<std::string, Preset>>& architecture_rows() {
  static const auto all = [] {
    std::vector<std::pair<std::string, Preset>> found;
    for (std::string_view text = architecture_data; const auto line : base::split(text, '\n')) {
      const auto bar = line.find('|'); // formulas have bars as well
      if (line.starts_with('#') || bar == line.npos) continue;
      const auto table = PresetTable::of(fmt::format("CPU,a\nPRESET,{}\n", base::trim(line.substr(bar + 1))));
      const auto loaded = table.load("a", -1, [](const std::string&) { return Known::yes; });
      auto& [pmus, preset] = found.emplace_back(base::trim(line.substr(0, bar)), loaded.presets.at(0));
      preset.place.line = -static_cast<int>(found.size());
    }
    return found;
  }();
  return all;
}

/// How much more a nearer relative counts than a distant one.
constexpr double nearness = 4;

/// Empty where it is no sum of small multiples of events.
std::map<std::string, int> collect_factors(const Quotient& meaning, const std::vector<std::string>& codes) {
  constexpr std::int64_t largest = 1000;
  const auto form = formula::linear(meaning);
  std::map<std::string, int> factors;
  if (!form || form->constant != 0) return factors;
  for (const auto& [v, factor] : form->coefficients) {
    if (v < 0 || std::abs(factor) > largest) return {};
    factors[codes[static_cast<std::size_t>(v)]] = static_cast<int>(factor);
  }
  return factors;
}

/// The formula of a row over `terms`, whose variables are `own`; none where it has no value.
std::optional<Formula> make_formula(const Preset& row, const std::vector<formula::Variable>& own,
                                    const std::vector<std::string>& terms, const Codes& codes,
                                    const std::string& from) {
  const auto meaning = preset::meaning(row, own);
  if (!meaning) return {};
  return Formula{fmt::format("PRESET,{},{},{}{}", row.name, name_of(row.type),
                             row.type == Derived::postfix ? row.postfix + "," : "", fmt::join(terms, ",")),
                 formula_text(*meaning, codes.names, row, terms),
                 *meaning,
                 collect_factors(*meaning, codes.names),
                 {from},
                 {row.place.line},
                 {},
                 0};
}

/// Writes a row as the sum of its terms with these weights, as far as that is one: false for others.
bool write_sum(const std::vector<std::int64_t>& weights, Preset& row) {
  if (std::ranges::any_of(weights, [](std::int64_t weight) { return weight <= 0; })) return false;
  row.type = Derived::postfix;
  row.postfix.clear();
  for (std::size_t i = 0; i < weights.size(); ++i)
    row.postfix += fmt::format("N{}|{}{}", i, weights[i] == 1 ? "" : fmt::format("{}|*|", weights[i]),
                               i == 0 ? "" : "+|");
  if (std::ranges::all_of(weights, [](std::int64_t weight) { return weight == 1; }))
    row.type = weights.size() == 1 ? Derived::none : Derived::add;
  return true;
}

void merge(std::vector<Formula>& all, Formula formula) {
  for (Formula& other : all)
    if (formula::equal(other.meaning, formula.meaning).value_or(false)) {
      if (std::ranges::find(other.from, formula.from.front()) == other.from.end())
        other.from.push_back(formula.from.front());
      // A row of several CPUs is one opinion.
      if (!other.lines.insert(*formula.lines.begin()).second) return;
      other.score += formula.score;
      return;
    }
  all.push_back(std::move(formula));
}

Confidence judge_confidence(const Proposal& proposal) {
  const Formula& first = proposal.formulas.front();
  const std::size_t others = proposal.formulas.size() - 1;
  if (proposal.remarks.empty()) return first.lines.size() > 1 ? Confidence::high : Confidence::medium;
  // Relatives that disagree are outweighed; nothing else is doubtful.
  return proposal.remarks.size() == others && first.score > 2 * proposal.formulas[1].score
             ? Confidence::medium
             : Confidence::low;
}

/// Whether the formula uses events of instructions that were executed speculatively (Arm).
bool speculative(const Formula& formula) {
  return std::ranges::any_of(formula.terms, [](const auto& term) { return term.first.ends_with("_SPEC"); });
}

void add_remarks(Proposal& proposal, const std::vector<std::string>& lint) {
  proposal.remarks = proposal.formulas.front().remarks;
  for (std::size_t i = 1; i < proposal.formulas.size(); ++i)
    proposal.remarks.push_back(
        fmt::format("{}: {}", fmt::join(proposal.formulas[i].from, " "), proposal.formulas[i].text));
  for (const std::string& text : lint)
    proposal.remarks.push_back("recount lint: " + text);
  proposal.confidence = judge_confidence(proposal);
}

} // namespace

std::string_view name_of(Confidence confidence) noexcept {
  constexpr std::string_view names[] = {"low", "medium", "high"};
  return names[static_cast<std::size_t>(confidence)];
}

Lineage::Lineage(const PresetTable& table, const preset::Catalogue* catalogue,
                 std::optional<PapiVersion> version)
    : table_(table),
      catalogue_(catalogue),
      table_version_(preset::needed_version(table.document()).version),
      version_(version.value_or(table_version_)) {
  preset::require_rows(table);
  for (const std::string& cpu : table.cpus())
    if (const auto source = lint::find_source(cpu, catalogue); source.core)
      views_.push_back(
          preset::view(table.document(), cpu, source.core, table_version_, nullptr, source.catalogue));
}

std::vector<std::string> Lineage::cpus() const {
  return base::mapped(views_, &preset::CpuView::cpu);
}

const preset::CpuView* Lineage::find_view(const std::string& cpu) const {
  const auto at = std::ranges::find_if(views_, [&](const auto& v) { return preset::same_word(v.cpu, cpu); });
  return at == views_.end() ? nullptr : &*at;
}

EventIndex& Lineage::event_index(const std::string& cpu, PapiVersion version) {
  auto& index = events_[{cpu, version}];
  if (!index) index = std::make_unique<EventIndex>(lint::find_source(cpu, catalogue_), version);
  return *index;
}

std::vector<Lineage::Relative> Lineage::relatives(const std::string& cpu,
                                                  const std::vector<std::string>& from) {
  std::vector<std::string> names = from;
  if (names.empty())
    for (const auto& family : lint::families())
      if (std::ranges::find(family, cpu) != family.end())
        names.insert(names.end(), family.begin(), family.end());
  EventIndex& target = event_index(cpu, version_);
  const std::string& prose = target.natives().core().prose;
  // In no family: the nearest of the same vendor.
  const bool described = names.empty() && target.natives().core().id == preset::described_pmu;
  if (described) names = cpus();
  std::vector<Relative> found;
  for (const std::string& name : names) {
    const preset::CpuView* const view = find_view(name);
    if (!view && !from.empty())
      throw bad_input("--from " + name, "no such CPU in " + table_.name(), base::did_you_mean(name, cpus()));
    if (!view || view->cpu == cpu) continue;
    if (described && !preset::same_word(view->core->prose.substr(0, 3), prose.substr(0, 3))) continue;
    EventIndex& origin = event_index(view->cpu, table_version_);
    if (from.empty() && origin.names() == target.names()) continue; // another name of the same events
    found.push_back({view, &origin, similarity(target.names(), origin.names())});
  }
  std::ranges::stable_sort(found, std::greater{}, &Relative::similarity);
  constexpr std::size_t max_unrelated = 4;
  if (described) found.resize(std::min(found.size(), max_unrelated));
  return found;
}

std::optional<Formula> Lineage::translated(const Preset& row, const Relative& relative, EventIndex& target,
                                           Codes& codes, std::string& why) {
  const preset::CpuView& view = *relative.view;
  if (!view.meanings.contains(row.name)) {
    why = view.cpu + ": its row has no value";
    return {};
  }
  // The further terms of an underived preset are read and not counted.
  auto variables = view.variables(row);
  if (row.type == Derived::none) variables.resize(std::min<std::size_t>(variables.size(), 1));
  std::vector<std::string> terms, remarks;
  std::vector<formula::Variable> own;
  const auto form = formula::linear(view.meanings.at(row.name));
  const auto weight_of = [&](formula::Variable v) {
    const auto at = form ? form->coefficients.find(v) : decltype(form->coefficients.end()){};
    return form && at != form->coefficients.end() ? at->second : 0;
  };
  std::vector<std::int64_t> weights;
  bool narrowed = false;
  double quality = 1;
  for (const formula::Variable v : variables) {
    const std::string& term = view.names[static_cast<std::size_t>(v)];
    const Translation found = translate(term, *relative.events, target);
    if (found.name.empty() && lacks_width(term, *relative.events, target)) {
      remarks.push_back(
          fmt::format("{} is left out: this CPU lacks vectors of this width ({})", term, view.cpu));
      narrowed = true;
      continue;
    }
    quality = std::min(quality, found.quality);
    weights.push_back(weight_of(v));
    if (found.name.empty()) {
      why = fmt::format("{}: {} has no counterpart here", view.cpu, term);
      break;
    }
    if (!found.remark.empty()) remarks.push_back(fmt::format("{} ({})", found.remark, view.cpu));
    terms.push_back(found.name);
    own.push_back(codes.of(target.natives().of(found.name), found.name));
  }
  if (quality <= 0 || terms.empty()) return {};
  Preset translated = row;
  // An operation over one term has no effect (one-term in recount-lint(1)).
  if (terms.size() == 1 && (row.type == Derived::add || row.type == Derived::sub))
    translated.type = Derived::none;
  translated.natives.resize(terms.size());
  if (narrowed && !write_sum(weights, translated)) {
    why = view.cpu + ": its row has vectors that are wider than those here";
    return {};
  }
  auto formula = make_formula(translated, own, terms, codes, view.cpu);
  if (!formula) return {};
  formula->remarks = std::move(remarks);
  formula->score = quality * std::pow(relative.similarity, nearness);
  return formula;
}

std::optional<Formula> Lineage::architectural(const std::string& preset, EventIndex& target, Codes& codes) {
  constexpr double score = 0.5; // relatives with more than 0.84 of the events in common outweigh it
  const std::string& cpu = target.natives().core().name;
  for (const auto& [pmus, row] : architecture_rows()) {
    if (row.name != preset || !base::Pattern(pmus).matches(cpu)) continue;
    std::vector<formula::Variable> own;
    std::vector<std::string> terms;
    for (const PresetNative& native : row.natives)
      if (target.natives().of(native.name).ok()) {
        own.push_back(codes.of(target.natives().of(native.name), native.name));
        terms.push_back(native.name);
      }
    auto formula = make_formula(row, own, terms, codes, "the architecture"); // none where events are missing
    if (!formula) continue;
    formula->score = score;
    return formula;
  }
  return {};
}

std::vector<Formula> Lineage::formulas(const std::string& preset, const std::vector<Relative>& relatives,
                                       const std::set<int>& hidden, EventIndex& target, Codes& codes,
                                       std::string& why) {
  std::vector<Formula> all;
  for (const Relative& relative : relatives) {
    const Preset* const row = relative.view->loaded.find(preset);
    if (!row || hidden.contains(row->place.line)) continue;
    std::string trouble;
    if (auto formula = translated(*row, relative, target, codes, trouble)) merge(all, *std::move(formula));
    if (why.empty()) why = trouble;
  }
  if (!relatives.empty() || target.natives().core().id == preset::described_pmu)
    if (auto formula = architectural(preset, target, codes)) merge(all, *std::move(formula));
  std::ranges::stable_sort(all, std::greater{}, &Formula::score);
  return all;
}

/// Warnings after which a formula is not proposed: it counts something else than the preset, or cannot be
/// counted.
bool rejects(const lint::Rule& rule) {
  constexpr std::string_view rejected[] = {"scalar-as-vector", "operations-as-instructions",
                                           "unconditional-as-conditional", "too-many-counters"};
  return rule.severity == lint::Severity::error || std::ranges::find(rejected, rule.id) != std::end(rejected);
}

/// The findings of lint in the proposed rows, by preset. Formulas that rejects() are removed.
std::map<std::string, std::vector<std::string>> Lineage::faults(Proposals& all) {
  for (;;) {
    std::string text = "CPU," + all.cpu + "\n";
    for (const Proposal& proposal : all.rows)
      text += proposal.formulas.front().row + "\n";
    lint::LintOptions options;
    options.version = version_;
    options.catalogue = catalogue_;
    std::map<std::string, std::vector<std::string>> found;
    bool changed = false;
    if (all.rows.empty()) return found;
    for (const auto& finding : lint::lint(PresetTable::of(text, "proposal"), options).findings) {
      if (finding.rule->severity == lint::Severity::note && finding.rule->id != "other-sources") continue;
      for (const std::string& preset : finding.presets)
        if (!rejects(*finding.rule)) {
          found[preset].push_back(finding.message);
        } else if (const auto at = std::ranges::find(all.rows, preset, &Proposal::preset);
                   at != all.rows.end()) {
          changed = true;
          at->formulas.erase(at->formulas.begin());
          if (!at->formulas.empty()) continue;
          all.missing.push_back({preset, "recount lint: " + finding.message});
          all.rows.erase(at);
        }
    }
    if (!changed) return found;
  }
}

Proposals Lineage::propose(const std::string& cpu, const std::vector<std::string>& from, Codes& codes) {
  std::set<int> hidden; // lines of its own rows
  if (const preset::CpuView* const own = find_view(cpu))
    for (const Preset& preset : own->loaded.presets)
      hidden.insert(preset.place.line);
  Proposals all;
  all.cpu = cpu;
  all.own = hidden.size();
  EventIndex& target = event_index(cpu, version_);
  if (target.natives().core().id == preset::described_pmu)
    all.note = fmt::format(
        "The events of {} are those of event files, named as libpfm4 would name them; PAPI reads rows of "
        "CPUs that its libpfm4 has.",
        cpu);
  auto near = relatives(cpu, from);
  std::erase_if(near, [&](const Relative& relative) {
    return std::ranges::all_of(relative.view->loaded.presets,
                               [&](const Preset& preset) { return hidden.contains(preset.place.line); });
  });
  for (const Relative& relative : near)
    all.relatives.emplace_back(relative.view->cpu, relative.similarity);
  for (const auto& standard : preset::standard_presets()) {
    const std::string name(standard.name);
    std::string why;
    auto found = formulas(name, near, hidden, target, codes, why);
    if (!found.empty())
      all.rows.push_back({name, std::move(found), {}, {}});
    else
      all.missing.push_back({name, near.empty()  ? "no related CPU has rows"
                                   : why.empty() ? "no related CPU has it"
                                                 : why});
  }
  auto findings = faults(all);
  const bool scalable =
      target.names().contains("SVE_INST_SPEC") || target.names().contains("FP_SCALE_OPS_SPEC");
  for (Proposal& proposal : all.rows) {
    add_remarks(proposal, findings[proposal.preset]);
    // The nearest relative may have another row, or none, for a reason.
    const auto agrees = [&](const Relative& relative) {
      return relative.similarity == near.front().similarity &&
             std::ranges::count(proposal.formulas.front().from, relative.view->cpu) > 0;
    };
    if (std::ranges::none_of(near, agrees))
      proposal.confidence = std::min(proposal.confidence, Confidence::medium);
    if (scalable && speculative(proposal.formulas.front())) {
      proposal.remarks.emplace_back(
          "this CPU has SVE: which instructions the *_SPEC events count depends on the core");
      proposal.confidence = Confidence::low;
    }
  }
  return all;
}

// Proposals as a preset table, each row with its evidence as comments.
namespace {

std::string measurement_text(const Proposal& proposal) {
  const auto kernels = find_kernels(proposal.preset);
  const std::size_t formulas = proposal.formulas.size();
  if (kernels.empty()) return "to measure: no kernel of recount check has a known count of this preset";
  return fmt::format("to measure: recount check --table FILE {} (kernels: {}){}", proposal.preset,
                     fmt::join(kernels, ", "),
                     formulas > 1 ? fmt::format("; it decides among {} formulas", formulas) : "");
}

std::string row_text(const Proposal& proposal) {
  const Formula& formula = proposal.formulas.front();
  std::string text =
      comment(fmt::format("{}: from {}{}; confidence: {}", proposal.preset, fmt::join(formula.from, " "),
                          formula.lines.size() == 1 ? " (one row)" : "", name_of(proposal.confidence)));
  for (const std::string& remark : proposal.remarks)
    text += comment("  " + remark);
  if (proposal.confidence != Confidence::high) text += comment("  " + measurement_text(proposal));
  return text + formula.row + "\n";
}

} // namespace

std::string comment(std::string text) {
  constexpr std::size_t columns = 118, indent = 4;
  std::ranges::replace_if(
      text, [](char c) { return c == '\n' || c == '\r' || c == '\0'; }, ' ');
  const auto lines = base::words(command::fit(text, columns, indent), '\n');
  return fmt::format("# {}\n", fmt::join(lines, "\n# "));
}

std::string not_proposed(const std::vector<Unproposed>& missing) {
  std::string text = missing.empty() ? "" : comment("Not proposed:");
  std::map<std::string, std::vector<std::string>> reasons;
  for (const Unproposed& one : missing)
    reasons[one.reason].push_back(one.preset);
  for (const auto& [reason, presets] : reasons)
    text += comment(fmt::format("  {}: {}", reason, fmt::join(presets, " ")));
  return text;
}

std::vector<std::string> find_kernels(const std::string& preset) {
  std::vector<std::string> names;
  for (const kernel::ProofRow& row : kernel::proof_rows())
    if (std::ranges::count(base::words(row.presets), preset) > 0 &&
        std::ranges::find(names, row.kernel) == names.end())
      names.emplace_back(row.kernel);
  return names;
}

std::string format_json(const Proposals& proposals, const std::string& table) {
  const auto row = [](const Proposal& one) {
    const Formula& formula = one.formulas.front();
    return Json{{"preset", one.preset},
                {"row", formula.row},
                {"formula", formula.text},
                {"from", formula.from},
                {"confidence", name_of(one.confidence)},
                {"remarks", one.remarks},
                {"kernels", find_kernels(one.preset)}};
  };
  const auto relative = [](const auto& one) {
    return Json{{"cpu", one.first}, {"common_events", one.second}};
  };
  const auto missing = [](const Unproposed& one) {
    return Json{{"preset", one.preset}, {"reason", one.reason}};
  };
  return json_text("propose", Json{{"cpu", proposals.cpu},
                                   {"table", table},
                                   {"relatives", make_array(proposals.relatives, relative)},
                                   {"rows", make_array(proposals.rows, row)},
                                   {"not_proposed", make_array(proposals.missing, missing)}});
}

std::string format_csv(const Proposals& proposals, const std::string& table) {
  std::string text =
      comment(fmt::format("Presets of {}, proposed by recount {} from the rows of related CPUs in {}.",
                          proposals.cpu, RECOUNT_VERSION, table));
  std::vector<std::string> relatives;
  for (const auto& [cpu, common] : proposals.relatives)
    relatives.push_back(fmt::format("{} ({:.0f} %)", cpu, 100 * common));
  if (relatives.empty()) relatives.emplace_back("none");
  text += comment(
      fmt::format("Related CPUs and their share of common event names: {}", fmt::join(relatives, ", ")));
  if (proposals.own > 0)
    text += comment(fmt::format("The table has {} for {}, not used here.",
                                base::format_count(proposals.own, "row"), proposals.cpu));
  text += proposals.note.empty() ? "" : comment(proposals.note);
  text += "CPU," + proposals.cpu + "\n";
  for (const Proposal& proposal : proposals.rows)
    text += row_text(proposal);
  return text + not_proposed(proposals.missing);
}

// The rows of a CPU that has rows, compared with what would have been proposed without them.
namespace {

std::string find_vendor(const preset::CpuView& view) {
  constexpr std::pair<std::string_view, std::string_view> prefixes[] = {{"amd64", "AMD"}, {"power", "IBM"},
                                                                        {"arm", "Arm"},   {"qcom", "Arm"},
                                                                        {"ultra", "Sun"}, {"niagara", "Sun"}};
  for (const auto& [prefix, vendor] : prefixes)
    if (view.cpu.starts_with(prefix)) return std::string(vendor);
  return "Intel";
}

} // namespace

Lineage::Comparison Lineage::leave_out(const std::string& cpu) {
  const preset::CpuView& own = *find_view(cpu);
  Codes codes;
  const Proposals all = propose(own.cpu, {}, codes);
  Comparison result{.cpu = own.cpu, .vendor = find_vendor(own)};
  if (!all.relatives.empty()) result.nearest = all.relatives.front().first;
  EventIndex& target = event_index(own.cpu, version_);
  for (const Preset& preset : own.loaded.presets) {
    if (!preset::standard_preset(preset.name) || !own.meanings.contains(preset.name)) continue;
    ++result.rows;
    const auto at = std::ranges::find(all.rows, preset.name, &Proposal::preset);
    if (at == all.rows.end()) {
      ++result.missing;
      continue;
    }
    std::vector<formula::Variable> variables;
    for (const formula::Variable v : own.variables(preset)) {
      const std::string& name = own.names[static_cast<std::size_t>(v)];
      variables.push_back(codes.of(target.natives().of(name), name));
    }
    const auto meaning = preset::meaning(preset, variables);
    if (meaning && formula::equal(*meaning, at->formulas.front().meaning).value_or(false)) {
      ++result.equal;
      continue;
    }
    ++result.different;
    if (at->remarks.empty()) ++result.unremarked;
    result.details.push_back(fmt::format("{}{}: {} proposed, {} in the table", preset.name,
                                         at->remarks.empty() ? " (no remark)" : "", at->formulas.front().text,
                                         meaning ? formula_text(*meaning, codes.names, preset, {}) : "?"));
  }
  result.extra = static_cast<int>(
      std::ranges::count_if(all.rows, [&](const Proposal& p) { return !own.loaded.find(p.preset); }));
  return result;
}

namespace {

/// Shares of common words from which two descriptions are of the same event. Equal codes need less.
constexpr double alike = 0.5, equal_words = 0.85;
constexpr std::size_t min_words = 3; ///< of a description that identifies an event

bool common_word(const std::string& word) {
  static const std::set<std::string> common{"a",     "an",  "the",  "of",   "number", "count", "counts",
                                            "event", "for", "that", "this", "is",     "are",   "in",
                                            "to",    "all", "by",   "and",  "were",   "was"};
  return common.contains(word);
}

/// "EVENT:MASK" and ":c=1:e=1"
std::pair<std::string, std::string> without_modifiers(const std::string& term) {
  std::string bare, modifiers;
  for (const std::string_view part : base::split(std::string_view(term), ':'))
    if (part.find('=') == part.npos)
      bare += (bare.empty() ? "" : ":") + std::string(part);
    else
      modifiers += ":" + std::string(part);
  return {bare, modifiers};
}

std::string code_text(const preset::Native& native) {
  return fmt::format("{:#x}", native.config) +
         (native.config1 ? fmt::format("/{:#x}", native.config1) : std::string());
}

Translation by_name(const std::string& term, const preset::Native& origin, const preset::Native& target) {
  if (target.same_as(origin)) return {term, {}, 1};
  const bool same = similarity(split_words(origin.prose), split_words(target.prose)) >= alike;
  std::string remark = fmt::format("{}: code {} there, {} here", term, code_text(origin), code_text(target));
  if (same) return {term, std::move(remark), 0.9};
  return {term, remark + fmt::format("; described there as '{}', here as '{}'", origin.prose, target.prose),
          0.4};
}

struct Best {
  const NamedEvent* event = nullptr;
  double similarity = 0;
  void offer(const NamedEvent& other, double how) {
    if (!event || how > similarity) {
      event = &other;
      similarity = how;
    }
  }
};

/// Intel's architectural events, the same on each core whatever the description says (SDM volume 3,
/// "Pre-defined Architectural Performance Events").
bool architectural(EventIndex& target, const preset::Native& native) {
  constexpr std::uint64_t codes[] = {0x3c, 0x13c, 0xc0, 0xc4, 0xc5, 0x4f2e, 0x412e};
  return target.natives().core().prose.starts_with("Intel") && native.type == PERF_TYPE_RAW &&
         native.config1 == 0 && native.config2 == 0 &&
         std::ranges::find(codes, native.config) != std::end(codes);
}

Translation by_code(const std::string& bare, const preset::Native& origin, EventIndex& target) {
  const auto words = split_words(origin.prose);
  Best best;
  for (const std::size_t at : target.events_with_code(origin))
    best.offer(target.events()[at], similarity(words, target.events()[at].words));
  if (!best.event) return {};
  if (architectural(target, origin))
    return {best.event->name,
            bare == best.event->name ? "" : fmt::format("{} is named {} here", bare, best.event->name), 0.95};
  if (best.similarity < alike / 2) return {};
  return {best.event->name,
          fmt::format("{} is named {} here (code {})", bare, best.event->name, code_text(origin)),
          0.5 + best.similarity / 2};
}

constexpr std::string_view widths[] = {"128B", "256B", "512B"};

/// The width of vectors in the name of an event; empty without one.
std::string_view find_width(std::string_view name) {
  const auto at = std::ranges::find_if(widths, [&](auto width) { return name.find(width) != name.npos; });
  return at == std::end(widths) ? std::string_view() : *at;
}

Translation by_description(const std::string& bare, const preset::Native& origin, EventIndex& target) {
  const auto words = split_words(origin.prose);
  if (words.size() < min_words) return {};
  Best best;
  for (const NamedEvent& event : target.events())
    if (find_width(event.name) == find_width(bare)) best.offer(event, similarity(words, event.words));
  if (!best.event || best.similarity < equal_words) return {};
  return {best.event->name,
          fmt::format("{} (code {}) has the description of {} here (code {})", bare, code_text(origin),
                      best.event->name, code_text(best.event->native)),
          best.similarity - 0.3};
}

} // namespace

std::set<std::string> split_words(std::string_view prose) {
  std::set<std::string> words;
  std::string word;
  const auto end = [&] {
    if (!word.empty() && !common_word(word)) words.insert(word);
    word.clear();
  };
  for (const char c : base::lower_case(prose))
    if (std::isalnum(static_cast<unsigned char>(c)))
      word += c;
    else
      end();
  end();
  return words;
}

double similarity(const std::set<std::string>& a, const std::set<std::string>& b) {
  std::size_t common = 0;
  for (const std::string& word : a)
    common += b.count(word);
  const std::size_t all = a.size() + b.size() - common;
  return all == 0 ? 0 : static_cast<double>(common) / static_cast<double>(all);
}

EventIndex::EventIndex(const lint::EventSource& source, PapiVersion version)
    : natives_(*source.core, version, source.catalogue), names_(natives_.core_names()) {}

const std::vector<NamedEvent>& EventIndex::events() {
  if (!events_.empty()) return events_;
  for (const std::string& name : names_) {
    const preset::Native& native = natives_.of(name);
    if (!native.ok()) continue;
    by_code_[{native.type, native.config, native.config1, native.config2}].push_back(events_.size());
    events_.push_back({name, native, split_words(native.prose)});
  }
  return events_;
}

const std::vector<std::size_t>& EventIndex::events_with_code(const preset::Native& native) {
  (void)events();
  return base::value_at(by_code_, {native.type, native.config, native.config1, native.config2});
}

bool lacks_width(const std::string& term, EventIndex& origin, EventIndex& target) {
  const std::string_view own = find_width(term);
  return !own.empty() && std::ranges::any_of(widths, [&](std::string_view other) {
    const std::string same = std::string(term).replace(term.find(own), own.size(), other);
    return other != own && !translate(same, origin, target).name.empty();
  });
}

Translation translate(const std::string& term, EventIndex& origin, EventIndex& target) {
  const auto [bare, modifiers] = without_modifiers(term);
  const preset::Native source = origin.natives().of(bare);
  Translation best;
  const auto offer = [&](Translation found) {
    if (found.quality > best.quality && target.natives().of(found.name + modifiers).ok())
      best = std::move(found);
  };
  if (const preset::Native& own = target.natives().of(bare); own.ok() && source.ok())
    offer(by_name(bare, source, own));
  // From PAPI 7.3 on, names without a prefix are those of the core PMU only.
  const std::string prefixed = "ix86arch::" + bare;
  if (best.name.empty() && source.ok() && source.pmu == "ix86arch" && target.natives().of(prefixed).ok())
    offer({prefixed, {}, 1});
  if (best.quality < 0.9 && source.ok()) offer(by_code(bare, source, target));
  if (best.quality < 0.5 && source.ok()) offer(by_description(bare, source, target));
  // Some events need modifiers to be encoded, and some unit masks are named like them.
  if (best.name.empty() && target.natives().of(term).ok() && origin.natives().of(term).ok())
    return by_name(term, origin.natives().of(term), target.natives().of(term));
  if (!best.name.empty()) best.name += modifiers;
  return best;
}

} // namespace recount::propose
