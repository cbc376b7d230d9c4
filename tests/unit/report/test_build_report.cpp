// A report of results as a study might give them: what is there is value, what is not leaves no empty table.
#include "commands/cli/commands.hpp"
#include "commands/report/build_report.hpp"
#include "observed.hpp"
#include "random_files.hpp"

#include <recount/error.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>

using namespace recount;

BOOST_AUTO_TEST_SUITE(whole_report)

namespace {
const report::Tables tables{cli::figures(), cli::sections()};

result::Observation seen(const std::string& variant, std::int64_t n, const std::string& witness,
                         const std::string& metric, result::Number value, int repetition = 0,
                         const std::string& element = "f64") {
  const result::Params point{{"variant", variant},
                             {"n", n},
                             {"element", element},
                             {"block", std::int64_t{32}},
                             {"transpose", "included"}};
  return test::observed("matmul", point, witness, metric, value, repetition);
}

result::Results study() {
  result::Results results = test::one_run();
  result::Run& run = results.runs.front();
  run.caches = {{"L1d", 32768, 64, 8}, {"L2", 1 << 20, 64, 16}};
  run.plan = {{"kernel", "matmul"}, {"study", "lab,report"}};
  run.skipped = {{"perf", "no PMU"}};
  for (const std::int64_t n : {600, 1000})
    for (const char* variant : {"ijk", "ikj", "blocked"})
      for (int r = 0; r < 3; ++r) {
        const double seconds =
            static_cast<double>(n) * (std::string(variant) == "ijk" ? 2e-3 : 1e-3) + 1e-5 * r;
        results.observations.push_back(seen(variant, n, "clock", "seconds", seconds, r));
      }
  for (const char* metric : {"PAPI_L1_DCM", "PAPI_LD_INS", "PAPI_SR_INS", "PAPI_L2_DCA", "PAPI_L2_DCM"})
    for (const char* variant : {"ijk-mem", "transposed", "blocked"}) {
      results.observations.push_back(
          seen(variant, 1024, "model", metric, std::int64_t{4000000000}, 0, "i16"));
      results.observations.push_back(seen(variant, 1024, "papi", metric, std::monostate{}, 0, "i16"));
      if (std::string(metric) == "PAPI_L1_DCM")
        results.observations.push_back(seen(variant, 1024, "clock", "seconds", 2.0, 0, "i16"));
    }
  return results;
}

std::vector<std::string> headings(const document::Document& document) {
  std::vector<std::string> all;
  for (const auto& block : document.blocks)
    if (const auto* heading = std::get_if<document::Heading>(&block)) all.push_back(heading->text);
  return all;
}

/// All words of a document.
std::string words(const document::Document& document) {
  std::string text = document.title + "\n";
  for (const auto& block : document.blocks) {
    if (const auto* heading = std::get_if<document::Heading>(&block)) text += heading->text + "\n";
    if (const auto* paragraph = std::get_if<document::Paragraph>(&block)) text += paragraph->text + "\n";
    if (const auto* list = std::get_if<document::List>(&block))
      for (const auto& item : list->items)
        text += item + "\n";
    if (const auto* table = std::get_if<show::Table>(&block)) {
      text += table->caption + "\n";
      for (const auto& row : table->rows)
        for (const auto& cell : row)
          text += cell.text + "\n";
    }
    if (const auto* picture = std::get_if<document::Picture>(&block)) text += picture->caption + "\n";
  }
  return text;
}

bool says(const document::Document& document, const std::string& text) {
  return words(document).find(text) != std::string::npos;
}

std::size_t compute_count(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != text.npos; at += part.size())
    ++n;
  return n;
}

} // namespace

BOOST_AUTO_TEST_CASE(sections_stand_in_the_order_of_a_readers_questions) {
  const auto report = report::build_report(study(), {{"s.jsonl"}, "0", ""}, tables);
  const auto all = headings(report.document);
  std::vector<std::string> wanted{"Summary",
                                  "Machine",
                                  "Method",
                                  "Not counted",
                                  "Products of 16-bit integers",
                                  "Products of doubles",
                                  "Comments",
                                  "Values in files"};
  auto at = all.begin();
  for (const auto& heading : wanted) {
    at = std::find(at, all.end(), heading);
    BOOST_TEST((at != all.end()), heading);
  }
}

