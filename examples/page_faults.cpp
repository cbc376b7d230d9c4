// Counts two software events in a part of a program; Makefile compiles it.
#include <recount/error.hpp>
#include <recount/group.hpp>

#include <cstdio>
#include <vector>

int main() {
  try {
    recount::Group group({"perf::PAGE-FAULTS", "perf::TASK-CLOCK"}, recount::Domain::user);
    group.start();
    std::vector<char> memory(4'000'000); // touched once: about one page fault per page
    group.stop();
    for (const auto& count : group.read()) {
      if (count.value)
        std::printf("%llu\n", static_cast<unsigned long long>(*count.value));
      else
        std::printf("not counted: %s\n", count.reason->text().c_str());
    }
  } catch (const recount::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
