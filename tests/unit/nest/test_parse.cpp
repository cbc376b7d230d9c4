// Texts that are no nest are refused at the right place, with a cause and a fix; points are checked.
#include "kernel/nest/nest_kernel.hpp"
#include "nest/definition.hpp"
#include "recount/error.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <ostream>

using namespace recount;
namespace data = boost::unit_test::data;

BOOST_AUTO_TEST_SUITE(nest_parse)

namespace {

struct Refused {
  std::string text, where, cause; ///< "LINE:COLUMN"
};
std::ostream& operator<<(std::ostream& out, const Refused& row) {
  return out << row.text;
}
const std::string a10 = "f64 a[10], b[10]\n";
const std::vector<Refused> refused = {
    {"", "1:1", "no statement accesses an array"},
    {"param n = 5\n", "2:1", "no statement accesses an array"},
    {a10 + "for i in 0:10\n  a[i] = a[i] $ 2\n", "3:15", "unexpected character \"$\""},
    {a10 + "for i in 0:10 a[i] = \x1b[31m\n", "2:22", "unexpected character \"\\u001b\""},
    {a10 + "for i in 0:10 a[i] = \xff\n", "2:22", "unexpected character \"\\xff\""},
    {a10 + "for i in 0:10 a[i] = c[i]\n", "2:22", "unknown name \"c\""},
    {a10 + "for i in 0:10 a[j] = 1\n", "2:17", "unknown name \"j\""},
    {a10 + "for i in 0:10 { a[i] = 1\n", "2:5", "the loop is not closed"},
    {a10 + "for i in 0:10 a[i] = b[i] + }\n", "2:29", "a number, an array element or a scalar is expected"},
    {a10 + "for i in 0:10 a[i] = (b[i]\n", "3:1", "\")\" must follow the expression"},
    {a10 + "for i in 0:10 a[i][0] = 1\n", "2:16", "a has 1 dimension, not 2"},
    {a10 + "for i in 0:10 a = 1\n", "2:17", "a has 1 dimension, not 0"},
    {a10 + "for i in 0:10 i = 1\n", "2:15", "\"i\" cannot be assigned to"},
    {a10 + "for i in 0:10 for i in 0:2 a[i] = 1\n", "2:19", "\"i\" is already defined"},
    {a10 + "for i in 0:i a[i] = 1\n", "2:12", "unknown name \"i\""},
    {a10 + "for i in 0:10 for j in 0:10 a[i * j] = 1\n", "2:33", "a product of loop variables is not affine"},
    {a10 + "for i in 0:10 a[i / 2] = 1\n", "2:19", "a quotient with a loop variable is not affine"},
    {a10 + "for i in 0:10 a[b[i]] = 1\n", "2:17", "\"b\" is neither a parameter nor a loop variable"},
    {a10 + "for i in 0:5 a[min(i, 4)] = 1\n", "2:16", "min() of loop variables can only be the whole end"},
    {a10 + "for i in 0:9 for j in 0:min(i, 4) + 1 a[j] = 1\n", "2:35", "min() of loop variables can only"},
    {a10 + "for i in 0:10 a[i] = -b[i]\n", "2:22", "a minus sign before a value"},
    {a10 + "for i in 0:10 a[i] = 2 * 3\n", "2:24", "two numbers are combined"},
    {a10 + "for i in 0:10 a[i] = 1e999\n", "2:22", "is not a number of 64 bits"},
    {a10 + "for i in 0:10 a[i] = 99999999999999999999\n", "2:22", "is not a number of 64 bits"},
    {a10 + "for i in 0:10 { param k = 1\n a[i] = 1 }\n", "2:17", "a declaration within a loop"},
    {a10 + "for i in 0:10:0 a[i] = 1\n", "2:15", "the step of a loop is 0"},
    {a10 + "for i in 0:10:0 - 1 a[i] = 1\n", "2:17", "the step of a loop is -1"},
    {"f64 a[0]\nfor i in 0:1 a[i] = 1\n", "1:7", "an extent of a is 0"},
    {"f64 a[1048576][1048576][8]\nfor i in 0:1 a[i][0][0] = 1\n", "1:5", "more than 2^40 bytes"},
    {"f64 a[5] ld 4\nfor i in 0:1 a[i] = 1\n", "1:13", "the leading dimension of a is 4, below its extent 5"},
    {"param for = 1\n", "1:7", "\"for\" is a word of the format"},
    {"param n = 1\nparam n = 1\n", "2:7", "\"n\" is already defined"},
    {"param n = 5 from 6 to 9\n", "1:7", "n = 5 is not within 6 to 9"},
    {"param n = x\n", "1:11", "a whole number is expected"},
    {"param n = 0.5\n", "1:11", "a whole number is expected"},
    {"type t = f64 or f65\n", "1:17", "not a type"},
    {"type t = f64 or # f32\n", "1:22", "not a type"},
    {"type t = f64 or f64\n", "1:17", "is given twice"},
    {"i32 a[4]\nfor i in 0:4 a[i] = a[i] / 2\n", "2:26", "a quotient of whole numbers"},
    {"i32 a[4]\nfor i in 0:4 a[i] = 0.5\n", "2:14", "a floating-point value is assigned to a whole number"},
    {"i32 a[4]\nf32 b[4]\nfor i in 0:4 a[i] += b[i]\n", "3:14", "a floating-point value is assigned"},
    {a10 + "for i in 0:11 a[i] = 1\n", "2:17", "subscript 1 of a can be 10; its extent is 10"},
    {a10 + "for i in 0:10 a[i - 1] = 1\n", "2:19", "subscript 1 of a can be -1; its extent is 10"},
    {a10 + "for i in 0:5:0 + 3 for j in i:i + 3 a[j + 5] = 1\n", "2:41", "subscript 1 of a can be 10"},
    {a10 + "for i in 5:5 a[i] = 1\n", "1:1", "the nest makes no access"},
    {a10 + "for i in 0:1125899906842625 a[0] = 1\n", "2:12", "exceeds 2^50"},
    {"param n = 1099511627776\n" + a10 + "for i in 0:n * n a[0] = 1\n", "3:14", "exceeds 2^50"},
    {a10 + "for i in 0:1099511627776 for j in 0:1099511627776 a[0] = 1\n", "1:1", "more than 2^60 accesses"},
    {"f64 a[1][1099511627776]\nfor i in 0:1 a[0][0] = 1\n", "1:5", "more than 2^40 bytes"},
    {a10 +
         "for a1 in 0:1 for a2 in 0:1 for a3 in 0:1 for a4 in 0:1 for a5 in 0:1 for a6 in 0:1 for a7 in 0:1 "
         "for a8 in 0:1 for a9 in 0:1 a[0] = 1\n",
     "2:117", "more than 8 loops"},
    {"f64 a[1], b[1], c[1], d[1], e[1], f[1], g[1], h[1], k[1]\n", "1:53", "more than 8 arrays"},
    {"f64 " + std::string(33, 'x') + "[1]\n", "1:5", "a name of more than 32 letters"},
    {"f64 a[1] b[1]\n", "1:10", "unexpected in a declaration"},
    {a10 + "{ a[0] = 1 }\n", "2:1", "a block without a loop"},
    {a10 + "for i in 0:10 a[i] ** 2\n", "2:20", "\"=\" is expected"},
    {a10 + "for i in 0:10 { f64 s += 1\n a[i] = s }\n", "2:23", "\"=\" is expected"},
    {a10 + "for i in 0:10 { f64 s = s\n a[i] = 1 }\n", "2:25", "unknown name \"s\""},
    {a10 + "for i in 0:2 { f64 s = 1 }\nfor i in 0:2 a[i] = s\n", "3:21", "unknown name \"s\""},
    {a10 + "for i in 0:10 a[i] = 1" +
         [] {
           std::string t;
           for (int i = 0; i < 300; ++i)
             t += " + b[i]";
           return t;
         }() +
         "\n",
     "2:915", "more than 256 terms"},
};

} // namespace

