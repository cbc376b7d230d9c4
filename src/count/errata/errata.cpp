#include "count/errata/errata.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "count/errata/errata_data.hpp" // made from data/errata.txt by the build

#include <algorithm>

namespace recount::errata {
namespace {

std::uint16_t parse_code(std::string_view text, int base = 16) {
  return base::parse<std::uint16_t>(text, base).value();
}

std::vector<Range> parse_ranges(std::string_view text) {
  std::vector<Range> all;
  for (const auto piece : base::split(text, ',')) {
    const auto dots = piece.find("..");
    const int low = parse_code(piece.substr(0, dots), 10);
    all.push_back({low, dots == piece.npos ? low : parse_code(piece.substr(dots + 2), 10)});
  }
  return all;
}

Erratum parse_row(const std::vector<std::string_view>& cells) {
  const auto cpu = base::words(cells.at(0));
  Erratum erratum;
  erratum.vendor = cpu.at(0);
  erratum.family = parse_code(cpu.at(1), 10);
  erratum.models = parse_ranges(cpu.at(2));
  if (cpu.size() > 3) erratum.steppings = parse_ranges(cpu[3]);
  erratum.pmus = base::words(cells.at(1));
  for (const std::string_view word : base::words(cells.at(2))) {
    const auto dot = word.find('.');
    EventCode& code = erratum.events.emplace_back(EventCode{parse_code(word.substr(0, dot))});
    if (dot != word.npos) code.mask = parse_code(word.substr(dot + 1));
  }
  erratum.number = cells.at(3);
  erratum.what = cells.at(4);
  if (cells.at(5) != "-") erratum.linux_since = cells[5];
  erratum.source = cells.at(6);
  return erratum;
}

bool within(int number, const std::vector<Range>& ranges) {
  return std::ranges::any_of(ranges,
                             [&](const Range& range) { return range.low <= number && number <= range.high; });
}

/// Event select and unit mask as Linux programs them. Sources: arch/x86/events/intel/core.c
/// (intel_perfmon_event_map), arch/x86/events/amd/core.c (amd_zen1_perfmon_event_map and later) of Linux 6.1.
std::optional<EventCode> decode_config(std::uint32_t type, std::uint64_t config, bool amd) {
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

std::vector<Erratum> parse(std::string_view text) {
  std::vector<Erratum> all;
  for (const auto& [where, cells] : base::data_rows(text, "errata.txt"))
    all.push_back(parse_row(cells));
  return all;
}

const std::vector<Erratum>& known() {
  static const std::vector<Erratum> built_in = parse(errata_data);
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
  const auto code = decode_config(event.attr.type, event.attr.config, cpu.vendor == "AuthenticAMD");
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
    const auto code = decode_config(type, config, erratum.vendor == "AuthenticAMD");
    if (code && std::ranges::find(erratum.pmus, pmu) != erratum.pmus.end() && concerns(erratum, *code))
      found.push_back(&erratum);
  }
  return found;
}

} // namespace recount::errata
