// Remarks on matrix results: contradictions, speed-ups, jumps in cost, conflicts.
#include "matmul/derived.hpp"
#include "matmul/remarks.hpp"

#include <boost/test/unit_test.hpp>

using namespace recount;

BOOST_AUTO_TEST_SUITE(remarks)

namespace {

result::Params at(const std::string& variant, std::int64_t n, std::int64_t block = 128,
                  const std::string& element = "f64") {
  return {{"variant", variant}, {"n", n}, {"block", block}, {"element", element}};
}

/// Results of one machine, one value per line.
class Book {
public:
  Book() {
    run_.id = "R";
    run_.caches = {{"L1d", 32768, 64, 8}, {"L2", 262144, 64, 4}};
  }
  result::Run& run() { return run_; }
  /// The model once, as it is deterministic; others three times within 0.2 %, as a quiet machine gives them.
  Book& add(const result::Params& point, const std::string& witness, const std::string& metric,
            double value) {
    if (witness.starts_with("model")) return add(point, witness, metric, value, 0);
    for (int i = 0; i < 3; ++i)
      add(point, witness, metric, value * (1 + 0.001 * (i - 1)), i);
    return *this;
  }
  Book& add(const result::Params& point, const std::string& witness, const std::string& metric, double value,
            int repetition) {
    result::Observation o;
    o.run = "R";
    o.kernel = "matmul";
    o.params = point;
    o.witness = witness;
    o.metric = metric;
    o.value = value;
    o.repetition = repetition;
    results_.observations.push_back(o);
    return *this;
  }
  /// The product line in Java, as an external command reports it.
  void add_java(std::int64_t n, double seconds, int repetition) {
    add({{"variant", "ikj"}, {"n", n}, {"element", "f64"}, {"language", "Java"}}, "clock", "seconds", seconds,
        repetition);
    results_.observations.back().kernel = "external";
  }
  void add_vectorised(const result::Params& point, double seconds) {
    for (int i = 0; i < 3; ++i) {
      add(point, "clock", "seconds", seconds * (1 + 0.001 * i), i);
      results_.observations.back().kernel = "matmul-vectorised";
    }
  }
  matmul::Products products() {
    results_.runs = {run_};
    return matmul::products(results_).at(0);
  }

private:
  result::Run run_;
  result::Results results_;
};

bool holds(const matmul::Remark& remark, const std::string& part) {
  bool found = remark.title.find(part) != std::string::npos || remark.text.find(part) != std::string::npos;
  for (const auto& line : remark.evidence)
    found = found || line.find(part) != std::string::npos;
  BOOST_TEST(found, "\"" << part << "\" is not in: " << remark.title << ". " << remark.text);
  return found;
}

const matmul::Capacities i7 = {"i7", {{"L1d", 32768}, {"L2", 262144}, {"L3", 12582912}}, 64, 4096, 1536};

} // namespace

BOOST_AUTO_TEST_CASE(l2_misses_above_l1_misses_are_explained_by_the_formula) {
  Book book;
  book.run().presets = {{"PAPI_L2_DCM", "LLC_REFERENCES - L2_RQSTS:CODE_RD_MISS (DERIVED_SUB, t.csv:1)"},
                        {"PAPI_L1_DCM", "L1D:REPLACEMENT (NOT_DERIVED, t.csv:2)"}};
  book.add(at("ikj", 600), "papi", "PAPI_L1_DCM", 27e6).add(at("ikj", 600), "papi", "PAPI_L2_DCM", 57e6);
  book.add(at("ijk", 600), "papi", "PAPI_L1_DCM", 245e6).add(at("ijk", 600), "papi", "PAPI_L2_DCM", 39e6);
  book.add(at("ikj", 600), "model", "PAPI_L2_DCM", 26e6).add(at("ikj", 600), "model", "PAPI_L1_DCM", 20e6);
  const matmul::Products group = book.products();
  const auto found = matmul::misses_out_of_order(group, &group, "model");
  BOOST_REQUIRE(found.size() == 1U);
  holds(found[0], "In 1 of 2 products");
  holds(found[0], "LLC_REFERENCES counts every request");
  holds(found[0], "hardware prefetches");
  holds(found[0], "L1D:REPLACEMENT counts lines");
  BOOST_REQUIRE(found[0].evidence.size() == 1U); // neither the sound product nor the model
  holds(found[0], "line, n = 600: 57.00 million in L2, 27.00 million in L1 (2.11 times)");
  holds(found[0], "without a prefetcher 26.00 million");
  Book sound;
  sound.add(at("ikj", 600), "papi", "PAPI_L1_DCM", 27e6).add(at("ikj", 600), "papi", "PAPI_L2_DCM", 27.3e6);
  BOOST_TEST(
      matmul::misses_out_of_order(sound.products(), nullptr, "model").empty()); // other passes, other counts
}

