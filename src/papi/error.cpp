#include "papi/error.hpp"

#include <fmt/format.h>
#include <papi.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace recount::papi {
namespace {

struct ErrorEntry {
  int code;
  const char* name;
  const char* text; // PAPI_strerror has none before PAPI is initialised
  ErrorKind kind;
  const char* remedy;
};

constexpr auto bad = ErrorKind::bad_input;
constexpr auto here = ErrorKind::unavailable;

// Codes, texts and kinds as in papiErrorCodes.h; the fixes name the Linux setting behind a code.
constexpr ErrorEntry error_table[] = {
    {PAPI_EINVAL, "PAPI_EINVAL", "Invalid argument", bad, ""},
    {PAPI_ENOMEM, "PAPI_ENOMEM", "Insufficient memory", here, ""},
    {PAPI_ESYS, "PAPI_ESYS", "A System/C library call failed", here,
     "if the limit on open files is reached: ulimit -n 4096"},
    {PAPI_ECMP, "PAPI_ECMP", "Not supported by component", here, ""},
    {PAPI_ECLOST, "PAPI_ECLOST", "Access to the counters was lost or interrupted", here,
     "stop the other user of the counters and repeat"},
    {PAPI_EBUG, "PAPI_EBUG", "Internal error, please send mail to the developers", here, ""},
    {PAPI_ENOEVNT, "PAPI_ENOEVNT", "Event does not exist", here, ""},
    {PAPI_ECNFLCT, "PAPI_ECNFLCT", "Event exists, but cannot be counted due to counter resource limitations",
     here, "count fewer events in one set, or in several sets one after the other"},
    {PAPI_ENOTRUN, "PAPI_ENOTRUN", "EventSet is currently not running", bad, "call start() first"},
    {PAPI_EISRUN, "PAPI_EISRUN", "EventSet is currently counting", bad,
     "stop the running set first: PAPI runs one set per component and thread"},
    {PAPI_ENOEVST, "PAPI_ENOEVST", "No such EventSet Available", bad, ""},
    {PAPI_ENOTPRESET, "PAPI_ENOTPRESET", "Event in argument is not a valid preset", bad, ""},
    {PAPI_ENOCNTR, "PAPI_ENOCNTR", "Hardware does not support performance counters", here, ""},
    {PAPI_EMISC, "PAPI_EMISC", "Unknown error code", here, ""},
    {PAPI_EPERM, "PAPI_EPERM", "Permission level does not permit operation", here,
     "sudo sysctl kernel.perf_event_paranoid=1 (2 allows user space only: qualify the event with :u)"},
    {PAPI_ENOINIT, "PAPI_ENOINIT", "PAPI hasn't been initialized yet", here, ""},
    {PAPI_ENOCMP, "PAPI_ENOCMP", "Component Index isn't set", bad, "give the set at least one event"},
    {PAPI_ENOSUPP, "PAPI_ENOSUPP", "Not supported", here, ""},
    {PAPI_ENOIMPL, "PAPI_ENOIMPL", "Not implemented", here, ""},
    {PAPI_EBUF, "PAPI_EBUF", "Buffer size exceeded", bad, ""},
    {PAPI_EINVAL_DOM, "PAPI_EINVAL_DOM", "EventSet domain is not supported for the operation", bad, ""},
    {PAPI_EATTR, "PAPI_EATTR", "Invalid or missing event attributes", bad,
     "list the attributes of an event with: recount events NAME"},
    {PAPI_ECOUNT, "PAPI_ECOUNT", "Too many events or attributes", bad, ""},
    {PAPI_ECOMBO, "PAPI_ECOMBO", "Bad combination of features", bad, ""},
    {PAPI_ECMP_DISABLED, "PAPI_ECMP_DISABLED", "Component containing event is disabled", here,
     "recount doctor"},
    {PAPI_EDELAY_INIT, "PAPI_EDELAY_INIT", "Delayed initialization component", here, ""},
    {PAPI_EMULPASS, "PAPI_EMULPASS",
     "Event exists, but cannot be counted due to multiple passes required by hardware", here, ""},
};

const ErrorEntry* find(int code) {
  const auto* entry = std::find_if(std::begin(error_table), std::end(error_table),
                                   [&](const ErrorEntry& r) { return r.code == code; });
  return entry == std::end(error_table) ? nullptr : entry;
}

} // namespace

std::string describe(int code) {
  const ErrorEntry* entry = find(code);
  const char* text = PAPI_strerror(code);
  return fmt::format("{} ({}): {}", entry != nullptr ? entry->name : "PAPI error", code,
                     text != nullptr    ? text
                     : entry != nullptr ? entry->text
                                        : "unknown to this version of recount");
}

Error error(std::string subject, const std::string& call, int code) {
  const ErrorEntry* entry = find(code);
  return {entry != nullptr ? entry->kind : here,
          {std::move(subject),
           fmt::format("{} returned {}", call, describe(code)),
           {},
           entry != nullptr ? entry->remedy : ""}};
}

void check(int code, const std::string& subject, const char* call) {
  if (code != PAPI_OK) throw error(subject, call, code);
}

} // namespace recount::papi
