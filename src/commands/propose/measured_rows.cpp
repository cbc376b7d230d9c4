#include "commands/propose/measured_rows.hpp"

#include "base/format.hpp"
#include "base/host/pmu.hpp"
#include "base/json.hpp"
#include "base/names.hpp"
#include "base/output_file.hpp"
#include "base/process/child.hpp"
#include "base/process/temporary_folder.hpp"
#include "base/random.hpp"
#include "base/statistics/statistics.hpp"
#include "base/text.hpp"
#include "commands/propose/propose.hpp"
#include "count/lint/lint.hpp"
#include "model/machine.hpp"
#include "run/verdict/index.hpp"
#include "run/verdict/verdict.hpp"
#include "run/witness/metric_events.hpp"
#include "show/command/batch.hpp"
#include "show/command/measuring.hpp"
#include "show/command/output.hpp"
#include "show/command/print.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <range/v3/range/conversion.hpp>
#include <range/v3/view/chunk.hpp>
#include <range/v3/view/concat.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <limits>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <utility>

namespace recount::propose {
namespace {

using Point = std::pair<std::string, result::Params>; ///< kernel and point

/// The counts by perf: of each event, in the order of the points.
struct Counts {
  std::vector<Point> points;
  std::vector<MeasuredEvent> events;

  /// The index of a point; nothing if it was not counted.
  [[nodiscard]] std::optional<std::size_t> find(const std::string& kernel,
                                                const result::Params& point) const {
    const auto found = std::ranges::find(points, Point{kernel, point});
    if (found == points.end()) return {};
    return static_cast<std::size_t>(found - points.begin());
  }
  /// An event that was counted at that point; empty: none was.
  [[nodiscard]] std::string any_event(std::size_t point) const {
    for (const MeasuredEvent& event : events)
      if (!event.counts[point].empty()) return event.name;
    return {};
  }
};

Counts counts_in(const check::Index& index) {
  Counts all;
  std::map<Point, std::size_t> indices;
  for (const auto& [key, series] : index.all()) // sorted by kernel and point
    if (const auto& [kernel, point, metric, witness] = key; witness == Witness::perf)
      if (indices.try_emplace({kernel, point}, all.points.size()).second)
        all.points.push_back({kernel, point});
  std::map<std::string, std::size_t> events;
  for (const auto& [key, series] : index.all()) {
    const auto& [kernel, point, metric, witness] = key;
    if (witness != Witness::perf) continue;
    const auto [found, is_new] = events.try_emplace(metric, all.events.size());
    if (is_new) all.events.push_back({metric, std::vector<std::vector<double>>(indices.size())});
    for (const auto& [repetition, o] : series)
      if (const auto value = result::as_double(o->value))
        all.events[found->second].counts[indices.at({kernel, point})].push_back(*value);
  }
  return all;
}

/// The accepted counts of a preset at the points that were counted. `tight`: see MeasuredPreset.
struct ExpectedCounts {
  std::vector<Expected> accepted;
  bool tight = false;
};

ExpectedCounts expected_counts(const std::string& preset, const Statements& statements, const Counts& counts,
                               const check::Index& index) {
  ExpectedCounts expected;
  std::set<std::size_t> seen;
  for (const bool purpose : {true, false})
    for (const kernel::Proof& proof : purpose ? statements.proofs : statements.side_proofs) {
      if (proof.preset != preset) continue;
      const auto point = counts.find(proof.kernel->name(), proof.point);
      const std::string event = point ? counts.any_event(*point) : std::string();
      if (event.empty() || !seen.insert(*point).second) continue;
      const check::Trial trial =
          purpose ? check::make_trial(event, proof, index) : check::make_side_trial(event, proof, index);
      if (const auto accepted = check::accepted(trial)) {
        expected.accepted.push_back({*point, *accepted});
        expected.tight = expected.tight || check::tight(trial);
      }
    }
  return expected;
}

/// The count of a formula at a point; nothing if one of its events was not counted there.
std::optional<double> count_at(const Fit& fit, const Counts& counts, std::size_t point) {
  double sum = 0;
  for (const auto& [name, factor] : fit.terms) {
    const auto event = std::ranges::find(counts.events, name, &MeasuredEvent::name);
    if (event == counts.events.end() || event->counts[point].empty()) return {};
    sum += factor * statistics::median(event->counts[point]);
  }
  return sum / fit.divisor;
}

/// The point at which two formulas differ most: "KERNEL POINT: A counts 5, B counts 9"; empty: nowhere.
std::string deciding_point(const Fit& a, const Fit& b, const Counts& counts) {
  std::string text;
  double most = 0;
  for (std::size_t point = 0; point < counts.points.size(); ++point) {
    const auto by_a = count_at(a, counts, point), by_b = count_at(b, counts, point);
    if (!by_a || !by_b) continue;
    const double difference = std::abs(*by_a - *by_b) / std::max({std::abs(*by_a), std::abs(*by_b), 1000.0});
    if (difference <= most) continue;
    most = difference;
    const auto& [kernel, params] = counts.points[point];
    text = fmt::format("{} {}: {} counts {:.0f}, {} counts {:.0f}", kernel, result::describe(params),
                       formula_text(a), *by_a, formula_text(b), *by_b);
  }
  return text;
}

/// Whether the counts of a formula at two points are in the ratio of the relation; true if not counted.
bool satisfies(const Fit& fit, const kernel::Relation& relation, const Counts& counts) {
  const auto point = counts.find(relation.kernel->name(), relation.point);
  const auto base_point = counts.find(relation.base_kernel->name(), relation.base_point);
  if (!point || !base_point) return true;
  const auto base_count = count_at(fit, counts, *base_point), count = count_at(fit, counts, *point);
  if (!base_count || !count) return true;
  constexpr double noise = 0.02; // share, as recount check accepts for its narrowest relations
  const double base = std::max(*base_count, 0.0);
  return *count >= (1 - noise) * relation.least * base - check::stray_occurrences &&
         *count <= (1 + noise) * relation.most * base + check::stray_occurrences;
}

void add_evidence(MeasuredPreset& row, const Measured& measured, const Proposal* relative) {
  row.kernels = find_kernels(row.preset);
  const Fit& first = row.fits.found.front();
  for (const auto& [name, factor] : first.terms)
    if (const auto others = measured.same_as(name); !others.empty())
      row.same.push_back(fmt::format("{}: {}", name, fmt::join(others, " ")));
  if (!relative) return;
  bool suggested = false;
  for (const Formula& formula : relative->formulas) {
    suggested = suggested || !formula.terms.empty();
    if (formula.terms == first.terms && first.divisor == 1) row.from = formula.from;
  }
  if (row.from.empty() && suggested) row.against = relative->formulas.front().text;
}

} // namespace

Statements statements(const std::optional<model::MachineDescription>& machine) {
  return {kernel::proofs(machine), kernel::side_proofs(machine), kernel::relations(machine)};
}

Statements statements(const result::Results& results) {
  model::MachineDescription machine;
  for (const result::Run& run : results.runs) {
    if (!machine.levels.empty()) break;
    for (const result::CacheNote& note : run.caches) {
      model::LevelDescription level;
      level.name = note.level;
      level.size = note.size;
      if (note.line > 0) level.line = note.line;
      level.ways = note.ways > 0 ? note.ways : level.size / level.line;
      machine.levels.push_back(level);
    }
  }
  if (machine.levels.empty()) return statements(std::optional<model::MachineDescription>());
  return statements(std::optional(machine));
}

std::vector<std::string> events_to_count(EventIndex& events, const Proposals& relatives) {
  std::vector<std::string> names;
  std::vector<preset::Native> seen;
  const auto add = [&](const std::string& name, const preset::Native& native) {
    if (!native.ok() || std::ranges::any_of(seen, [&](const auto& other) { return other.same_as(native); }))
      return;
    seen.push_back(native);
    names.push_back(name);
  };
  for (const Proposal& proposal : relatives.rows)
    for (const Formula& formula : proposal.formulas)
      for (const auto& [name, factor] : formula.terms)
        add(name, events.natives().of(name));
  for (const NamedEvent& event : events.events())
    add(event.name, event.native);
  return names;
}

std::vector<sweep::Job> make_jobs(const Statements& statements, const std::vector<std::string>& events,
                                  long repeat, std::uint64_t seed) {
  constexpr std::ptrdiff_t events_per_run = 64;        // lost if the run fails
  std::map<Point, std::vector<std::string>> simulated; // presets whose expected count is the model's
  std::vector<Point> order;
  for (const kernel::Proof& proof : ranges::views::concat(statements.proofs, statements.side_proofs)) {
    if (!is_preset(proof.preset)) continue;
    const Point point{proof.kernel->name(), proof.point};
    auto [presets, is_new] = simulated.try_emplace(point);
    if (is_new) order.push_back(point);
    const auto known = proof.kernel->expected(proof.point);
    if (std::ranges::find(known, proof.preset, &kernel::Expectation::metric) == known.end() &&
        std::ranges::find(presets->second, proof.preset) == presets->second.end())
      presets->second.push_back(proof.preset);
  }
  std::vector<sweep::Job> jobs;
  std::mt19937_64 random(seed);
  for (int repetition = 0; repetition < repeat; ++repetition) {
    const std::size_t from = jobs.size();
    for (const auto& [kernel, point] : order)
      for (const auto some : events | ranges::views::chunk(events_per_run))
        jobs.push_back({kernel, point, repetition, Witness::perf, some | ranges::to<std::vector>()});
    base::shuffle(std::span(jobs).subspan(from), random);
  }
  for (const Point& point : order)
    if (!simulated[point].empty())
      jobs.push_back({point.first, point.second, 0, Witness::model, simulated[point]});
  return jobs;
}

MeasuredProposals propose_measured(const result::Results& results, const Statements& statements,
                                   const Proposals& relatives) {
  const check::Index index(results);
  const Counts counts = counts_in(index);
  if (counts.events.empty())
    throw bad_input("results", "no counts of events by perf", "recount propose --measure -o FILE");
  const Measured measured(counts.events);
  MeasuredProposals all{
      relatives.cpu, counts.events.size(), counts.points.size(), {}, measured.size(), {}, {}};
  for (const MeasuredEvent& event : counts.events)
    if (const Usability usability = propose::usability(event); usability != Usability::usable)
      all.unusable[usability].push_back(event.name);
  std::vector<std::string> presets;
  for (const kernel::Proof& proof : statements.proofs)
    if (is_preset(proof.preset) && std::ranges::find(presets, proof.preset) == presets.end())
      presets.push_back(proof.preset);
  for (const std::string& preset : presets) {
    const auto at = std::ranges::find(relatives.rows, preset, &Proposal::preset);
    const Proposal* const relative = at == relatives.rows.end() ? nullptr : &*at;
    std::vector<Fit> suggested;
    if (relative)
      for (const Formula& formula : relative->formulas)
        if (!formula.terms.empty()) suggested.push_back({formula.terms, 1, 0});
    MeasuredPreset row{preset, {}};
    const ExpectedCounts expected = expected_counts(preset, statements, counts, index);
    row.tight = expected.tight;
    row.fits = measured.fits(expected.accepted, suggested);
    std::erase_if(row.fits.found, [&](const Fit& fit) {
      return std::ranges::any_of(statements.relations, [&](const kernel::Relation& relation) {
        return relation.preset == preset && !satisfies(fit, relation, counts);
      });
    });
    if (row.fits.found.empty()) {
      all.missing.push_back(
          {preset, row.fits.points == 0     ? "no expected count at the points that were counted"
                   : row.fits.positive == 0 ? "no point must count it"
                   : suggested.empty()
                       ? "no formula reproduces the expected counts"
                       : "no formula reproduces the expected counts, nor do those of related CPUs"});
      continue;
    }
    add_evidence(row, measured, relative);
    if (row.fits.found.size() > 1) row.decider = deciding_point(row.fits.found[0], row.fits.found[1], counts);
    const bool only = row.fits.found.size() == 1 && (row.same.empty() || !row.from.empty());
    row.confidence = row.tight && only  ? Confidence::high
                     : row.from.empty() ? Confidence::low
                                        : Confidence::medium;
    all.rows.push_back(std::move(row));
  }
  return all;
}

// Measured proposals as a preset table, each row with its evidence as comments.
namespace {

constexpr std::size_t max_named = 8;

std::string alternatives(const MeasuredPreset& row) {
  auto texts =
      base::mapped(std::span(row.fits.found).subspan(1), [](const Fit& fit) { return formula_text(fit); });
  if (texts.size() > max_named) {
    const auto more = fmt::format("and {} more", texts.size() - max_named);
    texts.resize(max_named);
    texts.push_back(more);
  }
  return fmt::format("  cannot be distinguished by these kernels: {}", fmt::join(texts, "; "));
}

std::string row_text(const MeasuredPreset& row) {
  const Fit& first = row.fits.found.front();
  const std::string by = row.from.empty() ? std::string("measured")
                                          : fmt::format("measured, and from {}", fmt::join(row.from, " "));
  std::string text = comment(
      fmt::format("{}: {}; {}, {} of them not 0; residual {:.2f} of the noise; kernels: {}; confidence: {}",
                  row.preset, by, base::format_count(row.fits.points, "point"), row.fits.positive,
                  first.residual, fmt::join(row.kernels, ", "), name_of(row.confidence)));
  if (!row.against.empty())
    text += comment("  the counts contradict the formula of relatives: " + row.against);
  for (const std::string& same : row.same)
    text += comment("  the same counts at all points as " + same);
  if (row.fits.found.size() > 1) text += comment(alternatives(row));
  if (!row.decider.empty()) text += comment("  to decide: a kernel with a known count like " + row.decider);
  if (!row.tight) text += comment("  bounds alone: twice or half the count would be accepted as well");
  if (!row.fits.complete) text += comment("  the search ended early: there may be other formulas");
  if (!row.verdict.empty()) text += comment("  recount check: " + row.verdict);
  // A row that is undecided or refuted is a comment, so that PAPI does not read it.
  const bool refuted = !row.verdict.empty() && row.verdict != "agrees" && row.verdict != "perf agrees" &&
                       row.verdict != "plausible";
  const std::string line = make_row(row.preset, first) + "\n";
  if (row.confidence != Confidence::low && !refuted) return text + line;
  return text + (refuted ? "# refuted: " : "# undecided: ") + line;
}

} // namespace

std::string format_csv(const MeasuredProposals& proposals, const std::string& unchecked) {
  std::string text = comment(fmt::format(
      "Presets of {}, proposed by recount {} from the counts of {} at {}.", proposals.cpu, RECOUNT_VERSION,
      base::format_count(proposals.events, "event"), base::format_count(proposals.points, "point")));
  if (!unchecked.empty()) text += comment(unchecked);
  for (const auto& [usability, events] : proposals.unusable)
    text += comment(base::format_count(events.size(), "event is ", "events are ") +
                    std::string(name_of(usability)));
  text += comment(base::format_count(proposals.distinct, "usable event has counts of its own",
                                     "usable events have counts of their own"));
  text += "CPU," + proposals.cpu + "\n";
  for (const MeasuredPreset& row : proposals.rows)
    text += row_text(row);
  return text + not_proposed(proposals.missing);
}

namespace {

/// The caches of this machine. Without them, points that depend on cache sizes are omitted.
std::optional<model::MachineDescription> caches_here() {
  try {
    return model::machine("host");
  } catch (const Error&) {
    return {};
  }
}

/// The events that perf can count on this machine.
std::vector<std::string> countable(const std::vector<std::string>& events) {
  std::vector<std::string> able;
  std::string first_reason;
  for (const std::string& event : events) {
    const std::string refused = witness::resolve_metric(event).refused.text();
    if (refused.empty())
      able.push_back(event);
    else if (first_reason.empty())
      first_reason = event + ": " + refused;
  }
  if (able.empty())
    throw unavailable("--measure", "no event of this CPU can be counted: " + first_reason, {},
                      "recount doctor");
  return able;
}

sweep::Batch make_batch(const MeasureOptions& options, const std::string& cpu,
                        const std::vector<std::string>& events) {
  sweep::Batch batch = sweep::make_batch("propose", options, std::chrono::seconds(60), 1,
                                         {{measured_setting, cpu},
                                          {"--event", fmt::format("{}", fmt::join(options.events, ","))},
                                          {"--repeat", std::to_string(options.repeat)}});
  batch.jobs = make_jobs(statements(caches_here()), events, options.repeat, 1);
  return batch;
}

} // namespace

void check_options(const MeasureOptions& options) {
  sweep::Execution how;
  sweep::limit_runs(how, options.timeout, std::chrono::seconds(60));
  if (!options.cpu.empty()) static_cast<void>(host::parse_cpu(options.cpu));
}

sweep::BatchResult measure(const MeasureOptions& options, const Proposals& relatives) {
  EventIndex index(lint::find_source(relatives.cpu, nullptr), PapiVersion::v7_0);
  const auto events = countable(options.events.empty() ? events_to_count(index, relatives) : options.events);
  const sweep::Batch batch = make_batch(options, relatives.cpu, events);
  if (!options.quiet)
    command::note("recount propose: {}, {}\n", base::format_count(events.size(), "event"),
                  base::format_count(batch.jobs.size(), "run"));
  return command::run_batch(batch);
}

std::string check_rows(MeasuredProposals& proposals) {
  std::string table = "CPU," + proposals.cpu + "\n";
  const process::TemporaryFolder folder("recount-propose");
  const std::string file = folder.path() + "/table.csv";
  process::Spawn spawn;
  spawn.argv = {"/proc/self/exe", "check", "--table", file, "--json", "-q", "--repeat", "1"};
  for (const MeasuredPreset& row : proposals.rows) {
    table += make_row(row.preset, row.fits.found.front()) + "\n";
    spawn.argv.push_back(row.preset);
  }
  if (!base::write_file(file, table)) throw base::cannot_write(file, errno);
  try {
    const auto ended = process::capture(spawn, {}, std::chrono::minutes(30));
    const Json json = Json::parse(ended.out);
    for (const auto& verdict : json.at("verdicts"))
      for (MeasuredPreset& row : proposals.rows)
        if (verdict.at("preset") == row.preset) row.verdict = verdict.at("verdict").get<std::string>();
    return {};
  } catch (const std::exception& error) {
    return fmt::format("recount check could not be run: {}", error.what());
  }
}

namespace {

/// A count that starting and stopping the counters may cause: 14 instructions through a raw group on arm64.
constexpr double overhead = 64;
constexpr double rounding = 0.5;  ///< counts are whole
constexpr double steady = 0.05;   ///< share by which repetitions of a reproducible event vary
constexpr double constant = 0.02; ///< share by which the counts of a constant event vary over all points
constexpr std::size_t max_fits = 200, max_steps = 400'000, max_terms = 8;

double middle(const std::vector<double>& counts) {
  return statistics::median(counts);
}
double spread(const std::vector<double>& counts) {
  return statistics::quantile(counts, 0.9) - statistics::quantile(counts, 0.1);
}
/// The smallest count anywhere, as far as it can be the overhead of counting.
double compute_overhead(const MeasuredEvent& event) {
  double least = overhead;
  for (const auto& counts : event.counts)
    if (!counts.empty()) least = std::min(least, middle(counts));
  return std::max(least, 0.0);
}

} // namespace

std::string_view name_of(Usability usability) noexcept {
  constexpr std::string_view names[] = {"usable", "dead", "constant", "irreproducible"};
  return names[static_cast<std::size_t>(usability)];
}

Usability usability(const MeasuredEvent& event) {
  double least = std::numeric_limits<double>::infinity(), most = 0;
  std::size_t points = 0, counting = 0, varying = 0;
  const double floor = 2 * compute_overhead(event);
  for (const auto& counts : event.counts) {
    if (counts.empty()) continue;
    ++points;
    const double count = middle(counts);
    least = std::min(least, count);
    most = std::max(most, count);
    if (count <= floor) continue;
    ++counting;
    varying += spread(counts) > steady * count ? 1U : 0U;
  }
  if (counting == 0) return Usability::dead;
  if (points >= 3 && most - least <= constant * most) return Usability::constant;
  return 2 * varying > counting ? Usability::irreproducible : Usability::usable;
}

std::size_t Fit::weight() const {
  std::size_t weight = terms.size() + (divisor == 1 ? 0U : 1U);
  for (const auto& [name, factor] : terms)
    weight += std::abs(factor) == 1 ? 0U : 1U;
  return weight;
}

std::string formula_text(const Fit& fit) {
  std::string text;
  for (const bool added : {true, false})
    for (const auto& [name, factor] : fit.terms) {
      if ((factor > 0) != added) continue;
      text += text.empty() ? (added ? "" : "-") : added ? " + " : " - ";
      text += (std::abs(factor) == 1 ? "" : fmt::format("{}*", std::abs(factor))) + name;
    }
  return fit.divisor == 1 ? text : fmt::format("({}) / {}", text, fit.divisor);
}

std::string make_row(const std::string& preset, const Fit& fit) {
  std::vector<std::string> added, subtracted;
  bool factors = fit.divisor != 1;
  for (const auto& [name, factor] : fit.terms) {
    (factor > 0 ? added : subtracted).push_back(name);
    factors = factors || std::abs(factor) != 1;
  }
  std::vector<std::string> all = added;
  all.insert(all.end(), subtracted.begin(), subtracted.end());
  const std::string terms = fmt::format("{}", fmt::join(all, ","));
  if (!factors && subtracted.empty())
    return fmt::format("PRESET,{},{},{}", preset, all.size() == 1 ? "NOT_DERIVED" : "DERIVED_ADD", terms);
  if (!factors && added.size() == 1) return fmt::format("PRESET,{},DERIVED_SUB,{}", preset, terms);
  std::string formula;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const int factor = fit.terms.at(all[i]);
    formula += fmt::format("N{}|", i);
    if (std::abs(factor) != 1) formula += fmt::format("{}|*|", std::abs(factor));
    if (i > 0) formula += factor > 0 ? "+|" : "-|";
  }
  if (fit.divisor != 1) formula += fmt::format("{}|/|", fit.divisor);
  return fmt::format("PRESET,{},DERIVED_POSTFIX,{},{}", preset, formula, terms);
}

