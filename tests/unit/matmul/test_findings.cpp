// Findings in matrix results: contradictions, speed-ups, jumps in cost, outliers.
#include "commands/matmul/matmul_tables.hpp"

#include <boost/test/unit_test.hpp>

#include <fmt/format.h>

#include <regex>

using namespace recount;

BOOST_AUTO_TEST_SUITE(findings)

namespace {

result::Params at(const std::string& variant, std::int64_t n, std::int64_t block = 128,
                  const std::string& element = "f64") {
  return {{"variant", variant}, {"n", n}, {"block", block}, {"element", element}};
}

/// Results of one machine with the caches of an i7-9700, and of its published table.
class Book {
public:
  Book() {
    run.id = "R";
    run.caches = {{"L1d", 32768, 64, 8}, {"L2", 262144, 64, 4}};
    table.id = "T";
    table.versions = {{"published", "t.csv"}, {"machine", "i7-9700"}};
  }
  /// The model once, as it is deterministic; others three times within 0.2 %, as a quiet machine gives them.
  Book& add(const result::Params& point, const std::string& witness, const std::string& metric, double value,
            const std::string& kernel = "matmul") {
    if (witness.starts_with("model") || witness == "published")
      return add(point, witness, metric, std::vector{value}, kernel);
    return add(point, witness, metric, std::vector{value * 0.999, value, value * 1.001}, kernel);
  }
  /// One value per repetition.
  Book& add(const result::Params& point, const std::string& witness, const std::string& metric,
            const std::vector<double>& values, const std::string& kernel = "matmul") {
    for (std::size_t i = 0; i < values.size(); ++i) {
      auto& o = results_.observations.emplace_back();
      o.run = witness == "published" ? table.id : run.id;
      o.kernel = kernel;
      o.params = point;
      o.witness = witness;
      o.metric = metric;
      o.value = values[i];
      o.repetition = static_cast<int>(i);
    }
    return *this;
  }
  /// A metric that the witness did not determine.
  Book& add_absent(const result::Params& point, const std::string& witness, const std::string& metric,
                   const std::string& why) {
    add(point, witness, metric, std::vector{0.0});
    results_.observations.back().value = {};
    results_.observations.back().reason = why;
    return *this;
  }
  /// The findings of this title, a line each.
  [[nodiscard]] std::string finding(const std::string& title) {
    results_.runs = {run, table};
    std::string found;
    for (const auto& one : matmul::findings(matmul::group_products(results_)))
      if (one.title == title) found += one.text + "\n";
    return found;
  }

  result::Run run, table;

private:
  result::Results results_;
};

bool holds(const std::string& text, const std::string& pattern) {
  const bool found = std::regex_search(text, std::regex(pattern));
  BOOST_TEST(found, "/" << pattern << "/ is not in: " << text);
  return found;
}

double cube(std::int64_t n) {
  return static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n);
}

} // namespace

BOOST_AUTO_TEST_CASE(misses_of_l2_above_those_of_l1_are_explained_by_the_formula) {
  Book book;
  book.run.presets = {{"PAPI_L2_DCM", "LLC_REFERENCES - L2_RQSTS:CODE_RD_MISS (DERIVED_SUB, t.csv:1)"}};
  book.add(at("ikj", 600), "papi", "PAPI_L1_DCM", 27e6).add(at("ikj", 600), "papi", "PAPI_L2_DCM", 57e6);
  book.add(at("ijk", 600), "papi", "PAPI_L1_DCM", 245e6).add(at("ijk", 600), "papi", "PAPI_L2_DCM", 39e6);
  const std::string found = book.finding("More misses in L2 than in L1");
  holds(found, "in 1 of 2 products \\(line, n = 600: 57.00 against 27.00 million, counted by papi\\)");
  holds(found, "PAPI_L2_DCM = LLC_REFERENCES - .*LLC_REFERENCES counts .*hardware prefetches");
  Book sound; // other passes, other counts
  sound.add(at("ikj", 600), "papi", "PAPI_L1_DCM", 27e6).add(at("ikj", 600), "papi", "PAPI_L2_DCM", 27.3e6);
  BOOST_TEST(sound.finding("More misses in L2 than in L1").empty());
}

