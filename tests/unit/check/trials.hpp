// Trials made up for the tests.
#pragma once

#include "run/verdict/verdict.hpp"

#include <boost/test/unit_test.hpp>

namespace recount::test {

inline recount::check::Measurement said(const recount::statistics::Groups& values) {
  recount::check::Measurement s;
  s.values = values;
  return s;
}

inline recount::check::Measurement silent(const std::string& reason) {
  recount::check::Measurement s;
  s.reason = reason;
  return s;
}

inline recount::statistics::Groups minus(const recount::statistics::Groups& a,
                                         const recount::statistics::Groups& b) {
  if (a.size() != b.size()) return {};
  recount::statistics::Groups d = a;
  for (std::size_t g = 0; g < a.size(); ++g)
    for (std::size_t i = 0; i < a[g].size(); ++i)
      d[g][i] = a[g][i] - b[g][i];
  return d;
}

/// Both witnesses over code that must count `stated`, within 2 %.
inline recount::check::Trial trial(const recount::statistics::Groups& perf,
                                   const recount::statistics::Groups& papi, double stated = 1000) {
  recount::check::Trial t;
  t.preset = t.metric = "PAPI_LD_INS";
  t.kernel = "transfer";
  t.tolerance = 0.02;
  t.stated = recount::check::Stated{stated, 0, 0, "one load per step"};
  t.perf = said(perf);
  t.papi = said(papi);
  t.differences = minus(perf, papi);
  return t;
}

inline recount::statistics::Groups always(double value) {
  return {{value, value, value, value}, {value, value, value, value}, {value, value, value, value}};
}

/// Noise of +-5 around a value.
inline recount::statistics::Groups around(double value) {
  return {{value - 3, value + 1, value + 2, value - 1},
          {value + 5, value - 5, value, value + 1},
          {value - 2, value + 3, value, value - 1}};
}

inline recount::check::Verdict of(const recount::check::Trial& t) {
  return recount::check::judge(t).verdict;
}

inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != text.npos;
}

} // namespace recount::test
