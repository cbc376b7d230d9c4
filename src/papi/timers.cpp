#include <recount/papi.hpp>
#include <recount/timers.hpp>

#include <papi.h>

namespace recount::papi {

long long real_ns() {
  return initialise(), PAPI_get_real_nsec();
}
long long real_us() {
  return initialise(), PAPI_get_real_usec();
}
long long real_cycles() {
  return initialise(), PAPI_get_real_cyc();
}
long long virtual_ns() {
  return initialise(), PAPI_get_virt_nsec();
}
long long virtual_us() {
  return initialise(), PAPI_get_virt_usec();
}
long long virtual_cycles() {
  return initialise(), PAPI_get_virt_cyc();
}

} // namespace recount::papi