// The shipped machine describes PAPI_L1_DCM as demand + page walks + streamer.
BOOST_AUTO_TEST_CASE(published_preset_is_divided_into_its_parts_by_the_model) {
  const std::string model = "model:i7-9700-prefetch";
  Book book;
  for (const char* variant : {"ikj", "ijk"}) // the latter lacks a part
    book.add(at(variant, 600), "published", "PAPI_L1_DCM", 80e6)
        .add(at(variant, 600), model, "PAPI_L1_DCM", 100e6)
        .add(at(variant, 600), model, "MODEL_L1_DEMAND_MISSES", 40e6)
        .add(at(variant, 600), model, "MODEL_L1_WALK_MISSES", 10e6);
  book.add(at("ikj", 600), model, "MODEL_L1_STREAMER_FETCHES", 50e6);
  holds(book.finding("Parts of PAPI_L1_DCM"),
        "demand 40.00 %, streamer 50.00 %, page walks 10.00 % \\(line, n = 600: 1.250 times the published "
        "80.00 million\\)");
}

BOOST_AUTO_TEST_CASE(speed_up_with_fewer_hits_has_the_share_that_l2_can_explain) {
  const auto found = [](double faster, double slower) {
    Book book;
    const auto fill = [&](const char* variant, double l1, double l2, double seconds, int block = 16) {
      const auto point = at(variant, 100, block, "i16");
      book.add(point, "model", "PAPI_LD_INS", 3e6).add(point, "model", "PAPI_SR_INS", 1e6);
      book.add(point, "model", "PAPI_L1_DCM", l1).add(point, "model", "PAPI_L2_DCA", l1);
      book.add(point, "model", "PAPI_L2_DCM", l2).add(point, "clock", "seconds", seconds);
    };
    fill("ijk-mem", 1e5, 9e4, slower);
    fill("blocked", 2e5, 1e3, faster);
    fill("blocked", 3e5, 5e4, (faster + slower) / 2, 32);
    book.add(at("ijk", 100, 16, "i16"), "clock", "seconds", slower / 3);
    return book.finding("Faster with fewer hits");
  };
  // 89,000 misses of 150 ns are 13.35 ms.
  const std::string little = found(1, 2);
  holds(little, "block 16 is 2.0 times as fast as straightforward, n = 100, .* 2.50 points lower");
  holds(little, "its 0.089 million fewer L2 misses \\(L2 hit rates 99.50 % and 10.00 %\\), at 150 ns each, "
                "explain at most 1 % of the 1.000 s; the sum in a register, not in memory, makes "
                "straightforward 3.0 times as fast");
  BOOST_TEST(little.find("block 32") == std::string::npos, "not the fastest: " << little);
  holds(found(0.005, 0.01), "its 0.089 million fewer L2 misses .* may be the cause; the sum"); // 13 of 5 ms
}

BOOST_AUTO_TEST_CASE(jump_in_cost_is_due_to_the_tlb_when_only_the_model_with_tlb_has_it) {
  Book book;
  book.run.versions["machine"] = "i7-9700"; // 1536 entries in its second TLB
  const auto fill = [&](std::int64_t n, double ns, double misses, double walks, double bare) {
    const auto point = at("ijk", n);
    book.add(point, "clock", "seconds", ns * 1e-9 * cube(n));
    book.add(point, "model", "PAPI_L1_DCM", misses * cube(n))
        .add(point, "model", "PAPI_TLB_DM", walks * cube(n));
    book.add(point, "model:host~no-tlb", "PAPI_L1_DCM", bare * cube(n));
  };
  fill(1000, 1, 1.13, 0, 1.13);
  fill(1400, 1.2, 1.13, 0, 1.13);
  fill(1800, 5, 1.57, 1, 1.13);
  BOOST_TEST(
      book.finding("Jump in cost") ==
      "Between n = 1400 and 1800, the time per step of simple rises from 1.200 to 5.000 ns; the model has "
      "page walks from 0 to 1.000, and without its TLB 100 % less of the increase of L1 misses.\n");
}

BOOST_AUTO_TEST_CASE(jump_in_cost_is_open_where_the_samples_do_not_determine_a_cause) {
  Book book;
  for (const std::int64_t n : {600, 1000}) {
    book.add(at("ijk", n), "clock", "seconds", (n == 600 ? 1e-9 : 2e-9) * cube(n));
    book.add(at("ijk", n), "model", "PAPI_L2_DCM", 0.1 * cube(n));
  }
  holds(book.finding("Jump in cost"), "has no increase of misses or page walks");
  book.add_absent(at("ijk", 600), "model", "PAPI_TLB_DM", "1400 with an error of 3514");
  book.add(at("ijk", 1000), "model", "PAPI_TLB_DM", 0.27 * cube(1000));
  holds(book.finding("Jump in cost"), "the cause is open: the samples do not determine page walks");
}

