// Published tables of matrix products: what is read, and what is refused.
#include "run/result/products.hpp"

#include "commands/matmul/matmul_study.hpp"
#include "commands/matmul/matmul_tables.hpp"
#include "run/result/observation.hpp"
#include "run/witness/backend.hpp"

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>
#include <recount/error.hpp>

#include <random>
#include <set>

using namespace recount;

BOOST_AUTO_TEST_SUITE(published_tables)

namespace {

const std::string head =
    "# Measured on an i7 9700, by somebody\nvariant,n,block,seconds_cpp,seconds_java,l1_dcm,l2_dcm\n";

bool says(const Error& error, const std::string& part) {
  return error.kind() == ErrorKind::bad_input && std::string(error.what()).find(part) != std::string::npos;
}
matmul::Published parse_one(const std::string& text, const std::string& file,
                            const std::string& machine = {}) {
  auto tables = matmul::parse_published(text, file, machine);
  BOOST_REQUIRE(tables.size() == 1U);
  return tables.front();
}
void refused(const std::string& text, const std::string& part) {
  BOOST_CHECK_EXCEPTION((void)matmul::parse_published(text, "t.csv"), Error, [&](const Error& error) {
    BOOST_TEST_CONTEXT(error.what()) BOOST_TEST(says(error, part));
    return says(error, part);
  });
}

} // namespace

BOOST_AUTO_TEST_CASE(a_table_becomes_results) {
  const auto table =
      parse_one(head + "simple,600,,0.2,0.25,244,39\r\n\nblock, 4096 ,128,3e1,,96,\n", "x/t.csv");
  BOOST_TEST(table.run.versions.at("published") == "t.csv");
  BOOST_TEST(table.run.versions.at("source") == "Measured on an i7 9700, by somebody");
  BOOST_TEST(table.run.versions.at("machine") == "i7-9700"); // mentioned, in other letters
  BOOST_TEST(table.run.plan.empty());                        // nobody's sweep
  BOOST_REQUIRE(table.observations.size() == 6U);            // empty fields are no values
  const auto& first = table.observations[0];
  BOOST_TEST((first.kernel == "matmul" && first.witness == "published" && first.run == table.run.id));
  BOOST_TEST((first.metric == "seconds" && std::get<double>(first.value) == 0.2));
  BOOST_TEST(std::get<std::string>(first.params.at("variant")) == "ijk");
  BOOST_TEST(first.params.contains("offset")); // complete, as the runs beside it
  BOOST_TEST((table.observations[1].kernel == "external" &&
              std::get<std::string>(table.observations[1].params.at("language")) == "Java"));
  BOOST_TEST((table.observations[2].metric == "PAPI_L1_DCM" &&
              std::get<std::int64_t>(table.observations[2].value) == 244));
  BOOST_TEST(std::get<std::int64_t>(table.observations[4].params.at("block")) == 128);
  BOOST_TEST(table.points.size() == 2U);
}

BOOST_AUTO_TEST_CASE(several_runs_of_a_product_are_repetitions_with_outliers) {
  std::string rows = "variant,n,repetition,seconds,l1_dcm,l2_dcm\n";
  const char* runs[] = {"1.00,500,40", "1.01,500,41", "0.75,500,40", "1.00,500,500", "1.02,501,40"};
  for (int i = 0; i < 5; ++i)
    rows += fmt::format("line,600,{},{}\n", i + 1, runs[i]);
  const auto table = parse_one(rows, "t.csv");
  BOOST_TEST(table.points.size() == 1U);
  BOOST_TEST(table.observations.size() == 15U);
  BOOST_TEST(table.observations.back().repetition == 4);
  result::Results results;
  results.runs = {table.run};
  results.observations = table.observations;
  const auto findings = matmul::findings(matmul::group_products(results));
  const auto found = [&](const std::string& what) {
    return std::ranges::any_of(findings, [&](const auto& finding) {
      return finding.title == "Outliers" && finding.text.find(what) != std::string::npos;
    });
  };
  BOOST_TEST(
      found("Repetition 3 of line, n = 600 is an outlier: seconds 0.7500 s is 25 % below the median of 5"));
  BOOST_TEST(found("PAPI_L2_DCM is equal to PAPI_L1_DCM in it only"));
  const auto words =
      parse_one("variant,n,repetition,seconds\nline,6,1,1\nline,6,mean,2\nline,6,b,2\n", "t.csv");
  BOOST_TEST((words.points.size() == 1U && words.observations[2].repetition == 2));
  refused("variant,n,repetition,seconds\nline,6,mean,1\nline,6,mean,2\n", "t.csv:3: the product has another");
  const auto kept = matmul::parse_published("variant,n,seconds\nline,6,1\nline,6,2\n", "t.csv", "",
                                            matmul::Duplicates::keep);
  BOOST_TEST(kept.front().observations[1].repetition == 1);
  refused("variant,n,repetition,seconds\nline,6,-1,1\n", "\"-1\" is not a whole number");
  refused("variant,n,seconds\nline,600,1\nline,600,2\n", "t.csv:3: the product is that of line 2");
  refused("variant,n,repetition,seconds\nline,600,1,1\nline,600,1,2\n", "t.csv:3");
}