// 40 + 2 * 30 = 100 million modelled, 80 million published.
BOOST_AUTO_TEST_CASE(a_published_preset_is_divided_into_its_parts_by_the_model) {
  const std::string model = "model:i7-9700-prefetch";
  Book book;
  book.add(at("ikj", 600), "published", "PAPI_L2_DCM", 80e6).add(at("ikj", 600), model, "PAPI_L2_DCM", 100e6);
  book.add(at("ikj", 600), model, "MODEL_L2_DEMAND_MISSES", 40e6);
  book.add(at("ikj", 600), model, "MODEL_L2_STREAMER_FETCHES", 30e6);
  book.add(at("ijk", 600), "published", "PAPI_L2_DCM", 80e6); // not modelled
  model::MachineDescription machine;
  machine.name = "i7-9700-prefetch";
  machine.presets["PAPI_L2_DCM"] = {{"MODEL_L2_DEMAND_MISSES", 1}, {"MODEL_L2_STREAMER_FETCHES", 2}};
  const matmul::Products group = book.products();
  const auto found = matmul::parts_of_presets(group, group, model, machine);
  BOOST_REQUIRE(found.size() == 1U);
  holds(found[0], "PAPI_L2_DCM");
  holds(found[0], "MODEL_L2_DEMAND_MISSES + 2 MODEL_L2_STREAMER_FETCHES");
  BOOST_REQUIRE(found[0].evidence.size() == 1U);
  holds(found[0], "line, n = 600: published 80.00 million; modelled 1.250 times as many (1.250 to 1.250): "
                  "demand 40.00 %, streamer 60.00 %");
  machine.presets["PAPI_L2_DCM"]["MODEL_L2_WALK_MISSES"] = 1; // a part without a value
  BOOST_TEST(matmul::parts_of_presets(group, group, model, machine).empty());
}

BOOST_AUTO_TEST_CASE(a_speed_up_with_fewer_hits_is_answered_by_l2) {
  Book book;
  const auto fill = [&](const char* variant, double l1, double l2, double seconds) {
    const auto point = at(variant, 100, 16, "i16");
    book.add(point, "model", "PAPI_LD_INS", 3e6).add(point, "model", "PAPI_SR_INS", 1e6);
    book.add(point, "model", "PAPI_L1_DCM", l1).add(point, "model", "PAPI_L2_DCA", l1);
    book.add(point, "model", "PAPI_L2_DCM", l2).add(point, "clock", "seconds", seconds);
  };
  fill("ijk-mem", 1e5, 9e4, 2);
  fill("blocked", 2e5, 1e3, 1);
  const auto found = matmul::faster_with_fewer_hits(book.products());
  BOOST_REQUIRE(found.size() == 1U);
  holds(found[0],
        "It is 2.00 times faster (by the clock), though its L1 hit rate is 2.500 points lower (modelled)");
  holds(found[0], "L2 serves the misses: 99.50 % of the L1 misses hit in L2 (10.00 % in the other product)");
}

BOOST_AUTO_TEST_CASE(a_jump_in_cost_is_due_to_the_tlb_when_only_the_model_with_tlb_has_it) {
  Book book;
  const auto step = [](std::int64_t n) {
    return static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n);
  };
  const auto fill = [&](std::int64_t n, double ns, double misses, double walks, double bare) {
    const auto point = at("ijk", n);
    book.add(point, "clock", "seconds", ns * 1e-9 * step(n));
    book.add(point, "model", "PAPI_L1_DCM", misses * step(n))
        .add(point, "model", "PAPI_TLB_DM", walks * step(n));
    book.add(point, "model:host~no-tlb", "PAPI_L1_DCM", bare * step(n));
  };
  fill(1000, 1, 1.13, 0, 1.13);
  fill(1400, 1.2, 1.13, 0, 1.13);
  fill(1800, 5, 1.57, 1, 1.13);
  const matmul::Products group = book.products();
  const auto found = matmul::cliffs(group, group, "model", i7);
  BOOST_REQUIRE(found.size() == 1U);
  holds(found[0], "Jump in cost: simple between n = 1400 and 1800");
  holds(found[0], "time 1.200 to 5.000 ns per step (4.17 times, by the clock)");
  holds(found[0], "page walks 0 to 1.000 per step");
  holds(found[0], "The TLB causes it: the model has L1 misses 1.130 to 1.570 per step with its TLB, 1.130 to "
                  "1.130 without");
  holds(found[0], "the TLB limits the time");
  holds(found[0], "(1400 to 1800 pages) exceeds the 1536 TLB entries");
}

