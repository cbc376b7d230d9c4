#include "kernel/proofs.hpp"

#include "base/format.hpp"
#include "base/names.hpp"
#include "base/text.hpp"
#include "model/metrics.hpp"
#include "proofs_data.hpp" // made from data/proofs.txt by the build
#include "recount/error.hpp"

#include <algorithm>
#include <array>
#include <bitset>
#include <map>
#include <set>
#include <utility>

namespace recount::kernel {

namespace {

struct RelationRow {
  std::string kernel, point, base_kernel, base_point, presets;
  double least, most;
  std::string why;
};
struct DoubtRow {
  std::string kernel, choice, presets;
};

/// The rows of data/proofs.txt, which explains them.
struct Tables {
  std::vector<ProofRow> proofs;
  std::vector<RelationRow> relations;
  std::vector<DoubtRow> doubts, kept;
  std::vector<Unprovable> unprovable;

  Tables() {
    static const std::map<std::string_view, double> tolerances{
        {"exact", 0.005}, {"close", 0.05}, {"rough", 0.2}, {"none", 0}};
    const auto number = [](std::string_view text) { return base::parse<double>(text).value(); };
    for (const auto& [where, cells] : base::data_rows(proofs_data, "proofs.txt")) {
      const std::vector<std::string> c(cells.begin(), cells.end());
      if (c[0] == "proof") proofs.push_back({c.at(1), c.at(2), c.at(3), tolerances.at(cells.at(4)), c.at(5)});
      if (c[0] == "relation")
        relations.push_back(
            {c.at(1), c.at(2), c.at(3), c.at(4), c.at(5), number(c.at(6)), number(c.at(7)), c.at(8)});
      if (c[0] == "doubt") doubts.push_back({c.at(1), c.at(2), c.at(3)});
      if (c[0] == "kept") kept.push_back({c.at(1), c.at(2), c.at(3)});
      if (c[0] == "never") unprovable.push_back({c.at(1), c.at(2)});
    }
  }
};

const Tables& tables() {
  static const Tables all;
  return all;
}

using MaybeMachine = std::optional<model::MachineDescription>;

/// Whether a kernel accepts this size.
bool takes_value(const Kernel& kernel, const std::string& name, std::int64_t value) {
  const auto parameters = kernel.parameters();
  const auto found = std::ranges::find(parameters, name, &Parameter::name);
  return found != parameters.end() && value >= found->least && (found->most == 0 || value <= found->most);
}

/// "@2", "0.5*@2": bytes, a whole number of lines. Nothing where the machine has no such level.
std::optional<std::int64_t> scaled_size(const std::string& text, const MaybeMachine& machine) {
  const auto at = text.find('@');
  const auto level = static_cast<std::size_t>(std::stoi(text.substr(at + 1)));
  const double times = at == 0 ? 1 : std::stod(text.substr(0, at - 1));
  if (!machine || machine->levels.size() < level) return std::nullopt;
  const auto& cache = machine->levels[level - 1];
  return static_cast<std::int64_t>(times * static_cast<double>(cache.size)) / cache.line * cache.line;
}

/// Nothing where the machine has no such level, or the kernel does not take its size.
std::optional<ParamValue> parse_value(const std::string& text, const std::string& name, const Kernel& kernel,
                                      const MaybeMachine& machine) {
  if (text.find('@') != text.npos) {
    const auto size = scaled_size(text, machine);
    if (!size || !takes_value(kernel, name, *size)) return std::nullopt;
    return *size;
  }
  const auto parameters = kernel.parameters();
  const auto found = std::ranges::find(parameters, name, &Parameter::name);
  if (found != parameters.end() && found->unit == Parameter::Unit::choice) return text;
  return std::int64_t{std::stoll(text)};
}

std::optional<Params> parse_proof_point(const std::string& text, const Kernel& kernel,
                                        const MaybeMachine& machine) {
  Params point;
  for (const std::string& word : base::words(text)) {
    const auto equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const auto value = parse_value(word.substr(equals + 1), name, kernel, machine);
    if (!value) return std::nullopt;
    point[name] = *value;
  }
  return complete(kernel, point);
}

/// Whether this architecture has the instructions of a valid row.
bool exists_here(const Kernel& kernel, const Params& point) {
  try {
    return kernel.bytes(point) > 0;
  } catch (const Error&) {
    return false;
  }
}

/// Whether the model of this machine, whose instruction caches are not described, simulates the kernel.
bool simulates(const Kernel& kernel) {
  return kernel.unsimulated().empty() && !kernel.fetches();
}

/// Whether the kernel has an expected count of the preset at this point on this machine.
bool answers(const Kernel& kernel, const std::vector<Expectation>& known, const std::string& preset,
             const std::vector<std::string>& simulated) {
  const auto states = [&](const Expectation& e) { return e.metric == preset; };
  if (std::ranges::find_if(known, states) != known.end()) return true;
  return simulates(kernel) && std::ranges::find(simulated, preset) != simulated.end();
}

/// Whether "A B C" names the preset, or "-A B C" does not.
bool names(std::string_view presets, const std::string& preset) {
  const bool all_but = presets.starts_with('-');
  const auto words = base::words(presets.substr(all_but ? 1 : 0));
  return (std::ranges::find(words, preset) != words.end()) != all_but;
}

/// Whether a row of the table concerns the preset there.
bool listed(std::span<const DoubtRow> rows, const std::string& preset, const Kernel& kernel,
            const Params& point) {
  return std::ranges::any_of(rows, [&](const DoubtRow& row) {
    const auto chosen = [&](const auto& parameter) {
      const auto* const value = std::get_if<std::string>(&parameter.second);
      return value && *value == row.choice;
    };
    return (row.kernel.empty() || row.kernel == kernel.name()) &&
           (row.choice.empty() || std::ranges::any_of(point, chosen)) && names(row.presets, preset);
  });
}

/// Chooses the points that tell a preset from others, of many that state it.
class Distinction {
public:
  /// What else a count could be: each preset, times each factor; and the preset with each other one added or
  /// subtracted, the last of each.
  static constexpr std::array factors{1.0, 2.0, 4.0, 8.0, 0.5, 0.25, 0.125};
  static constexpr std::size_t max_presets = 160, each = factors.size() + 1;
  using Others = std::bitset<max_presets * each>;
  /// Times that each other one is excluded, where points allow.
  static constexpr int enough(std::size_t other) { return other % each == factors.size() ? 1 : 2; }