BOOST_AUTO_TEST_CASE(columns_may_be_few_and_in_any_order) {
  const auto table = parse_one("l1_dcm,n,variant\n7,100,line\n", "t.csv");
  BOOST_TEST(table.observations.size() == 1U);
  BOOST_TEST(!table.run.versions.contains("machine"));
  BOOST_TEST(parse_one("n,variant,tot_cyc\n5,ijk-mem,9\n", "t.csv").observations[0].metric == "PAPI_TOT_CYC");
  BOOST_TEST(parse_one("n,variant,seconds\n5,simple,9\n", "t.csv", "host~full").run.versions.at("machine") ==
             "host~full");
  const auto same = [](const char* text) { return parse_one(text, "t.csv").run.id; };
  BOOST_TEST(same("n,variant,seconds\n5,simple,9\n") == same("n,variant,seconds\n5,simple,9\n"));
  BOOST_TEST(same("n,variant,seconds\n5,simple,9\n") != same("n,variant,seconds\n5,simple,8\n"));
}

BOOST_AUTO_TEST_CASE(machines_of_one_file_are_tables_of_their_own) {
  const std::string columns = "group,cpu,microarchitecture,pages,flags,variant,n,l1_dcm,note\n";
  const auto tables = matmul::parse_published(
      columns + "b,i7-9750H,skylake-client,4K,-O2,line,600,7,\na,?,haswell,huge,,line,600,8,lost\n"
                "b,i7-9750H,skylake-client,4K,-O2,simple,600,9,\nc,?,,,,line,600,8,\n",
      "x/t.csv");
  BOOST_REQUIRE(tables.size() == 3U);
  BOOST_TEST(tables[0].run.host == "t.csv b");
  BOOST_TEST(tables[0].run.cpu == "i7-9750H");
  BOOST_TEST(tables[0].run.versions.at("machine") == "i7-9700"); // by its microarchitecture
  BOOST_TEST(tables[0].observations.size() == 2U);
  BOOST_TEST(tables[1].run.versions.at("machine") == "i7-4770~huge");
  BOOST_TEST(!tables[2].run.versions.contains("machine"));
  BOOST_TEST((tables[0].run.id != tables[1].run.id && tables[1].observations[0].run == tables[1].run.id));
  BOOST_TEST(parse_one(columns + "b,i7-9750H,skylake-client,4K,-O2,line,600,7,\n", "t.csv", "i7-2600")
                 .run.versions.at("machine") == "i7-2600");
  BOOST_TEST(parse_one(columns + "b,,,,\"-O2, -g\",line,600,7,\"a, \"\"b\"\"\"\n", "t.csv")
                 .run.versions.at("flags") == "-O2, -g");
  refused(columns + "b,,,,\"-O2,line,600,7,\n", "t.csv:2: has 5 fields, the header has 9");
  refused(columns + "b,i7-9700,,,,line,600,7,\nb,i7-9750H,,,,line,700,7,\n",
          "t.csv:3: cpu is \"i7-9750H\", but was \"i7-9700\" in this group");
  refused(columns + "b,,,,,line,600,7,\nb,,,,,line,600,8,\n", "the product is that of line 2");
}

BOOST_AUTO_TEST_CASE(machines_of_tables_are_modelled_at_their_own_points) {
  matmul::MatmulRequest request;
  request.published = matmul::parse_published(
      "group,microarchitecture,variant,n,l1_dcm\na,skylake-client,line,60,5\nb,haswell,line,70,5\n", "t.csv");
  request.witnesses = {"model:i7-9700", "model:i7-4770"};
  const auto modelled = [&] {
    std::set<std::pair<std::string, std::int64_t>> all;
    for (const auto& job : matmul::plan_matmul(request, [] { return ""; }).jobs)
      all.emplace(job.witness.machine(), *result::integer(job.point, "n"));
    return all;
  };
  BOOST_TEST(modelled().size() == 8U); // with and without TLB
  request.published_witnesses = true;
  const std::set<std::pair<std::string, std::int64_t>> own{
      {"i7-9700", 60}, {"i7-9700~no-tlb", 60}, {"i7-4770", 70}, {"i7-4770~no-tlb", 70}};
  BOOST_TEST((modelled() == own));
}