Measured::Measured(const std::vector<MeasuredEvent>& events) {
  for (const MeasuredEvent& event : events) {
    if (usability(event) != Usability::usable) continue;
    Column column{{event.name}, {}, {}, {}};
    const double slack = compute_overhead(event);
    for (const auto& counts : event.counts) {
      column.counted.push_back(!counts.empty());
      column.counts.push_back(counts.empty() ? 0 : middle(counts));
      column.noise.push_back(counts.empty() ? 0 : spread(counts) + slack);
    }
    const auto same = std::ranges::find_if(columns_, [&](const Column& other) {
      for (std::size_t i = 0; i < column.counts.size(); ++i)
        if (column.counted[i] != other.counted[i] ||
            std::abs(column.counts[i] - other.counts[i]) > std::max(column.noise[i], other.noise[i]))
          return false;
      return true;
    });
    if (same == columns_.end())
      columns_.push_back(std::move(column));
    else
      same->names.push_back(event.name);
  }
}

std::vector<std::string> Measured::same_as(const std::string& event) const {
  for (const Column& column : columns_)
    if (std::ranges::find(column.names, event) != column.names.end()) {
      auto names = column.names;
      std::erase(names, event);
      return names;
    }
  return {};
}

/// One search: columns that are counted at all points of the expectations.
class Measured::Search {
public:
  Search(const Measured& measured, std::vector<Expected> expected)
      : measured_(measured), expected_(std::move(expected)) {
    // The narrowest bounds first: they exclude most.
    std::ranges::stable_sort(expected_, {}, [](const Expected& e) {
      return e.accepted.high <= 0 ? 0 : (e.accepted.high - e.accepted.low) / e.accepted.high;
    });
    fits_.points = expected_.size();
    for (const Expected& e : expected_)
      fits_.positive += e.accepted.low > 0 ? 1U : 0U;
    for (std::size_t c = 0; c < measured.columns_.size(); ++c)
      if (std::ranges::all_of(expected_,
                              [&](const Expected& e) { return measured.columns_[c].counted[e.point]; }))
        columns_.push_back(c);
  }

