#include "propose/measured_rows.hpp"

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/names.hpp"
#include "base/output_file.hpp"
#include "base/random.hpp"
#include "check/index.hpp"
#include "check/verdict.hpp"
#include "command/measuring.hpp"
#include "command/output.hpp"
#include "command/outputs.hpp"
#include "command/print.hpp"
#include "host/pmu.hpp"
#include "model/machine.hpp"
#include "process/child.hpp"
#include "propose/propose.hpp"
#include "sweep/batch.hpp"
#include "witness/metric_events.hpp"
#include "witness/results_header.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <range/v3/range/conversion.hpp>
#include <range/v3/view/chunk.hpp>
#include <range/v3/view/concat.hpp>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <filesystem>
#include <random>
#include <set>
#include <span>

namespace recount::propose {
namespace {

using Point = std::pair<std::string, result::Params>; ///< kernel and point

/// The counts by perf, event by event at the same points.
struct Counts {
  std::vector<Point> places;
  std::vector<MeasuredEvent> events;

  [[nodiscard]] std::optional<std::size_t> place(const std::string& kernel,
                                                 const result::Params& point) const {
    const auto at = std::ranges::find(places, Point{kernel, point});
    if (at == places.end()) return {};
    return static_cast<std::size_t>(at - places.begin());
  }
  /// An event that was counted there.
  [[nodiscard]] std::string any_event(std::size_t place) const {
    for (const MeasuredEvent& event : events)
      if (!event.counts[place].empty()) return event.name;
    return {};
  }
};

Counts counts_in(const check::Index& index) {
  Counts all;
  std::map<Point, std::size_t> places;
  for (const auto& [key, series] : index.all()) // in the order of the places
    if (const auto& [kernel, point, metric, witness] = key; witness == Witness::perf)
      if (places.try_emplace({kernel, point}, all.places.size()).second)
        all.places.push_back({kernel, point});
  std::map<std::string, std::size_t> events;
  for (const auto& [key, series] : index.all()) {
    const auto& [kernel, point, metric, witness] = key;
    if (witness != Witness::perf) continue;
    const auto [at, fresh] = events.try_emplace(metric, all.events.size());
    if (fresh) all.events.push_back({metric, std::vector<std::vector<double>>(places.size())});
    for (const auto& [repetition, o] : series)
      if (const auto value = result::as_double(o->value))
        all.events[at->second].counts[places.at({kernel, point})].push_back(*value);
  }
  return all;
}

/// What the preset may count at the points that were counted. `tight`: see MeasuredPreset.
std::vector<Expected> expected_of(const std::string& preset, const Statements& statements,
                                  const Counts& counts, const check::Index& index, bool& tight) {
  std::vector<Expected> all;
  std::set<std::size_t> seen;
  for (const bool purpose : {true, false})
    for (const kernel::Proof& proof : purpose ? statements.proofs : statements.side_proofs) {
      if (proof.preset != preset) continue;
      const auto place = counts.place(proof.kernel->name(), proof.point);
      const std::string event = place ? counts.any_event(*place) : std::string();
      if (event.empty() || !seen.insert(*place).second) continue;
      const check::Trial trial =
          purpose ? check::make_trial(event, proof, index) : check::make_side_trial(event, proof, index);
      if (const auto accepted = check::accepted(trial)) {
        all.push_back({*place, *accepted});
        tight = tight || check::tight(trial);
      }
    }
  return all;
}

/// No value where one of the events was not counted.
std::optional<double> value_of(const Fit& fit, const Counts& counts, std::size_t place) {
  double sum = 0;
  for (const auto& [name, factor] : fit.terms) {
    const auto event = std::ranges::find(counts.events, name, &MeasuredEvent::name);
    if (event == counts.events.end() || event->counts[place].empty()) return {};
    sum += factor * statistics::median(event->counts[place]);
  }
  return sum / fit.divisor;
}

/// "KERNEL POINT: A counts 5, B counts 9".
std::string deciding_place(const Fit& a, const Fit& b, const Counts& counts) {
  std::string text;
  double most = 0;
  for (std::size_t place = 0; place < counts.places.size(); ++place) {
    const auto one = value_of(a, counts, place), other = value_of(b, counts, place);
    if (!one || !other) continue;
    const double distance = std::abs(*one - *other) / std::max({std::abs(*one), std::abs(*other), 1000.0});
    if (distance <= most) continue;
    most = distance;
    text = fmt::format("{} {}: {} counts {:.0f}, {} counts {:.0f}", counts.places[place].first,
                       result::describe(counts.places[place].second), text_of(a), *one, text_of(b), *other);
  }
  return text;
}

/// Whether the counts of the formula at two points are in the stated ratio.
bool keeps(const Fit& fit, const kernel::Relation& relation, const Counts& counts) {
  const auto there = counts.place(relation.kernel->name(), relation.point);
  const auto base = counts.place(relation.base_kernel->name(), relation.base_point);
  if (!there || !base) return true;
  const auto one = value_of(fit, counts, *base), count = value_of(fit, counts, *there);
  if (!one || !count) return true;
  constexpr double noise = 0.02; // share, as recount check accepts for its narrowest relations
  const double unit = std::max(*one, 0.0);
  return *count >= (1 - noise) * relation.least * unit - check::stray_occurrences &&
         *count <= (1 + noise) * relation.most * unit + check::stray_occurrences;
}

void add_evidence(MeasuredPreset& row, const Measured& measured, const Proposal* relative) {
  row.kernels = kernels_of(row.preset);
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
  return {kernel::proofs(machine), kernel::beside(machine), kernel::relations(machine)};
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

std::vector<sweep::Job> jobs_of(const Statements& statements, const std::vector<std::string>& events,
                                int repeat, std::uint64_t seed) {
  constexpr std::ptrdiff_t at_once = 64;            // a run that fails loses these
  std::map<Point, std::vector<std::string>> places; // with the presets that the model states
  std::vector<Point> order;
  for (const kernel::Proof& proof : ranges::views::concat(statements.proofs, statements.side_proofs)) {
    if (!is_preset(proof.preset)) continue;
    const Point point{proof.kernel->name(), proof.point};
    auto [at, fresh] = places.try_emplace(point);
    if (fresh) order.push_back(point);
    const auto known = proof.kernel->expected(proof.point);
    if (std::ranges::find(known, proof.preset, &kernel::Expectation::metric) == known.end() &&
        std::ranges::find(at->second, proof.preset) == at->second.end())
      at->second.push_back(proof.preset);
  }
  std::vector<sweep::Job> jobs;
  std::mt19937_64 random(seed);
  for (int repetition = 0; repetition < repeat; ++repetition) {
    const std::size_t from = jobs.size();
    for (const auto& [kernel, point] : order)
      for (const auto some : events | ranges::views::chunk(at_once))
        jobs.push_back({kernel, point, repetition, Witness::perf, some | ranges::to<std::vector>()});
    base::shuffle(std::span(jobs).subspan(from), random);
  }
  for (const Point& point : order)
    if (!places[point].empty()) jobs.push_back({point.first, point.second, 0, Witness::model, places[point]});
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
      relatives.cpu, counts.events.size(), counts.places.size(), {}, measured.size(), {}, {}};
  for (const MeasuredEvent& event : counts.events)
    if (const Usability how = usability(event); how != Usability::usable)
      all.unusable[how].push_back(event.name);
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
    row.fits = measured.fits(expected_of(preset, statements, counts, index, row.tight), suggested);
    std::erase_if(row.fits.found, [&](const Fit& fit) {
      return std::ranges::any_of(statements.relations, [&](const kernel::Relation& relation) {
        return relation.preset == preset && !keeps(fit, relation, counts);
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
    if (row.fits.found.size() > 1) row.decider = deciding_place(row.fits.found[0], row.fits.found[1], counts);
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

constexpr std::size_t most_named = 8;

std::string alternatives(const MeasuredPreset& row) {
  std::vector<std::string> texts;
  for (const Fit& fit : std::span(row.fits.found).subspan(1))
    texts.push_back(text_of(fit));
  if (texts.size() > most_named) {
    const auto more = fmt::format("and {} more", texts.size() - most_named);
    texts.resize(most_named);
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
    text += comment("  the same counts everywhere as " + same);
  if (row.fits.found.size() > 1) text += comment(alternatives(row));
  if (!row.decider.empty()) text += comment("  to decide: a kernel with a known count like " + row.decider);
  if (!row.tight) text += comment("  bounds alone: twice or half the count would be accepted as well");
  if (!row.fits.complete) text += comment("  the search ended early: there may be other formulas");
  if (!row.verdict.empty()) text += comment("  recount check: " + row.verdict);
  // What is not decided, or refuted, is evidence and not a row for PAPI to read.
  const bool refuted = !row.verdict.empty() && row.verdict != "agrees" && row.verdict != "plausible";
  const std::string line = row_of(row.preset, first) + "\n";
  if (row.confidence != Confidence::low && !refuted) return text + line;
  return text + (refuted ? "# refuted: " : "# undecided: ") + line;
}

} // namespace

std::string csv_of(const MeasuredProposals& proposals, const std::string& unchecked) {
  std::string text = comment(fmt::format(
      "Presets of {}, proposed by recount {} from the counts of {} at {}.", proposals.cpu, RECOUNT_VERSION,
      base::format_count(proposals.events, "event"), base::format_count(proposals.places, "point")));
  if (!unchecked.empty()) text += comment(unchecked);
  for (const auto& [how, events] : proposals.unusable)
    text +=
        comment(base::format_count(events.size(), "event is ", "events are ") + std::string(name_of(how)));
  text += comment(base::format_count(proposals.distinct, "usable event has counts of its own",
                                     "usable events have counts of their own"));
  text += "CPU," + proposals.cpu + "\n";
  for (const MeasuredPreset& row : proposals.rows)
    text += row_text(row);
  return text + not_proposed(proposals.missing);
}

namespace {

std::optional<model::MachineDescription> caches() {
  try {
    return model::machine("host");
  } catch (const Error&) { // points that depend on cache sizes are left out
    return {};
  }
}

/// Those that perf can count here, alone.
std::vector<std::string> countable(const std::vector<std::string>& events) {
  std::vector<std::string> able;
  std::string why;
  for (const std::string& event : events) {
    const std::string refused = witness::resolve_metric(event).refused.text();
    if (refused.empty())
      able.push_back(event);
    else if (why.empty())
      why = event + ": " + refused;
  }
  if (able.empty())
    throw unavailable("--measure", "no event of this CPU can be counted: " + why, {}, "recount doctor");
  return able;
}

sweep::Batch batch_of(const MeasureOptions& options, const std::string& cpu,
                      const std::vector<std::string>& events) {
  sweep::Batch batch = sweep::make_batch("propose", options, std::chrono::seconds(60), 1,
                                         {{measured_setting, cpu},
                                          {"--event", fmt::format("{}", fmt::join(options.events, ","))},
                                          {"--repeat", std::to_string(options.repeat)}});
  batch.jobs = jobs_of(statements(caches()), events, options.repeat, 1);
  batch.header.verdicts.clear();
  return batch;
}

/// A file that is removed with this object.
struct TemporaryFile {
  std::string path = (std::filesystem::temp_directory_path() / "recount-propose-XXXXXX").string();
  TemporaryFile() {
    const int fd = ::mkstemp(path.data());
    if (fd < 0 || ::close(fd) != 0) throw base::cannot_write(path, errno);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() { ::unlink(path.c_str()); }
};

} // namespace

void check_options(const MeasureOptions& options) {
  sweep::Execution how;
  sweep::limit_runs(how, options.timeout, std::chrono::seconds(60));
  if (!options.cpu.empty()) static_cast<void>(command::parse_cpu(options.cpu));
}

result::Results measure(const MeasureOptions& options, const Proposals& relatives, bool& stopped) {
  EventIndex index(lint::source_of(relatives.cpu, nullptr), PapiVersion::v7_0);
  const auto events = countable(options.events.empty() ? events_to_count(index, relatives) : options.events);
  const sweep::Batch batch = batch_of(options, relatives.cpu, events);
  if (!options.quiet)
    command::note("recount propose: {}, {}\n", base::format_count(events.size(), "event"),
                  base::format_count(batch.jobs.size(), "run"));
  auto ended = sweep::run_batch(batch);
  stopped = ended.outcome.stopped;
  return std::move(ended.results);
}

std::map<std::string, std::string> verdicts_on(const MeasuredProposals& proposals, std::string& why) {
  std::string table = "CPU," + proposals.cpu + "\n";
  process::Spawn spawn;
  const TemporaryFile file;
  spawn.argv = {"/proc/self/exe", "check", "--table",  file.path, "--json",
                "--no-verdicts",  "-q",    "--repeat", "1"};
  for (const MeasuredPreset& row : proposals.rows) {
    table += row_of(row.preset, row.fits.found.front()) + "\n";
    spawn.argv.push_back(row.preset);
  }
  if (!base::write_file(file.path, table)) throw base::cannot_write(file.path, errno);
  std::map<std::string, std::string> verdicts;
  try {
    const auto ended = process::capture(spawn, {}, std::chrono::minutes(30));
    const Json json = Json::parse(ended.out);
    for (const auto& one : json.at("verdicts"))
      verdicts[one.at("preset").get<std::string>()] = one.at("verdict").get<std::string>();
  } catch (const std::exception& error) {
    why = fmt::format("recount check could not be run: {}", error.what());
  }
  return verdicts;
}

} // namespace recount::propose