  /// Which others the point excludes; none where the kernel does not state the preset.
  [[nodiscard]] std::optional<Others> excluded(const Proof& by) {
    const auto& all = stated(by);
    const std::size_t own_place = find_place(by.preset);
    const auto found = std::ranges::find(all, own_place, &Stated::place);
    if (found == all.end()) return {};
    const Expectation* const own = &found->count;
    constexpr double stray = 64;
    const double margin = std::max(by.tolerance * own->value, stray);
    const double low = own->value - own->below - margin, high = own->value + own->above + margin;
    Others others;
    for (const auto& [at, other] : all) {
      if (at + each > others.size()) continue;
      others.set(at + factors.size(),
                 at != own_place && other.value - other.below > own->below + own->above + margin);
      for (std::size_t f = 0; f < factors.size(); ++f)
        if (factors[f] * (other.value + other.above) < low || factors[f] * (other.value - other.below) > high)
          others.set(at + f);
    }
    return others;
  }

  /// Those of `candidates`, all of one preset, that exclude more than `given` do; greedily, the best first.
  [[nodiscard]] std::vector<Proof> choose(const std::vector<Proof>& given, std::vector<Proof> candidates) {
    std::array<int, Others().size()> times{};
    Others wanted;
    wanted.set();
    const auto count = [&](const Others& others) {
      const Others fresh = others & wanted;
      for (std::size_t i = fresh._Find_first(); i < fresh.size(); i = fresh._Find_next(i))
        if (++times[i] == enough(i)) wanted.reset(i);
    };
    for (const Proof& one : given)
      if (const auto others = excluded(one)) count(*others);
    std::vector<Proof> chosen;
    std::vector<Candidate> rest;
    for (Proof& one : candidates) {
      if (const auto others = excluded(one))
        rest.push_back({std::move(one), *others});
      else
        chosen.push_back(std::move(one)); // simulated: known to nobody but the model
    }
    while (Candidate* const best = find_best(rest, wanted)) {
      count(best->others);
      best->gain = 0;
      chosen.push_back(std::move(best->proof));
    }
    return chosen;
  }

private:
  struct Stated {
    std::size_t place; ///< of the preset in Others
    Expectation count;
  };
  struct Candidate {
    Proof proof;
    Others others;
    std::size_t gain = Others().size(); ///< it excludes at most so many of those wanted
  };
  /// The first of those that exclude most; null: none excludes any.
  static Candidate* find_best(std::vector<Candidate>& all, const Others& wanted) {
    Candidate* best = nullptr;
    std::size_t gain = 0;
    for (Candidate& one : all) {
      if (one.gain <= gain) continue;
      one.gain = (one.others & wanted).count();
      if (one.gain <= gain) continue;
      best = &one;
      gain = one.gain;
    }
    return best;
  }
  const std::vector<Stated>& stated(const Proof& at) {
    const auto [known, fresh] = stated_.try_emplace({at.kernel, at.point});
    if (fresh)
      for (Expectation& one : at.kernel->expected(at.point)) {
        const std::size_t place = find_place(one.metric);
        known->second.push_back({place, std::move(one)});
      }
    return known->second;
  }
  std::size_t find_place(const std::string& preset) {
    return places_.try_emplace(preset, places_.size() * each).first->second;
  }