BOOST_AUTO_TEST_CASE(jump_in_cost_may_be_due_to_a_cache) {
  Book book, bare;
  for (const std::int64_t n : {2000, 2200}) {
    book.add(at("ikj", n), "clock", "seconds", (n == 2000 ? 1e-9 : 2e-9) * cube(n))
        .add(at("ikj", n), "model", "MODEL_L1_DEMAND_MISSES", (n == 2000 ? 0.125 : 0.25) * cube(n));
    bare.add(at("ikj", n), "clock", "seconds", n == 2000 ? 1 : 99);
  }
  const std::string found = book.finding("Jump in cost");
  holds(found, "L1 misses of loads and stores from 0.1250 to 0.2500");
  holds(bare.finding("Jump in cost"), "; the cause is open\\.");
}

BOOST_AUTO_TEST_CASE(differences_within_the_noise_are_not_stated) {
  Book book;
  book.add(at("ijk", 100), "clock", "seconds", {1, 1.1, 5})
      .add(at("ijk", 110), "clock", "seconds", {3, 3.3, 15});
  for (const char* transpose : {"included", "excluded"}) {
    auto transposed = at("transposed", 100);
    transposed["transpose"] = std::string(transpose);
    book.add(transposed, "clock", "seconds",
             transpose[0] == 'i' ? std::vector<double>{2.5, 2.6, 0.9} : std::vector<double>{1, 1.1, 5});
  }
  BOOST_TEST(book.finding("Jump in cost").empty());
  BOOST_TEST(book.finding("Cost of the transposition").empty());
}

BOOST_AUTO_TEST_CASE(blocks_are_compared_with_capacities) {
  Book book;
  book.add(at("blocked", 4096, 128), "clock", "seconds", 1.0);
  holds(book.finding("Blocks and caches"),
        "\\(32 KiB\\) holds one block of 8-byte elements of at most 64 rows, or three of 36; one of 128 rows "
        "has 128 KiB and fits L2");
}

BOOST_AUTO_TEST_CASE(one_repetition_far_from_the_others_is_an_outlier) {
  const auto found = [](const std::vector<double>& values) {
    return Book().add(at("ijk", 600), "clock", "seconds", values).finding("Outliers");
  };
  holds(found({10.0, 10.1, 7.5, 10.05, 10.0}),
        "^Repetition 3 of simple, n = 600 is an outlier: seconds 7.500 s "
        "is 25 % below the median of 5 \\(by the clock\\)");
  holds(found({10, 10.1, 13, 10.05, 10}), "Repetition 3 .*29 % above the median of 5");
  BOOST_TEST(found({10, 12, 7.5, 11, 13}).empty());  // they agree on nothing
  BOOST_TEST(found({10, 10, 10.5, 10, 10}).empty()); // near enough
  BOOST_TEST(found({10, 10, 5}).empty());            // nobody knows which
  BOOST_TEST(found({10, 10, 5, 5}).empty());
}

BOOST_AUTO_TEST_CASE(values_that_are_equal_in_one_repetition_only_are_reported) {
  const auto found = [](const std::vector<double>& l2) {
    return Book()
        .add(at("ijk", 600), "papi", "PAPI_L1_DCM", std::vector{244.7e6, 244.5e6, 244.6e6})
        .add(at("ijk", 600), "papi", "PAPI_L2_DCM", l2)
        .finding("Outliers");
  };
  holds(found({39.8e6, 244.5e6, 40.9e6}), "Repetition 2 .*PAPI_L2_DCM is equal to PAPI_L1_DCM");
  BOOST_TEST(found({39.8e6, 39.9e6, 40.9e6}).empty());
  BOOST_TEST(found({244.7e6, 244.5e6, 244.6e6}).empty()); // in all: two names of one event
}

BOOST_AUTO_TEST_CASE(another_language_is_compared_with_both_builds) {
  const auto compared = [&](double java_seconds) {
    Book book;
    book.add(at("ikj", 1000), "clock", "seconds", 1.0);
    book.add(at("ikj", 1000), "clock", "seconds", 0.5, "matmul-vectorised");
    book.add({{"variant", "ikj"}, {"n", 1000}, {"element", "f64"}, {"language", "Java"}}, "clock", "seconds",
             java_seconds, "external");
    return book.finding("Languages");
  };
  BOOST_TEST(compared(0.6) == "Java takes 0.6000 s and C++ 1.000 s for line, n = 1000: Java is 1.7 times as "
                              "fast, vectorised C++ is 2.0 times.\n");
  BOOST_TEST(compared(1.0).empty());
}

BOOST_AUTO_TEST_SUITE_END()
