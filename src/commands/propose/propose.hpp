// Rows of a preset table for one CPU, from the rows of related CPUs.
#pragma once

#include "base/formula/algebra.hpp"
#include "count/lint/lint.hpp"
#include "count/preset/catalogue.hpp"

#include <map>
#include <memory>
#include <optional>
#include <recount/preset.hpp>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace recount::propose {
// The events of one CPU: by name, by encoding and by description.

/// The words of a description, in small letters, without those that all descriptions have.
[[nodiscard]] std::set<std::string> split_words(std::string_view prose);
/// Common words as a share of all words, 0 to 1; 0 without words.
[[nodiscard]] double similarity(const std::set<std::string>& a, const std::set<std::string>& b);

/// An event with a unit mask, if it has any.
struct NamedEvent {
  std::string name; ///< "L1D:REPLACEMENT"
  preset::Native native;
  std::set<std::string> words; ///< of its description
};

/// Not thread-safe.
class EventIndex {
public:
  /// `source` must outlive this object; `source.core` is not null.
  EventIndex(const lint::EventSource& source, PapiVersion version);

  [[nodiscard]] preset::Natives& natives() { return natives_; }
  /// Of all events, alone and with each unit mask.
  [[nodiscard]] const std::set<std::string>& names() const { return names_; }
  /// Those that libpfm4 can encode. Encoded at the first call.
  [[nodiscard]] const std::vector<NamedEvent>& events();
  /// Indices into events().
  [[nodiscard]] const std::vector<std::size_t>& events_with_code(const preset::Native& native);

private:
  using Code = std::tuple<std::uint32_t, std::uint64_t, std::uint64_t, std::uint64_t>;
  preset::Natives natives_;
  std::set<std::string> names_;
  std::vector<NamedEvent> events_;
  std::map<Code, std::vector<std::size_t>> by_code_;
};

/// A term of a formula of one CPU, as an event of another.
struct Translation {
  std::string name;   ///< empty: it has no counterpart
  std::string remark; ///< what differs; empty: nothing
  double quality = 0; ///< 0 to 1
};
/// Whether the CPU has this event, by whatever name, for vectors of other widths only.
[[nodiscard]] bool lacks_width(const std::string& term, EventIndex& there, EventIndex& here);
/// `term` is an event of `there`, and is translated to an event of `here`.
[[nodiscard]] Translation translate(const std::string& term, EventIndex& there, EventIndex& here);

// The formulas of related CPUs.

/// The variables of formulas over the events of one CPU: one for each encoding.
struct Codes {
  std::vector<preset::Native> natives;
  std::vector<std::string> names; ///< the first of each
  [[nodiscard]] formula::Variable of(const preset::Native& native, const std::string& name);
};
/// "A + B", else the formula as it is written. `codes`: names of the variables; `terms`: those of N0, N1 ...
[[nodiscard]] std::string formula_text(const formula::Quotient& meaning,
                                       const std::vector<std::string>& codes, const Preset& preset,
                                       const std::vector<std::string>& terms);

/// A formula over encodings of the CPU, and the rows that give it.
struct Formula {
  std::string row;                  ///< "PRESET,PAPI_L1_DCM,NOT_DERIVED,L1D:REPLACEMENT"
  std::string text;                 ///< "L1D:REPLACEMENT"
  formula::Quotient meaning;        ///< over the variables of Codes
  std::map<std::string, int> terms; ///< factors of its events; empty: not a sum of multiples
  std::vector<std::string> from;    ///< CPUs, the nearest first
  std::set<int> lines;              ///< of the table
  std::vector<std::string> remarks; ///< of its terms
  double score = 0;
};

enum class Confidence { low, medium, high };
[[nodiscard]] std::string_view name_of(Confidence confidence) noexcept;

struct Proposal {
  std::string preset;
  std::vector<Formula> formulas;    ///< the proposed one, then those of other relatives
  std::vector<std::string> remarks; ///< differences, findings of lint, other formulas
  Confidence confidence = Confidence::low;
};