BOOST_DATA_TEST_CASE(what_is_no_nest_is_refused, data::make(refused), row) {
  try {
    const kernel::NestKernel kernel("x.nest", row.text);
    static_cast<void>(kernel.at({}));
    BOOST_ERROR("is accepted");
  } catch (const Error& error) {
    BOOST_TEST((error.kind() == ErrorKind::bad_input));
    BOOST_TEST(error.problem().subject == "x.nest:" + row.where);
    BOOST_TEST((error.problem().cause.find(row.cause) != std::string::npos), error.problem().cause);
    BOOST_TEST(!error.problem().fix.empty());
  }
}

BOOST_AUTO_TEST_CASE(what_is_unusual_is_accepted) {
  for (const std::string text : {
           "f64 a[10]; for i in 0:10 { a[i] = 1; ; a[i] += 2 } // both comments # are known",
           "f64 a[10]\nfor i in 0 : 10 : 3\n\n{\n\n a[i\n] = (1 +\n a[0])\n}\n",
           "f64 a[10]\na[3] = 1\n",
           "param n = 7\nf64 a[n / 2 + min(n, 3)]\nfor i in 0:min(n, 2) a[i] = n * i + 0.5\n",
           "f64 a[12]\nfor ii in 0:12:4 for i in ii:ii + 4 a[i] = 1\n", // the step is considered
           "f64 a[10]\nfor i in 0:10 for k in 0:i + 1 a[i - k] = 1\n",  // a triangle
           "f64 a[10]\nfor i in 0:10 for k in i + 1:10 a[k - i - 1] = 1\n",
           "param n = 1\nf64 a[3]\na[0] = 1\nfor i in 1:n - 1 a[i + 5] = 1\n", // never executed
           "f64 a[10]\r\nfor i in 0:10\r\n  a[i] = -1\r\n",
       })
    BOOST_CHECK_NO_THROW(static_cast<void>(kernel::NestKernel("x.nest", text).at({})));
}

