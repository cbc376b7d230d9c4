#include "event/breakpoint.hpp"

#include "base/format.hpp"
#include "event/domain.hpp"

#include <recount/error.hpp>

#include <linux/hw_breakpoint.h>

namespace recount::event {
namespace {

constexpr auto usage =
    "write mem:ADDRESS, mem:ADDRESS/LENGTH or mem:ADDRESS/LENGTH:rw, LENGTH 1, 2, 4 or 8 bytes, "
    "access r, w, rw or x, e.g. mem:0x7f0012345678/8:w";

/// HW_BREAKPOINT_* of the letters; 0 when they are not an access.
unsigned parse_access(std::string_view letters) {
  unsigned access = 0;
  for (const char letter : letters) {
    const unsigned bit = letter == 'r'   ? unsigned{HW_BREAKPOINT_R}
                         : letter == 'w' ? unsigned{HW_BREAKPOINT_W}
                         : letter == 'x' ? unsigned{HW_BREAKPOINT_X}
                                         : 0U;
    if (bit == 0 || (access & bit) != 0) return 0;
    access |= bit;
  }
  return access;
}

} // namespace

Event encode_breakpoint(const std::string& name, Domain fallback) {
  const Split split = split_domain(name);
  std::string_view text = split.name.substr(4); // "mem:"
  unsigned access = HW_BREAKPOINT_RW;
  if (const auto colon = text.rfind(':'); colon != std::string_view::npos) {
    access = parse_access(text.substr(colon + 1));
    if (access == 0 || (access & HW_BREAKPOINT_X && access != HW_BREAKPOINT_X))
      throw bad_input(name, "invalid access type: " + std::string(text.substr(colon + 1)), usage);
    text = text.substr(0, colon);
  }
  std::uint64_t length = access == HW_BREAKPOINT_X ? sizeof(long) : unsigned{HW_BREAKPOINT_LEN_4};
  if (const auto slash = text.find('/'); slash != std::string_view::npos) {
    const auto given = base::parse_number(text.substr(slash + 1));
    if (!given || (*given != 1 && *given != 2 && *given != 4 && *given != 8))
      throw bad_input(name, "invalid breakpoint length: " + std::string(text.substr(slash + 1)), usage);
    length = *given;
    text = text.substr(0, slash);
  }
  const auto address = base::parse_number(text);
  if (!address) throw bad_input(name, "no address: \"" + std::string(text) + "\"", usage);

  Event event;
  event.name = name;
  event.pmu = "breakpoint";
  event.attr.size = sizeof event.attr;
  event.attr.type = PERF_TYPE_BREAKPOINT;
  event.attr.bp_type = access;
  event.attr.bp_addr = *address;
  event.attr.bp_len = length;
  event.domain_given = split.domain.has_value();
  apply(split.domain.value_or(fallback), event.attr);
  return event;
}

} // namespace recount::event