struct Unproposed {
  std::string preset, reason;
};

struct Proposals {
  std::string cpu;
  std::vector<std::pair<std::string, double>> relatives; ///< with the share of common events, nearest first
  std::vector<Proposal> rows;                            ///< in the order of PAPI's presets
  std::vector<Unproposed> missing;
  std::string note;    ///< on a CPU that libpfm4 does not know; else empty
  std::size_t own = 0; ///< rows of the CPU in the table, which were not used
};

/// One table, with the events of each of its CPUs.
class Lineage {
public:
  /// `catalogue` may be null. `version`: the PAPI that shall read the proposed rows; none: that of the table.
  /// Throws Error (bad_input) for a table without rows.
  Lineage(const PresetTable& table, const preset::Catalogue* catalogue,
          std::optional<PapiVersion> version = {});

  /// `from`: only these CPUs; empty: those of the families of lint. Rows that `cpu` has are not used, nor
  /// those of CPUs that have exactly its events. Throws Error (bad_input) for unknown names.
  [[nodiscard]] Proposals propose(const std::string& cpu, const std::vector<std::string>& from) {
    Codes codes;
    return propose(cpu, from, codes);
  }
  /// The numbers of equal, different, missing and further rows for a CPU that has rows.
  struct Comparison {
    std::string cpu = {}, vendor = {};
    int rows = 0, equal = 0, different = 0, unremarked = 0, missing = 0, extra = 0;
    std::string nearest = {}; ///< empty: no relative has rows of its own
    std::vector<std::string> details = {};
  };
  [[nodiscard]] Comparison leave_out(const std::string& cpu);
  /// The CPUs of the table whose events are known, in its order.
  [[nodiscard]] std::vector<std::string> cpus() const;

private:
  struct Relative {
    const preset::CpuView* view;
    EventIndex* events;
    double similarity;
  };
  EventIndex& event_index(const std::string& cpu, PapiVersion version);
  std::vector<Relative> relatives(const std::string& cpu, const std::vector<std::string>& from);
  const preset::CpuView* find_view(const std::string& cpu) const;
  Proposals propose(const std::string& cpu, const std::vector<std::string>& from, Codes& codes);
  /// The row of a relative as a formula of `here`; none, with `why`, where it has no counterpart.
  std::optional<Formula> translated(const Preset& row, const Relative& relative, EventIndex& here,
                                    Codes& codes, std::string& why);
  /// The row that the architecture of the CPU defines; none where the CPU lacks its events.
  std::optional<Formula> architectural(const std::string& preset, EventIndex& here, Codes& codes);
  std::vector<Formula> formulas(const std::string& preset, const std::vector<Relative>& relatives,
                                const std::set<int>& hidden, EventIndex& here, Codes& codes,
                                std::string& why);
  std::map<std::string, std::vector<std::string>> faults(Proposals& all);

  const PresetTable& table_;
  const preset::Catalogue* catalogue_;
  PapiVersion table_version_; ///< for the rows of relatives
  PapiVersion version_;       ///< for the proposed rows
  std::vector<preset::CpuView> views_;
  std::map<std::pair<std::string, PapiVersion>, std::unique_ptr<EventIndex>> events_;
};

/// The kernels of recount check that state a count of the preset.
[[nodiscard]] std::vector<std::string> find_kernels(const std::string& preset);
/// The proposals as a preset table with comments. `table`: the name of the table they are from.
[[nodiscard]] std::string format_csv(const Proposals& proposals, const std::string& table);
/// The proposals as one JSON object.
[[nodiscard]] std::string format_json(const Proposals& proposals, const std::string& table);

// What the tables that recount propose writes have in common.

/// Lines of a comment, which PAPI reads in pieces of 2047 bytes at most.
[[nodiscard]] std::string comment(std::string text);
/// Comments with the presets by the reason why they have no row; empty without any.
[[nodiscard]] std::string not_proposed(const std::vector<Unproposed>& missing);

} // namespace recount::propose