BOOST_AUTO_TEST_CASE(terms_of_the_end_of_a_loop_count_once) {
  std::string text = "param n = 7\nf64 a[9]\nfor i in 0:min(n, 3";
  for (std::size_t term = 4; term < nest::most_terms; ++term)
    text += "+0";
  BOOST_CHECK_NO_THROW(static_cast<void>(nest::parse("x", text + ") a[i] = 1\n")));
}

BOOST_AUTO_TEST_CASE(parameters_are_those_of_the_file) {
  const kernel::NestKernel kernel("x.nest",
                                  "param rows = 8 from 2 to 99 # of the matrix\ntype real = f64 or f32\n"
                                  "real a[rows]\nfor i in 0:rows a[i] = 1\n");
  const auto parameter = [&](const std::string& name) {
    for (const auto& p : kernel.parameters())
      if (p.name == name) return p;
    return kernel::Parameter{};
  };
  BOOST_TEST((parameter("rows").fallback == result::ParamValue(std::int64_t{8})));
  BOOST_TEST(parameter("rows").least == 2);
  BOOST_TEST(parameter("rows").most == 99);
  BOOST_TEST(parameter("rows").prose == "of the matrix");
  BOOST_TEST((parameter("real").choices == std::vector<std::string>{"f64", "f32"}));
  BOOST_CHECK_THROW(static_cast<void>(kernel.bytes({{"rows", std::int64_t{1}}})), Error);
  BOOST_CHECK_THROW(static_cast<void>(kernel.bytes({{"real", std::string("i8")}})), Error);
  BOOST_CHECK_THROW(static_cast<void>(kernel.bytes({{"digest", std::string("0")}})), Error);
  BOOST_CHECK_THROW(static_cast<void>(kernel.bytes({{"offset", std::int64_t{4}}})), Error);
  BOOST_TEST(kernel.bytes({{"real", std::string("f32")}, {"offset", std::int64_t{4}}}) == 32);
  BOOST_CHECK_THROW(kernel::NestKernel("x.nest", "param pagesize = 1\nf64 a[1]\na[0] = 1\n"), Error);
}

BOOST_AUTO_TEST_CASE(closed_forms_of_a_triangle) {
  const kernel::NestKernel kernel("x.nest", "param n = 10\nf64 a[n][n], x[n]\nfor i in 0:n for k in 0:i "
                                            "x[i] -= a[i][k] * x[k]\n");
  const auto work = kernel.at({}).work(); // n (n - 1) / 2 = 45 turns
  BOOST_TEST(work.loads == 3 * 45);
  BOOST_TEST(work.stores == 45);
  BOOST_TEST(work.double_operations == 2 * 45);
  BOOST_TEST(work.single_operations == 0);
  BOOST_TEST(kernel.at({}).outer_turns() == 10);
}

BOOST_AUTO_TEST_SUITE_END()
