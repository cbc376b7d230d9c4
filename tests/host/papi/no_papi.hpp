// Whether PAPI counts anything here.
#pragma once

#include "needs.hpp"

#include <papi.h>
#include <sys/wait.h>

namespace recount::test {

/// As the functions of needs.hpp. In a child: the programs that ask start PAPI themselves, with tables of
/// their own.
inline const std::string& no_papi() {
  static const std::string reason = []() -> std::string {
    int ends[2];
    if (::pipe(ends) != 0) return "pipe";
    const pid_t child = ::fork();
    if (child == 0) {
      int set = PAPI_NULL;
      long long faults = 0;
      std::string why;
      if (PAPI_library_init(PAPI_VER_CURRENT) != PAPI_VER_CURRENT)
        why = "PAPI cannot be initialised";
      else if (int code = PAPI_create_eventset(&set);
               code != PAPI_OK || (code = PAPI_add_named_event(set, "perf::PAGE-FAULTS")) != PAPI_OK ||
               (code = PAPI_start(set)) != PAPI_OK)
        why = std::string("PAPI counts no page faults: ") + PAPI_strerror(code);
      else {
        fault(64);
        if (PAPI_stop(set, &faults) != PAPI_OK || faults < 64) why = "PAPI counts no page faults";
      }
      const int component = PAPI_get_component_index("perf_event");
      if (const auto* info = component < 0 ? nullptr : PAPI_get_component_info(component);
          !why.empty() && info != nullptr && info->disabled_reason[0] != 0)
        why += std::string(" (") + info->disabled_reason + ")";
      ::_exit(::write(ends[1], why.data(), why.size()) == static_cast<ssize_t>(why.size()) ? 0 : 1);
    }
    ::close(ends[1]);
    std::string text(512, 0);
    const ssize_t got = ::read(ends[0], text.data(), text.size());
    ::close(ends[0]);
    int status = 0;
    ::waitpid(child, &status, 0);
    if (status != 0) return "PAPI crashes when it is asked to count page faults";
    text.resize(static_cast<std::size_t>(got < 0 ? 0 : got));
    return text;
  }();
  return reason;
}

} // namespace recount::test