  std::map<std::pair<const Kernel*, Params>, std::vector<Stated>> stated_;
  std::map<std::string, std::size_t> places_;
};

/// visit(row, kernel, point) for each row that this machine and architecture have.
template <class Visit>
void for_each_proof(const MaybeMachine& machine, const Visit& visit) {
  for (const ProofRow& row : tables().proofs) {
    const Kernel& kernel = find(row.kernel);
    const auto point = parse_proof_point(row.point, kernel, machine);
    if (point && exists_here(kernel, *point)) visit(row, kernel, *point);
  }
}

std::map<std::string, std::vector<Proof>> by_preset(const std::vector<Proof>& all) {
  std::map<std::string, std::vector<Proof>> sorted;
  for (const Proof& one : all)
    sorted[one.preset].push_back(one);
  return sorted;
}

} // namespace

std::vector<Proof> proofs(const std::optional<model::MachineDescription>& machine) {
  const auto simulated = machine ? model::metric_names(*machine) : std::vector<std::string>{};
  std::vector<Proof> all;
  for_each_proof(machine, [&](const ProofRow& row, const Kernel& kernel, const Params& point) {
    const auto known = kernel.expected(point);
    for (const std::string& preset : base::words(row.presets))
      if (answers(kernel, known, preset, simulated))
        all.push_back({preset, &kernel, point, row.tolerance, row.why});
  });
  return all;
}

std::vector<Proof> side_proofs(const MaybeMachine& machine) {
  const auto proven = proofs(machine);
  const auto simulated = machine ? model::metric_names(*machine) : std::vector<std::string>{};
  std::vector<Proof> all, kept;
  std::map<std::string, std::set<std::pair<const Kernel*, Params>>> known; // points by preset
  for (const Proof& one : proven)
    known[one.preset].emplace(one.kernel, one.point);
  const auto add = [&](const ProofRow& row, const Kernel& kernel, const Params& point,
                       const std::string& preset) {
    const auto points = known.find(preset);
    if (points == known.end() || !points->second.emplace(&kernel, point).second) return;
    if (listed(tables().doubts, preset, kernel, point)) return; // a correct counter may count something else
    (listed(tables().kept, preset, kernel, point) ? kept : all)
        .push_back({preset, &kernel, point, row.tolerance, row.why});
  };
  for_each_proof(machine, [&](const ProofRow& row, const Kernel& kernel, const Params& point) {
    for (const Expectation& one : kernel.expected(point))
      if (is_preset(one.metric)) add(row, kernel, point, one.metric);
    // Larger arrays are walked by page walkers, whose reads the model does not know.
    const bool sized = row.point.find('@') != std::string::npos;
    if (sized && simulates(kernel))
      for (const std::string& preset : simulated)
        if (preset.starts_with("PAPI_L")) add(row, kernel, point, preset);
  });
  Distinction distinction;
  auto given = by_preset(proven);
  for (const Proof& one : kept)
    given[one.preset].push_back(one);
  std::vector<Proof> chosen = kept;
  for (auto& [preset, candidates] : by_preset(all))
    for (Proof& one : distinction.choose(given[preset], candidates))
      chosen.push_back(std::move(one));
  return chosen;
}

std::vector<Relation> relations(const MaybeMachine& machine) {
  std::vector<Relation> all;
  for (const RelationRow& row : tables().relations) {
    const Kernel &kernel = find(row.kernel), &base = find(row.base_kernel);
    const auto point = parse_proof_point(row.point, kernel, machine),
               base_point = parse_proof_point(row.base_point, base, machine);
    if (!point || !base_point || !exists_here(kernel, *point) || !exists_here(base, *base_point)) continue;
    for (const std::string& preset : base::words(row.presets))
      all.push_back({preset, &kernel, *point, &base, *base_point, row.least, row.most, row.why});
  }
  return all;
}

std::span<const Unprovable> unprovable() {
  static const std::vector<Unprovable> all = [] {
    const auto proven = proofs(model::machine("i7-9700-l3")); // any machine with three levels will do
    std::vector<Unprovable> list;
    const auto add = [&](const std::string& preset, const std::string& reason) {
      if (std::ranges::find(proven, preset, &Proof::preset) == proven.end() &&
          std::ranges::find(list, preset, &Unprovable::preset) == list.end())
        list.push_back({preset, reason});
    };
    for (const Unprovable& row : tables().unprovable)
      add(row.preset, row.reason);
    for (const ProofRow& row : tables().proofs) {
      for (const std::string& preset : base::words(row.presets))
        if (is_preset(preset)) add(preset, "its kernel is written in assembly, for x86-64 and aarch64 only");
    }
    return list;
  }();
  return all;
}

std::span<const ProofRow> proof_rows() {
  return tables().proofs;
}

std::span<const Unprovable> unprovable_rows() {
  return tables().unprovable;
}

} // namespace recount::kernel
