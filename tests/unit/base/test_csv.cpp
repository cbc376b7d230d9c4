// Tables as spreadsheets write them.
#include "base/csv.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <string_view>

using namespace recount;

BOOST_AUTO_TEST_SUITE(csv)

namespace {

std::string shown(std::string_view text) {
  const base::CsvTable table = base::parse_csv(text, "t.csv", "see the page");
  std::string all;
  for (const auto& field : table.head.fields)
    all += "[" + std::string(field) + "]";
  for (const auto& row : table.rows)
    for (const auto& field : row.fields)
      all += "(" + std::string(field) + ")";
  return all;
}

} // namespace

BOOST_AUTO_TEST_CASE(byte_order_marks_and_separators_of_spreadsheets) {
  const std::string expected = "[n][time](8)(2.5)";
  BOOST_TEST(shown("n,time\n8,2.5\n") == expected);
  BOOST_TEST(shown("\xEF\xBB\xBFn,time\r\n8,2.5\r\n") == expected);
  BOOST_TEST(shown("n;time\n8;2.5\n") == expected);
  BOOST_TEST(shown("\xEF\xBB\xBF\"n\";\"time\"\r\n8;2.5\r\n") == expected);
  BOOST_TEST(shown("n\ttime\n8\t2.5\n") == expected);
  BOOST_TEST(shown("\xEF\xBB\xBF# comment; with, both\nn;time\n8;2.5\n") == expected);
  BOOST_TEST(shown("\"n;m\",time\n\"8;9\",2.5\n") == "[n;m][time](8;9)(2.5)");
  BOOST_TEST(shown("n;time\n8;2,5\n") == "[n][time](8)(2,5)");
  BOOST_TEST(shown("n\n8\n") == "[n](8)");
}

BOOST_AUTO_TEST_CASE(utf_16_is_named) {
  using namespace std::string_view_literals;
  BOOST_CHECK_EXCEPTION(shown("\xFF\xFEn\0,\0t\0\n\0"sv), Error, [](const Error& error) {
    return std::string(error.what()).find("is not text in UTF-8") != std::string::npos &&
           error.problem().fix.find("iconv") != std::string::npos;
  });
}

BOOST_AUTO_TEST_SUITE_END()
