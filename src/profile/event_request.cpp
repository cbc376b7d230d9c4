#include "profile/event_request.hpp"

#include "perf/open_group.hpp"

#include <recount/error.hpp>

#include <charconv>
#include <linux/hw_breakpoint.h>

namespace recount::profile {
namespace {
constexpr std::uint64_t samples_a_second = 1000;
constexpr auto how =
    "write EVENT, EVENT:period=N (one sample per N occurrences) or EVENT:freq=F (about F samples per second)";

std::vector<std::string> split_outside_slashes(const std::string& list) {
  std::vector<std::string> words(1);
  bool inside = false;
  for (const char c : list) {
    if (c == '/') inside = !inside;
    if (c == ',' && (!inside || words.back().starts_with("mem:"))) {
      words.emplace_back();
      inside = false;
    } else {
      words.back() += c;
    }
  }
  return words;
}

std::uint64_t positive(const std::string& word, std::string_view digits) {
  std::uint64_t number = 0;
  const auto [at, wrong] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (wrong != std::errc() || at != digits.data() + digits.size() || number == 0 || number >> 62U != 0)
    throw bad_input(word, "\"" + std::string(digits) + "\" is not a whole number from 1 to 2^62-1", how);
  return number;
}

EventRequest parse_one(const std::string& word) {
  EventRequest asked{word};
  const auto take = [&](std::string_view key, std::uint64_t& into) {
    const auto at = asked.name.rfind(key);
    if (at == std::string::npos || asked.name.find(':', at + 1) != std::string::npos) return false;
    into = positive(word, std::string_view(asked.name).substr(at + key.size()));
    asked.name.resize(at);
    return true;
  };
  while (take(":period=", asked.period) || take(":freq=", asked.frequency)) {
  }
  if (asked.period != 0 && asked.frequency != 0)
    throw bad_input(word, "has both a period and a frequency", how);
  if (asked.name.empty()) throw bad_input("-e " + word, "no event", how);
  return asked;
}
} // namespace

std::vector<EventRequest> parse_event_requests(const std::vector<std::string>& lists) {
  std::vector<EventRequest> all;
  for (const auto& list : lists)
    for (const auto& word : split_outside_slashes(list))
      all.push_back(parse_one(word));
  return all;
}

std::optional<Watched> watched_variable(const std::string& event) {
  if (!event.starts_with("mem:") || event.size() < 5 || (event[4] >= '0' && event[4] <= '9')) return {};
  const std::string text = event.substr(4);
  // "::" belongs to the name; a single colon begins the access.
  std::size_t end = text.find('/');
  for (std::size_t i = 0; end == std::string::npos && i < text.size(); ++i) {
    if (text[i] != ':') continue;
    if (text.compare(i, 2, "::") == 0)
      ++i;
    else
      end = i;
  }
  Watched watched{text.substr(0, end), 0, end == std::string::npos ? std::string() : text.substr(end)};
  const auto plus = watched.variable.rfind('+');
  if (plus == std::string::npos || plus == 0) return watched;
  const std::string_view digits = std::string_view(watched.variable).substr(plus + 1);
  const auto [at, wrong] = std::from_chars(digits.data(), digits.data() + digits.size(), watched.offset);
  if (wrong != std::errc() || at != digits.data() + digits.size() || watched.offset >> 62U != 0)
    throw bad_input(event, "\"" + std::string(digits) + "\" is not an offset", "write mem:NAME+8/8:w");
  watched.variable.resize(plus);
  return watched;
}

std::vector<SampledEvent> sampled(const EventRequest& asked, Domain fallback) {
  std::vector<SampledEvent> all;
  for (Event& event : perf::countable(encode_each(asked.name, fallback)).events) {
    SampledEvent& made = all.emplace_back(SampledEvent{std::move(event), asked.period, asked.frequency});
    if (asked.period != 0 || asked.frequency != 0) continue;
    const auto type = made.event.attr.type;
    const bool each = (type == PERF_TYPE_SOFTWARE && !is_clock(made.event)) || type == PERF_TYPE_BREAKPOINT ||
                      type == PERF_TYPE_TRACEPOINT;
    (each ? made.period : made.frequency) = each ? 1 : samples_a_second;
  }
  return all;
}

bool reports_next_instruction(const Event& event) {
  return event.attr.type == PERF_TYPE_BREAKPOINT && (event.attr.bp_type & HW_BREAKPOINT_RW) != 0;
}

bool is_clock(const Event& event) {
  return event.attr.type == PERF_TYPE_SOFTWARE &&
         (event.attr.config == PERF_COUNT_SW_CPU_CLOCK || event.attr.config == PERF_COUNT_SW_TASK_CLOCK);
}

} // namespace recount::profile
