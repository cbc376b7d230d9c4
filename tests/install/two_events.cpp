// A client program: counts through both witnesses and prints the counts.
#include <recount/error.hpp>
#include <recount/group.hpp>
#include <recount/papi.hpp>

#include <cstdio>
#include <vector>

int main() {
  try {
    recount::Group raw({"perf::PAGE-FAULTS"}, recount::Domain::user);
    raw.start();
    raw.stop();
    const auto& count = raw.read().front();
    try {
      recount::PapiSet papi({"perf::PAGE-FAULTS"}, recount::Domain::user);
      papi.start();
      static_cast<void>(papi.stop());
    } catch (const recount::Error& error) {
      if (error.kind() != recount::ErrorKind::unavailable) throw;
      std::printf("PAPI counts nothing here: %s\n", error.what());
    }
    if (!count.value) return std::printf("not counted: %s\n", count.reason->text().c_str()), 1;
    std::printf("%llu\n", static_cast<unsigned long long>(*count.value));
  } catch (const recount::Error& error) {
    std::printf("%s\n", error.what());
    return 1;
  }
}
