// Trials made up for the tests.
#pragma once

#include "check/verdict.hpp"

#include <boost/test/unit_test.hpp>

namespace recount::test {

inline check::Measurement said(const statistics::Groups& values) {
  check::Measurement s;
  s.values = values;
  return s;
}

inline check::Measurement silent(const std::string& reason) {
  check::Measurement s;
  s.reason = reason;
  return s;
}

inline statistics::Groups minus(const statistics::Groups& a, const statistics::Groups& b) {
  if (a.size() != b.size()) return {};
  statistics::Groups d = a;
  for (std::size_t g = 0; g < a.size(); ++g)
    for (std::size_t i = 0; i < a[g].size(); ++i)
      d[g][i] = a[g][i] - b[g][i];
  return d;
}

/// Both witnesses over code that must count `stated`, within 2 %.
inline check::Trial trial(const statistics::Groups& perf, const statistics::Groups& papi,
                          double stated = 1000) {
  check::Trial t;
  t.preset = t.metric = "PAPI_LD_INS";
  t.kernel = "transfer";
  t.tolerance = 0.02;
  t.stated = check::Stated{stated, 0, 0, "one load per step"};
  t.perf = said(perf);
  t.papi = said(papi);
  t.differences = minus(perf, papi);
  return t;
}

inline statistics::Groups always(double value) {
  return {{value, value, value, value}, {value, value, value, value}, {value, value, value, value}};
}

/// Noise of +-5 around a value.
inline statistics::Groups around(double value) {
  return {{value - 3, value + 1, value + 2, value - 1},
          {value + 5, value - 5, value, value + 1},
          {value - 2, value + 3, value, value - 1}};
}

inline check::Verdict of(const check::Trial& t) {
  return check::judge(t).verdict;
}

inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != text.npos;
}

} // namespace recount::test
