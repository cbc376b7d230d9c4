// The one main of every Boost.Test program here.
#define BOOST_TEST_MODULE recount
#include <boost/test/unit_test.hpp>