BOOST_AUTO_TEST_CASE(a_jump_in_cost_may_be_due_to_a_cache) {
  Book book;
  const auto fill = [&](std::int64_t n, double ns, double misses) {
    const auto point = at("ikj", n);
    const auto steps = static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n);
    book.add(point, "clock", "seconds", ns * 1e-9 * steps)
        .add(point, "model", "MODEL_L1_DEMAND_MISSES", misses * steps);
  };
  fill(2000, 1, 0.125);
  fill(2200, 2, 0.25);
  const matmul::Products group = book.products();
  const auto found = matmul::cliffs(group, group, "model", i7);
  BOOST_REQUIRE(found.size() == 1U);
  holds(found[0], "L1 misses of loads and stores 0.1250 to 0.2500 per step");
  holds(found[0], "a row of b and a row of c (31.25 KiB to 34.38 KiB) exceeds L1d (32 KiB)");
  const matmul::Products bare =
      Book().add(at("ikj", 10), "clock", "seconds", 1).add(at("ikj", 20), "clock", "seconds", 99).products();
  holds(matmul::cliffs(bare, bare, "model", i7).at(0), "Its cause is open: these sizes were not modelled");
  Book flat;
  for (const std::int64_t n : {10, 20})
    flat.add(at("ikj", n), "clock", "seconds", n == 10 ? 1 : 99).add(at("ikj", n), "model", "PAPI_L2_DCM", 0);
  const matmul::Products unmoved = flat.products();
  holds(matmul::cliffs(unmoved, unmoved, "model", i7).at(0), "No effect in the model of the caches of i7");
}

