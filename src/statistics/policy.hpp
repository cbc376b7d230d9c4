// How Boost.Math computes.
#pragma once

#include <boost/math/policies/policy.hpp>

namespace recount::statistics {

/// In double: Valgrind executes long double with the precision of double, and the tables that Boost.Math
/// makes for long double when a program starts overflow there. recount itself may be simulated.
using Double = boost::math::policies::policy<boost::math::policies::promote_double<false>>;

} // namespace recount::statistics
