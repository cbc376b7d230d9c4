#include "errata/errata.hpp"

#include "base/data_rows.hpp"
#include "base/format.hpp"
#include "errata/errata_data.hpp" // made from data/errata.txt by the build

#include <recount/error.hpp>

#include <algorithm>

namespace recount::errata {
namespace {

/// One row of the table.
class RowParser {
public:
  explicit RowParser(const base::DataRow& row) : row_(row) {
    if (row.cells.size() != 7) fail("seven columns, separated by |, are required");
    if (std::ranges::any_of(row.cells, &std::string_view::empty)) fail("a column is empty");
  }

  [[nodiscard]] Erratum erratum() const {
    const auto& cells = row_.cells;
    const auto cpu = base::words(cells[0]);
    if (cpu.size() != 3 && cpu.size() != 4) fail("VENDOR FAMILY MODELS [STEPPINGS] is required");
    Erratum made;
    made.vendor = cpu[0];
    made.family = static_cast<int>(number(cpu[1], 10));
    made.models = ranges(cpu[2]);
    if (cpu.size() == 4) made.steppings = ranges(cpu[3]);
    made.pmus = base::words(cells[1]);
    for (const std::string_view word : base::words(cells[2])) {
      const auto dot = word.find('.');
      EventCode& code = made.events.emplace_back(EventCode{number(word.substr(0, dot), 16)});
      if (dot != word.npos) code.mask = number(word.substr(dot + 1), 16);
    }
    made.number = cells[3];
    made.what = cells[4];
    if (cells[5] != "-") made.linux_since = cells[5];
    made.source = cells[6];
    return made;
  }

private:
  [[noreturn]] void fail(const std::string& why) const {
    throw bad_input(row_.where, why, "write CPU | PMUS | EVENTS | ERRATUM | WHAT | LINUX | SOURCE");
  }
  [[nodiscard]] std::uint16_t number(std::string_view text, int base) const {
    const auto value = base::parse<std::uint16_t>(text, base);
    if (!value || *value > 0xfff) fail("not a number below 4096: '" + std::string(text) + "'");
    return *value;
  }
  [[nodiscard]] std::vector<Range> ranges(std::string_view text) const {
    std::vector<Range> all;
    for (const auto piece : base::split(text, ',')) {
      const auto dots = piece.find("..");
      const int low = number(piece.substr(0, dots), 10);
      const int high = dots == piece.npos ? low : number(piece.substr(dots + 2), 10);
      if (low > high) fail("the range '" + std::string(piece) + "' is empty");
      all.push_back({low, high});
    }
    return all;
  }

  const base::DataRow& row_;
};

bool within(int number, const std::vector<Range>& ranges) {
  return std::ranges::any_of(ranges,
                             [&](const Range& range) { return range.low <= number && number <= range.high; });
}

/// Event select and unit mask as Linux programs them. Sources: arch/x86/events/intel/core.c
/// (intel_perfmon_event_map), arch/x86/events/amd/core.c (amd_zen1_perfmon_event_map and later) of Linux 6.1.
std::optional<EventCode> code_of(std::uint32_t type, std::uint64_t config, bool amd) {
  if (type == PERF_TYPE_RAW) {
    const std::uint64_t high = amd ? config >> 24 & 0xf00 : 0;
    return EventCode{(config & 0xff) | high, config >> 8 & 0xff};
  }
  if (type != PERF_TYPE_HARDWARE) return {};
  const std::uint64_t generic = config & 0xffffffff;
  if (generic == PERF_COUNT_HW_INSTRUCTIONS) return EventCode{0xc0, 0};
  if (generic == PERF_COUNT_HW_BRANCH_INSTRUCTIONS) return EventCode{amd ? 0xc2U : 0xc4U, 0};
  if (generic == PERF_COUNT_HW_BRANCH_MISSES) return EventCode{amd ? 0xc3U : 0xc5U, 0};
  if (generic == PERF_COUNT_HW_CACHE_REFERENCES && !amd) return EventCode{0x2e, 0x4f};
  if (generic == PERF_COUNT_HW_CACHE_MISSES && !amd) return EventCode{0x2e, 0x41};
  return {};
}

bool concerns(const Erratum& erratum, const EventCode& code) {
  return std::ranges::any_of(erratum.events, [&](const EventCode& event) {
    return event.select == code.select && (!event.mask || event.mask == code.mask);
  });
}

} // namespace

std::string Erratum::sentence() const {
  std::string text = "erratum " + number + ": " + what;
  if (!linux_since.empty()) text += "; Linux " + linux_since + " and later work around it";
  return text + " (" + source + ")";
}

std::vector<Erratum> parse(std::string_view text, const std::string& file) {
  std::vector<Erratum> all;
  for (const auto& row : base::data_rows(text, file))
    all.push_back(RowParser(row).erratum());
  return all;
}

const std::vector<Erratum>& known() {
  static const std::vector<Erratum> built_in = parse(errata_data, "errata.txt");
  return built_in;
}

std::vector<const Erratum*> of_cpu(const host::Cpu& cpu, const std::vector<Erratum>& all) {
  std::vector<const Erratum*> found;
  for (const Erratum& erratum : all)
    if (erratum.vendor == cpu.vendor && erratum.family == cpu.family && within(cpu.model, erratum.models) &&
        (erratum.steppings.empty() || within(cpu.stepping, erratum.steppings)))
      found.push_back(&erratum);
  return found;
}

std::vector<const Erratum*> of_event(const Event& event, const host::Cpu& cpu,
                                     const std::vector<Erratum>& all) {
  const auto code = code_of(event.attr.type, event.attr.config, cpu.vendor == "AuthenticAMD");
  std::vector<const Erratum*> found;
  if (!code) return found;
  for (const Erratum* const erratum : of_cpu(cpu, all))
    if (concerns(*erratum, *code)) found.push_back(erratum);
  return found;
}

std::vector<const Erratum*> of_pmu(std::string_view pmu, std::uint32_t type, std::uint64_t config,
                                   const std::vector<Erratum>& all) {
  std::vector<const Erratum*> found;
  for (const Erratum& erratum : all) {
    const auto code = code_of(type, config, erratum.vendor == "AuthenticAMD");
    if (code && std::ranges::find(erratum.pmus, pmu) != erratum.pmus.end() && concerns(erratum, *code))
      found.push_back(&erratum);
  }
  return found;
}

} // namespace recount::errata