BOOST_AUTO_TEST_CASE(mistakes_are_named_with_their_line) {
  refused("", "t.csv:0: has no values");
  refused(head, "has no values");
  refused("n,seconds\n", "t.csv:1: there is no column variant");
  refused("variant,seconds\n", "there is no column n");
  refused("variant,n,l1_dcn\n", "unknown column \"l1_dcn\"");
  refused("variant,n,l1_dcn\n", "l1_dcm"); // the nearest
  refused(head + "simple,600,,0.2\n", "t.csv:3: has 4 fields, the header has 7");
  refused(head + "simple,six,,,,1,\n", "\"six\" is not a whole number");
  refused(head + "simple,-600,,,,1,\n", "\"-600\" is not a whole number");
  refused(head + "simple,2000000,,,,1,\n", "2000000 is over");
  refused(head + "simpel,600,,,,1,\n", "\"simpel\" is not a variant");
  refused(head + "simple,600,,,,1.5,\n", "\"1.5\" is not a count");
  refused(head + "simple,600,,fast,,1,\n", "\"fast\" is not a time");
  refused(head + "simple,600,,nan,,1,\n", "\"nan\" is not a time");
  refused(head + ",600,,,,1,\n", "has no variant or no n");
  BOOST_CHECK_THROW((void)matmul::parse_published("n,variant,seconds\n5,simple,9\n", "t.csv", "i7-9999"),
                    Error);
  BOOST_CHECK_THROW((void)matmul::read_published("/no/such/table.csv"), Error);
}

/// The model is asked for the points of a table and for nothing that stands in it.
BOOST_AUTO_TEST_CASE(other_values_leave_what_is_modelled_as_it_is) {
  std::mt19937 random(11);
  const auto outcome = [&](bool other) {
    std::string text = "# on an i7-9700\nvariant,n,block,seconds_cpp,l1_dcm,l2_dcm\n";
    for (const char* point : {"simple,40,", "line,64,", "block,48,16"})
      text += fmt::format("{},{},{},{}\n", point, other ? 1 + random() % 90 : 2,
                          other ? random() % 100'000'000 : 5000, other ? random() % 100'000'000 : 7000);
    matmul::MatmulRequest request;
    request.published = matmul::parse_published(text, "t.csv");
    request.witnesses = {"model:i7-9700"};
    request.choice.studies = {};
    std::vector<std::string> all;
    for (const auto& job : matmul::plan_matmul(request, [] { return ""; }).jobs) {
      const auto& kernel = kernel::find(job.kernel);
      const witness::Task task{"r", job.kernel, job.point, job.repetition, job.witness, job.metrics};
      for (const auto& o : witness::find(job.witness).observe(kernel, nullptr, task))
        all.push_back(result::to_line(o));
    }
    return all;
  };
  const auto as_published = outcome(false);
  BOOST_TEST(as_published.size() > 20U);
  for (int i = 0; i < 3; ++i)
    BOOST_TEST(outcome(true) == as_published, boost::test_tools::per_element());
}

/// The model answers for the machine and the loops: what others have published has no way into it.
BOOST_AUTO_TEST_CASE(another_table_of_the_same_points_changes_nothing_of_the_model) {
  const auto modelled = [](const std::string& rows) {
    matmul::MatmulRequest request;
    request.published = matmul::parse_published("variant,n,l1_dcm\n" + rows, "t.csv", "i7-9700");
    request.witnesses = {"model:i7-9700"};
    return matmul::plan_matmul(request, [] { return "not requested"; });
  };
  const auto one = modelled("simple,600,244750000\nline,600,27109566\n"),
             other = modelled("simple,600,1\nline,600,99999999999\n");
  BOOST_TEST_REQUIRE(one.jobs.size() == other.jobs.size());
  BOOST_TEST(!one.jobs.empty());
  for (std::size_t i = 0; i < one.jobs.size(); ++i) {
    BOOST_TEST(one.jobs[i].kernel == other.jobs[i].kernel);
    BOOST_TEST((one.jobs[i].point == other.jobs[i].point));
    BOOST_TEST(one.jobs[i].witness == other.jobs[i].witness);
    BOOST_TEST((one.jobs[i].metrics == other.jobs[i].metrics));
  }
}

/// Whatever the bytes: a table or an error.
BOOST_AUTO_TEST_CASE(any_bytes_are_read_or_refused) {
  std::mt19937 random(7);
  const std::string whole = head + "simple,600,,0.2,0.25,244,39\nblock,4096,128,30,,96,\n";
  for (int i = 0; i < 3000; ++i) {
    std::string text = whole;
    for (int k = 0; k < 1 + static_cast<int>(random() % 4); ++k)
      text[random() % text.size()] = static_cast<char>(random() % 256);
    try {
      BOOST_TEST(!matmul::parse_published(text, "t.csv").front().observations.empty());
    } catch (const Error& error) {
      BOOST_TEST((error.kind() == ErrorKind::bad_input));
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