BOOST_AUTO_TEST_CASE(no_table_is_empty_and_each_row_is_whole) {
  for (const auto& block : report::build_report(study(), {{"s.jsonl"}, "0", ""}, tables).document.blocks)
    if (const auto* table = std::get_if<show::Table>(&block)) {
      BOOST_TEST(!table->rows.empty(), table->caption);
      BOOST_TEST(table->columns.size() > 1U, table->caption);
      for (const auto& row : table->rows)
        BOOST_TEST(row.size() == table->columns.size(), table->caption);
    }
}

BOOST_AUTO_TEST_CASE(what_was_not_counted_is_told_once_with_its_reason) {
  const auto text = words(report::build_report(study(), {{"s.jsonl"}, "0", ""}, tables).document);
  BOOST_TEST(compute_count(text, "no such event here") == 1U);
  BOOST_TEST(compute_count(text, "perf: no PMU") == 1U);
  BOOST_TEST(text.find("PAPI_L1_DCM, PAPI_L2_DCA, PAPI_L2_DCM, PAPI_LD_INS, PAPI_SR_INS by papi") !=
             text.npos);
}

BOOST_AUTO_TEST_CASE(numbers_say_who_they_are_by) {
  const auto document = report::build_report(study(), {{"s.jsonl"}, "0", ""}, tables).document;
  BOOST_TEST(says(document, "speed-up over simple: line, by time: 2.0 x"));
  BOOST_TEST(says(document, "by the clock"));
  BOOST_TEST(says(document, "modelled"));
  BOOST_TEST(says(document, "Cache misses were not counted here"));
  BOOST_TEST(!says(document, "nan"));
}

BOOST_AUTO_TEST_CASE(what_was_never_asked_for_has_no_section) {
  auto results = study();
  std::erase_if(results.observations,
                [](const auto& o) { return o.params.at("element") != result::ParamValue("f64"); });
  const auto all = headings(report::build_report(results, {{"s.jsonl"}, "0", ""}, tables).document);
  for (const char* absent : {"Products of 16-bit integers", "Caches", "Cache curves",
                             "Published values compared with the model", "Warnings"})
    BOOST_TEST((std::ranges::find(all, absent) == all.end()), absent);
}

BOOST_AUTO_TEST_CASE(machines_are_kept_apart) {
  auto results = study();
  auto run = results.runs[0];
  run.id = "S";
  run.host = "other";
  results.runs.push_back(run);
  for (auto o : study().observations) {
    o.run = "S";
    results.observations.push_back(o);
  }
  const auto report = report::build_report(results, {{"s.jsonl"}, "0", ""}, tables);
  const auto all = headings(report.document);
  BOOST_TEST((std::ranges::find(all, "Machines") != all.end()));
  for (const char* host : {"box", "other"})
    BOOST_TEST((std::ranges::find(all, std::string("Products of doubles: Some CPU on ") + host) != all.end()),
               host);
  for (const document::RequestedPicture& a : report.pictures)
    BOOST_TEST(std::ranges::count(report.pictures, a.name, &document::RequestedPicture::name) == 1);
}

BOOST_AUTO_TEST_CASE(disturbed_failed_and_shared_values_are_warned_of) {
  auto results = study();
  results.observations[0].flags = {{Flag::Kind::steal, "steal 20 ms (30 %)", 30.0}};
  results.observations[1].enabled_ns = 1000;
  results.observations[1].running_ns = 250;
  results.failures.push_back(
      {"R", "matmul", {{"n", std::int64_t{7}}}, 0, "perf", "killed by signal 9 (SIGKILL)"});
  results.warnings = {"s.jsonl: the last line is torn"};
  const auto document = report::build_report(results, {{"s.jsonl"}, "0", ""}, tables).document;
  BOOST_TEST(says(document, "(steal 1)"));
  BOOST_TEST(says(document, "counted at least 25 % of the time"));
  BOOST_TEST(says(document, "matmul n=7, repetition 1, by perf: killed by signal 9"));
  BOOST_TEST(says(document, "the last line is torn"));
}

