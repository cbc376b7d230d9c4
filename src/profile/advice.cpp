// What other machines, simulated beside, would leave of the misses of the worst lines.
#include "base/characters.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "command/output.hpp"
#include "model/machine.hpp"
#include "profile/modelled.hpp"
#include "profile/report.hpp"
#include "trace/miss_kinds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>

namespace recount::profile {
namespace {
using Kinds = trace::MissKinds;
constexpr std::size_t worst_lines = 5;
constexpr double least_part = 0.01; ///< of all occurrences, misses or walks: less is not told
constexpr double least_gain = 0.05; ///< of what a line has: less is not told

/// Where the counts of MissKinds are among the events.
class Counts {
public:
  explicit Counts(const Profile& p) : at_(Kinds::names.size()) {
    for (std::size_t e = 0; e < p.recording.events.size(); ++e) {
      const auto event = modelled_event(p.recording.events[e].event.name);
      const auto kind = std::ranges::find(Kinds::names, event ? event->metric : std::string());
      if (kind != Kinds::names.end()) at_[static_cast<std::size_t>(kind - Kinds::names.begin())] = e;
    }
  }
  [[nodiscard]] bool any() const { return at_[Kinds::if_full].has_value(); }
  template <class Weight>
  [[nodiscard]] std::uint64_t of(Kinds::Number kind, const Weight& weight) const {
    return at_[kind] ? weight(*at_[kind]) : 0;
  }
  template <class Weight>
  [[nodiscard]] std::uint64_t misses(const Weight& weight) const {
    return of(Kinds::compulsory, weight) + of(Kinds::capacity, weight) + of(Kinds::conflict, weight) +
           of(Kinds::coherence, weight);
  }

private:
  std::vector<std::optional<std::size_t>> at_;
};

/// One count where a part of the machine is otherwise.
struct Change {
  Kinds::Number kind;
  std::string what;
};

/// "16384 with a fully associative L1d", those that leave clearly fewer; empty: none does.
template <class Weight>
std::string remainders(const Counts& counts, const Weight& weight, std::uint64_t all,
                       const std::vector<Change>& changes) {
  std::string text;
  for (const Change& change : changes) {
    const std::uint64_t left = counts.of(change.kind, weight);
    if (static_cast<double>(left) > (1 - least_gain) * static_cast<double>(all)) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", left, change.what);
  }
  return text;
}

struct Changes {
  std::vector<Change> cache, tlb;
  std::string level;
};

/// Those data whose rows were simulated longer.
std::string padding_of(const Profile& p) {
  std::vector<std::string> padded;
  for (const NamedObject& object : p.naming.objects)
    if (object.row > 0)
      padded.push_back(fmt::format("{} ({})", object.name, base::format_count(object.row, "byte")));
  return fmt::format("if the rows of {} were a line longer", fmt::join(padded, " and "));
}

Changes changes_of(const Profile& p) {
  const auto machine = model::machine(modelled_event(p.recording.events.front().event.name)->machine);
  const std::string& level = machine.levels.front().name;
  const auto page = static_cast<std::int64_t>(machine.tlb ? machine.tlb->huge_page : 0);
  return {{{Kinds::if_full, fmt::format("if {} were fully associative", level)},
           {Kinds::if_twice, fmt::format("if {} were twice as large", level)},
           {Kinds::if_padded, padding_of(p)}},
          {{Kinds::walks_if_huge, fmt::format("with pages of {}", base::format_bytes(page))},
           {Kinds::walks_if_twice, "with twice the TLB entries"}},
          level};
}

template <class Weight>
std::string sentence(const Counts& counts, const Weight& weight, const Weight& total,
                     const Changes& changes) {
  const auto matters = [&](std::uint64_t part, std::uint64_t all) {
    return part > 0 && static_cast<double>(part) >= least_part * static_cast<double>(all);
  };
  std::string text;
  if (const auto misses = counts.misses(weight); matters(misses, counts.misses(total))) {
    const std::string left = remainders(counts, weight, misses, changes.cache);
    const auto others = counts.of(Kinds::coherence, weight);
    text = fmt::format("{} misses in {}{}, {}", misses, changes.level,
                       matters(others, misses)
                           ? fmt::format(" ({} because another core stored to the line)", others)
                           : std::string(),
                       left.empty() ? "no fewer if it were fully associative or twice as large" : left);
  }
  const auto walks = counts.of(Kinds::walks, weight);
  if (!matters(walks, counts.of(Kinds::walks, total))) return text;
  const std::string left = remainders(counts, weight, walks, changes.tlb);
  if (!left.empty()) text += fmt::format("{}{} page walks, {}", text.empty() ? "" : "; ", walks, left);
  return text;
}

/// The data with most misses of each line.
std::map<std::string, std::string> data_of_lines(const Profile& p) {
  std::map<std::string, std::string> data;
  for (const auto& row : gather(p.recording.places, p.naming, By::line_object))
    if (row.object) data.try_emplace(row.function + row.file + std::to_string(row.line), row.object->name);
  return data;
}
} // namespace

std::string advice_text(const Profile& p) {
  const Counts counts(p);
  if (!counts.any() || !p.recording.not_counted.empty()) return {};
  const Changes changes = changes_of(p);
  const auto data = data_of_lines(p);
  std::string text;
  std::size_t told = 0;
  using Weight = std::function<std::uint64_t(std::size_t)>;
  const Weight total = [&](std::size_t e) { return p.recording.places.total(e).weight; };
  for (const auto& row : gather(p.recording.places, p.naming, By::line)) {
    if (told == worst_lines) break;
    const Weight weight = [&](std::size_t e) { return row.tallies[e].weight; };
    if (static_cast<double>(weight(0)) < least_part * static_cast<double>(total(0))) break;
    const std::string its = sentence(counts, weight, total, changes);
    if (its.empty()) continue;
    ++told;
    const auto object = data.find(row.function + row.file + std::to_string(row.line));
    const std::string where = !row.source.empty()     ? row.source
                              : !row.function.empty() ? row.function
                                                      : fmt::format("{:#x}", row.address);
    text += "  " +
            command::wrap(base::printable(fmt::format(
                              "{}{}: {}.", where, object == data.end() ? "" : " on " + object->second, its)),
                          command::line_width(stderr), 4) +
            "\n";
  }
  if (text.empty()) return text;
  return "what would help (the first level and the TLB, each simulated alone)\n" + text +
         command::wrap("  not simulated here: another loop order, or blocks. recount sweep nest --order all "
                       "simulates them "
                       "for a loop written as text, see recount-nest(5)",
                       command::line_width(stderr), 4) +
         "\n";
}

} // namespace recount::profile