  Fits run(const std::vector<Fit>& suggested) && {
    if (fits_.positive == 0) return std::move(fits_);
    for (const Fit& fit : suggested)
      suggest(fit);
    singles();
    pairs();
    if (fits_.found.empty()) triples();
    if (fits_.found.empty()) sums({}, 1);
    return std::move(fits_);
  }

private:
  using Terms = std::vector<std::pair<std::size_t, int>>; ///< column, factor

  struct Value {
    double sum = 0, noise = 0;
  };
  [[nodiscard]] Value value(const Terms& terms, std::size_t point) const {
    Value all;
    for (const auto& [c, factor] : terms) {
      all.sum += factor * measured_.columns_[c].counts[point];
      all.noise += std::abs(factor) * measured_.columns_[c].noise[point];
    }
    return all;
  }
  /// The largest residual; none when it does not fit.
  std::optional<double> residual(const Terms& terms, int divisor) {
    double worst = 0;
    for (const Expected& e : expected_) {
      const auto [total, spread] = value(terms, e.point);
      const double sum = total / divisor, noise = spread / divisor + rounding;
      const double outside = std::max({e.accepted.low - sum, sum - e.accepted.high, 0.0});
      if (outside > noise) return {};
      worst = std::max(worst, outside / noise);
    }
    return worst;
  }
  /// Whether a formula that was found already is part of this one: the others then do not matter.
  bool has_part(const Terms& terms) const {
    return std::ranges::any_of(found_, [&](const Terms& part) {
      return std::ranges::all_of(part, [&](const auto& term) {
        return std::ranges::any_of(terms, [&](const auto& t) { return t.first == term.first; });
      });
    });
  }
  void offer(const Terms& terms, int divisor = 1) {
    const auto how = residual(terms, divisor);
    if (!how || has_part(terms)) return;
    found_.push_back(terms);
    Fit fit{{}, divisor, *how};
    for (const auto& [c, factor] : terms)
      fit.terms[measured_.columns_[c].names.front()] = factor;
    if (std::ranges::find(fits_.found, fit) == fits_.found.end()) fits_.found.push_back(std::move(fit));
  }
  /// With the names of the suggestion, though other events have the same counts.
  void suggest(const Fit& fit) {
    Terms terms;
    for (const auto& [name, factor] : fit.terms) {
      const auto at = std::ranges::find_if(columns_, [&](std::size_t c) {
        return std::ranges::find(measured_.columns_[c].names, name) != measured_.columns_[c].names.end();
      });
      if (at == columns_.end()) return;
      terms.emplace_back(*at, factor);
    }
    const auto how = residual(terms, fit.divisor);
    if (!how) return;
    fits_.found.push_back(fit);
    fits_.found.back().residual = *how;
    found_.push_back(terms);
  }
  void singles() {
    for (const std::size_t c : columns_) {
      for (const int factor : {1, 2, 4, 8})
        offer({{c, factor}});
      for (const int divisor : {2, 4})
        offer({{c, 1}}, divisor);
    }
  }
  void pairs() {
    for (const std::size_t a : columns_)
      for (const std::size_t b : columns_) {
        if (a == b || fits_.found.size() >= max_fits) continue;
        offer({{a, 1}, {b, -1}});
        if (a < b) offer({{a, 1}, {b, 1}});
        for (const int factor : {2, 4, 8})
          offer({{a, 1}, {b, factor}});
      }
  }
  void triples() {
    for (const std::size_t a : columns_)
      for (const std::size_t b : columns_)
        for (const std::size_t c : columns_) {
          if (b >= c || a == b || a == c || fits_.found.size() >= max_fits) continue;
          offer({{a, 1}, {b, -1}, {c, -1}});
          offer({{b, 1}, {c, 1}, {a, -1}});
        }
  }
  /// Sums of more terms: an event is added with each factor that nowhere exceeds what is accepted, beginning
  /// where most is missing.
  void sums(const Terms& terms, int depth) {
    if (++steps_ > max_steps || fits_.found.size() >= max_fits) {
      fits_.complete = false;
      return;
    }
    const Expected* most = nullptr;
    double missing = 0;
    for (const Expected& e : expected_) {
      const auto [sum, spread] = value(terms, e.point);
      const double noise = spread + rounding;
      if (sum - e.accepted.high > noise) return;
      const double share = (e.accepted.low - sum - noise) / std::max(e.accepted.low, 1.0);
      if (share > missing) {
        missing = share;
        most = &e;
      }
    }
    if (!most) return offer(terms);
    if (depth > static_cast<int>(max_terms)) return;
    for (const std::size_t c : columns_) {
      const Column& column = measured_.columns_[c];
      if (column.counts[most->point] <= 2 * column.noise[most->point]) continue;
      if (std::ranges::any_of(terms, [&](const auto& term) { return term.first == c; })) continue;
      for (const int factor : {1, 2, 4, 8, 16, 32}) {
        Terms more = terms;
        more.emplace_back(c, factor);
        sums(more, depth + 1);
      }
    }
  }

  const Measured& measured_;
  std::vector<Expected> expected_;
  std::vector<std::size_t> columns_;
  std::vector<Terms> found_;
  Fits fits_;
  std::size_t steps_ = 0;
};

Fits Measured::fits(const std::vector<Expected>& expected, const std::vector<Fit>& suggested) const {
  Fits fits = Search(*this, expected).run(suggested);
  // Those of relatives stay first among formulas of the same size.
  std::ranges::stable_sort(fits.found, {}, [&](const Fit& fit) {
    return std::ranges::find(suggested, fit) != suggested.end() ? 0 : fit.weight();
  });
  return fits;
}

} // namespace recount::propose
