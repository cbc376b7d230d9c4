// Compiled with a perf_event_attr that is larger than the library's.
#include <recount/group.hpp>

#include <cstdio>
#include <utility>
#include <vector>

int main() {
  static_assert(sizeof(perf_event_attr) > 4 * sizeof(perf_event_attr::more[0]));
  recount::Event event = recount::encode("perf::PAGE-FAULTS:u");
  const bool read =
      event.name == "perf::PAGE-FAULTS:u" && event.pmu == "perf" && event.domain_given && event.present;
  event.attr.size = sizeof event.attr; // as a program writes that fills it in itself
  recount::Group group(std::vector<recount::Event>{event, recount::Event(event)});
  group.start();
  std::vector<char> pages(100 * 4096);
  group.stop();
  const auto& counts = group.read();
  if (read && counts.at(0).value.value_or(0) >= 50 && counts[0].value == counts[1].value) return 0;
  std::fprintf(stderr, "another layout of Event: %s, %s\n", event.name.c_str(), event.pmu.c_str());
  return 1;
}