BOOST_AUTO_TEST_CASE(short_form_has_figures_before_averages_and_values_in_files) {
  const auto report = report::build_report(study(), {{"s.jsonl"}, "0", "", false}, tables);
  const auto all = headings(report.document);
  for (const char* absent : {"Answers", "Method", "Machines"})
    BOOST_TEST((std::ranges::find(all, absent) == all.end()), absent);
  bool table = false;
  for (const auto& block : report.document.blocks) {
    const auto* const heading = std::get_if<document::Heading>(&block);
    table = (table && !(heading && heading->level == 1)) || std::holds_alternative<show::Table>(block);
    BOOST_TEST(!(table && std::holds_alternative<document::Picture>(block)));
  }
  BOOST_TEST(test::tables_in(report.document).size() == 4U); // of 16-bit integers, doubles, blocks, by size
  BOOST_TEST(says(report.document, "products.csv: all values of products"));
  BOOST_TEST(compute_count(words(report.document), "?: not established") == 1U);
  BOOST_TEST(report.files.size() == 1U);
  BOOST_TEST(show::csv_text(report.files.at(0)).find(",clock,1,0,") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_broken_promise_of_a_caption_and_an_impossible_rate_end_the_report) {
  const auto figure = [](double rate, const char* words) {
    plot::Sheet sheet;
    sheet.name = "matmul-time";
    plot::Panel& panel = sheet.panels.emplace_back();
    panel.y_title = "L2 hit rate";
    panel.series.push_back({"line", "line", {{1, rate, rate, rate}}});
    return std::vector{plot::Figure{{"matmul-time",
                                     "rates compared with the model",
                                     "",
                                     {{words, [](const plot::Sheet& s) { return s.panels.size() > 1; }}}},
                                    [sheet](const auto&, const auto&) { return sheet; },
                                    [](const auto&, const auto&) { return true; }}};
  };
  const auto refusal = [](const std::vector<plot::Figure>& figures) -> std::string {
    const document::Section section{"x", [](const document::Material& material) {
                                      std::vector<document::Block> blocks;
                                      material.gallery.add(blocks, "matmul-time", material.parts[0]);
                                      return blocks;
                                    }};
    try {
      (void)report::build_report(study(), {{"s.jsonl"}, "0", ""}, {figures, {section}});
    } catch (const Error& error) {
      return error.problem().subject + ": " + error.problem().cause;
    }
    return "";
  };
  BOOST_TEST(refusal(figure(0.5, "something else")) == "");
  BOOST_TEST(refusal(figure(0.5, "compared with the model")) ==
             "figure matmul-time: lacks what its caption promises: compared with the model");
  BOOST_TEST(refusal(figure(-0.002, "something else")) ==
             "figure matmul-time: : line: -0.002 is a rate outside 0 to 1");
  show::Table table({{"n"}, {"rate"}}, "Rates");
  table.add({"1", "1.2"});
  show::Datum& datum = table.data.emplace_back();
  datum.quantity = "L1_HIT_RATE";
  datum.value = 1.2;
  const document::Section section{
      "x", [&](const document::Material&) { return std::vector<document::Block>{table}; }};
  BOOST_CHECK_THROW((void)report::build_report(study(), {{"s.jsonl"}, "0", ""}, {tables.figures, {section}}),
                    Error);
}

BOOST_AUTO_TEST_CASE(nothing_to_report_is_an_error) {
  auto results = study();
  results.observations.clear();
  BOOST_CHECK_THROW((void)report::build_report(results, {{"s.jsonl"}, "0", ""}, tables), Error);
  BOOST_CHECK_THROW((void)report::build_report(study(), {{"s.jsonl"}, "0", "no-such-machine"}, tables),
                    Error);
}

BOOST_AUTO_TEST_SUITE_END()