BOOST_AUTO_TEST_CASE(differences_within_the_noise_are_not_stated) {
  Book book;
  const std::vector<double> simple{1, 1.1, 5}, line{2.5, 2.6, 0.9};
  for (int i = 0; i < 3; ++i) {
    const auto k = static_cast<std::size_t>(i);
    book.add(at("ijk", 100), "clock", "seconds", simple[k], i);
    book.add(at("ijk", 110), "clock", "seconds", 3 * simple[k], i);
    for (const char* transpose : {"included", "excluded"}) {
      auto transposed = at("transposed", 100);
      transposed["transpose"] = std::string(transpose);
      book.add(transposed, "clock", "seconds", transpose[0] == 'i' ? line[k] : simple[k], i);
    }
  }
  const auto group = book.products();
  const auto jumps = matmul::cliffs(group, group, "model", i7);
  BOOST_REQUIRE(jumps.size() == 1U);
  BOOST_TEST(jumps[0].undecided);
  holds(jumps[0], "time of simple, n = 100 and 110: not distinguishable from noise (intervals overlap)");
  const auto copied = matmul::transposition(group);
  BOOST_REQUIRE(copied.size() == 1U);
  holds(copied[0], "not distinguishable from noise (intervals overlap); repeat with --repeat 10");
  BOOST_TEST(copied[0].text.find(" s: +") == std::string::npos);
  BOOST_TEST(copied[0].text.find(" s: -") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(conflicts_are_what_full_associativity_would_save) {
  Book book;
  book.add(at("ijk", 1024), "model", "PAPI_L1_DCM", 1e9)
      .add(at("ijk", 1024), "model:host~full", "PAPI_L1_DCM", 1e8);
  book.add(at("ijk", 1000), "model", "PAPI_L1_DCM", 1e9)
      .add(at("ijk", 1000), "model:host~full", "PAPI_L1_DCM", 0.9e9);
  const auto found = matmul::conflicts(book.products(), "model");
  BOOST_REQUIRE(found.size() == 1U);
  BOOST_REQUIRE(found[0].evidence.size() == 1U);
  holds(found[0], "simple, n = 1024: 1000 million L1 misses, 100.0 million with a fully associative L1");
}

BOOST_AUTO_TEST_CASE(blocks_are_compared_with_capacities) {
  Book book;
  book.add(at("blocked", 4096, 128), "clock", "seconds", 1);
  const auto found = matmul::blocks_that_fit(book.products(), i7);
  BOOST_REQUIRE(found.size() == 1U);
  holds(found[0], "one block of 64 x 64 elements of 8 bytes, or three (of a, b and c) of 36 x 36");
  holds(found[0], "block 128 x 128: 128 KiB each, 384 KiB three; smallest level that fits one: L2");
}

BOOST_AUTO_TEST_CASE(a_machine_without_a_part_counts_where_nobody_asked_for_the_whole) {
  const auto ijk = at("ijk", 600), ikj = at("ikj", 600);
  const matmul::Product a = *matmul::product_of("matmul", ijk), b = *matmul::product_of("matmul", ikj);
  const std::string bare = "model:i7-9700~no-tlb";
  Book book;
  for (const auto& point : {ijk, ikj})
    book.add(point, bare, "PAPI_L1_DCM", 4).add(point, bare, "PAPI_LST_INS", 40);
  const auto alone = book.products();
  BOOST_TEST(matmul::central(alone.of.at(b), "PAPI_L1_DCM")->value == 4);
  BOOST_TEST(matmul::derived(alone, b, "L1_HIT_RATE")->witness == bare);
  // The whole machine's run of one product is not there, yet or any more: nobody takes its place.
  book.add(ijk, "model:i7-9700", "PAPI_L1_DCM", 5);
  const auto torn = book.products();
  BOOST_TEST(matmul::central(torn.of.at(a), "PAPI_L1_DCM")->value == 5);
  BOOST_TEST(!matmul::central(torn.of.at(b), "PAPI_L1_DCM").has_value());
  BOOST_TEST(!matmul::derived(torn, b, "L1_HIT_RATE").has_value());
  BOOST_TEST(matmul::central(torn.of.at(b), "PAPI_L1_DCM", bare)->value ==
             4); // who asks for it by name gets it
  // The machine at hand goes by two names; what another machine says is none of its business.
  book.add(ikj, "model:host~full", "PAPI_L2_DCM", 8);
  BOOST_TEST(matmul::central(book.products().of.at(b), "PAPI_L2_DCM")->value == 8);
  book.add(ijk, "model", "PAPI_L1_DCM", 9);
  BOOST_TEST(!matmul::central(book.products().of.at(b), "PAPI_L2_DCM").has_value());
}

BOOST_AUTO_TEST_CASE(odd_repetitions_are_told) {
  Book book;
  for (int i = 0; i < 5; ++i)
    book.add(at("ijk", 600), "clock", "seconds", i == 4 ? 7.5 : 10, i);
  const auto found = matmul::odd_ones(book.products());
  BOOST_REQUIRE(found.size() == 1U);
  holds(found[0], "simple, n = 600, seconds by the clock, repetition 5: 7.500 s, 25 % below the other 4");
}

BOOST_AUTO_TEST_CASE(another_language_is_compared_with_both_compilers_named) {
  const auto java = [](Book& book, double seconds) {
    for (int i = 0; i < 3; ++i)
      book.add_java(1000, seconds * (1 + 0.001 * i), i);
  };
  const auto text_for = [&](double java_seconds) {
    Book book;
    book.run().versions = {{"compiler", "g++ 12"}, {"kernel_flags", "-O2"}, {"java", "javac 17"}};
    book.add(at("ikj", 1000), "clock", "seconds", 1.0);
    book.add_vectorised(at("ikj", 1000), 0.5);
    java(book, java_seconds);
    const auto all = matmul::languages(book.products());
    BOOST_TEST_REQUIRE(all.size() == 1U);
    return all[0];
  };
  const auto between = text_for(0.6);
  BOOST_TEST(holds(between, "line, Java compared with C++, n = 1000"));
  BOOST_TEST(holds(between, "C++: g++ 12, -O2, not vectorised. Java: javac 17"));
  BOOST_TEST(holds(between, "2.00 times as fast as the plain build"));
  BOOST_TEST(
      holds(between, "could account for the difference; whether it vectorised these loops was not examined"));
  BOOST_TEST(holds(text_for(1.5), "vectorisation alone does not account for the difference"));
  BOOST_TEST(holds(text_for(0.2), "vectorisation alone does not account for the difference"));
  BOOST_TEST(text_for(1.0).undecided);
}

BOOST_AUTO_TEST_SUITE_END()
