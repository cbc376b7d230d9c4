#include "papi/error.hpp"

#include <fmt/format.h>
#include <papi.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace recount::papi {
namespace {

struct Row {
  int code;
  const char* name;
  ErrorKind kind;
  const char* remedy;
};

constexpr auto bad = ErrorKind::bad_input;
constexpr auto here = ErrorKind::unavailable;

// What PAPI's perf_event component makes of errno stands beside the codes that come from Linux.
constexpr Row rows[] = {
    {PAPI_EINVAL, "PAPI_EINVAL", bad, ""},
    {PAPI_ENOMEM, "PAPI_ENOMEM", here, ""},
    {PAPI_ESYS, "PAPI_ESYS", here, "raise the limit on open files where it is that: ulimit -n 4096"},
    {PAPI_ECMP, "PAPI_ECMP", here, ""},
    {PAPI_ECLOST, "PAPI_ECLOST", here, "another user took the counters: stop it and repeat"},
    {PAPI_EBUG, "PAPI_EBUG", here, ""},
    {PAPI_ENOEVNT, "PAPI_ENOEVNT", here, ""},
    {PAPI_ECNFLCT, "PAPI_ECNFLCT", here,
     "count fewer events in one set, or in several sets one after the other"},
    {PAPI_ENOTRUN, "PAPI_ENOTRUN", bad, "call start() first"},
    {PAPI_EISRUN, "PAPI_EISRUN", bad,
     "stop the set that runs: PAPI runs one set of a component at a time in each thread"},
    {PAPI_ENOEVST, "PAPI_ENOEVST", bad, ""},
    {PAPI_ENOTPRESET, "PAPI_ENOTPRESET", bad, ""},
    {PAPI_ENOCNTR, "PAPI_ENOCNTR", here, ""},
    {PAPI_EMISC, "PAPI_EMISC", here, ""},
    {PAPI_EPERM, "PAPI_EPERM", here,
     "sudo sysctl kernel.perf_event_paranoid=1 (2 allows user space only: qualify the event with :u)"},
    {PAPI_ENOINIT, "PAPI_ENOINIT", here, ""},
    {PAPI_ENOCMP, "PAPI_ENOCMP", bad, "give the set at least one event"},
    {PAPI_ENOSUPP, "PAPI_ENOSUPP", here, ""},
    {PAPI_ENOIMPL, "PAPI_ENOIMPL", here, ""},
    {PAPI_EBUF, "PAPI_EBUF", bad, ""},
    {PAPI_EINVAL_DOM, "PAPI_EINVAL_DOM", bad, ""},
    {PAPI_EATTR, "PAPI_EATTR", bad, "recount events NAME lists the attributes of an event"},
    {PAPI_ECOUNT, "PAPI_ECOUNT", bad, ""},
    {PAPI_ECOMBO, "PAPI_ECOMBO", bad, ""},
    {PAPI_ECMP_DISABLED, "PAPI_ECMP_DISABLED", here, "recount doctor tells why the component is disabled"},
    {PAPI_EDELAY_INIT, "PAPI_EDELAY_INIT", here, ""},
    {PAPI_EMULPASS, "PAPI_EMULPASS", here, ""},
};

const Row* find(int code) {
  const auto* row =
      std::find_if(std::begin(rows), std::end(rows), [&](const Row& r) { return r.code == code; });
  return row == std::end(rows) ? nullptr : row;
}

} // namespace

std::string describe(int code) {
  const Row* row = find(code);
  const char* text = PAPI_strerror(code);
  return fmt::format("{} ({}): {}", row != nullptr ? row->name : "PAPI error", code,
                     text != nullptr ? text : "PAPI has no text for it");
}

Error error(std::string subject, const std::string& call, int code) {
  const Row* row = find(code);
  return {row != nullptr ? row->kind : here,
          {std::move(subject),
           fmt::format("{} says {}", call, describe(code)),
           {},
           row != nullptr ? row->remedy : ""}};
}

void check(int code, const std::string& subject, const char* call) {
  if (code != PAPI_OK) throw error(subject, call, code);
}

} // namespace recount::papi
