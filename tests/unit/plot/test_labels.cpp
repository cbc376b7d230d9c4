// Labels of curves: beside their own line, on nothing else.
#include "show/plot/layout.hpp"

#include <boost/test/unit_test.hpp>

#include <random>

using namespace recount::plot;

BOOST_AUTO_TEST_SUITE(labels)

namespace {
const recount::plot::Field page{{0, 0, 200, 120}, {}, 1.6, 1.3};

/// What every answer must keep, whatever the curves.
void check_places(const std::vector<recount::plot::Labelled>& curves, const recount::plot::Field& field,
                  const std::vector<recount::plot::Placed>& places) {
  BOOST_TEST_REQUIRE(places.size() == curves.size());
  for (std::size_t i = 0; i < places.size(); ++i) {
    const recount::plot::Box& box = places[i].box;
    BOOST_TEST(recount::plot::inside(box, field.area));
    BOOST_TEST(box.width() == curves[i].width, boost::test_tools::tolerance(1e-9));
    for (const auto& taken : field.taken)
      BOOST_TEST(!recount::plot::overlap(box, taken));
    for (std::size_t j = 0; j < places.size(); ++j) {
      if (j != i) BOOST_TEST(!recount::plot::overlap(box, places[j].box));
      if (j != i && places[j].leader) {
        const recount::plot::Vec from = *places[j].leader;
        const recount::plot::Vec to{from.x,
                                    places[j].box.bottom > from.y ? places[j].box.bottom : places[j].box.top};
        BOOST_TEST(!recount::plot::crosses(from, to, box));
      }
      for (std::size_t k = 1; k < curves[j].line.size(); ++k)
        BOOST_TEST(!recount::plot::crosses(curves[j].line[k - 1], curves[j].line[k], box));
    }
  }
}

double nearest(const recount::plot::Labelled& curve, const recount::plot::Box& box) {
  double least = recount::plot::distance(curve.line[0], box);
  for (std::size_t k = 1; k < curve.line.size(); ++k)
    least = std::min(least, recount::plot::distance(curve.line[k - 1], curve.line[k], box));
  return least;
}
} // namespace

BOOST_AUTO_TEST_CASE(geometry_by_hand) {
  const recount::plot::Box box{10, 10, 20, 15};
  BOOST_TEST(recount::plot::crosses({0, 12}, {30, 12}, box));
  BOOST_TEST(recount::plot::crosses({12, 12}, {13, 13}, box));
  BOOST_TEST(!recount::plot::crosses({0, 0}, {30, 5}, box));
  BOOST_TEST(!recount::plot::crosses({0, 16}, {9, 12}, box));
  BOOST_TEST(recount::plot::distance(recount::plot::Vec{10, 20}, box) == 5.0);
  BOOST_TEST(recount::plot::distance(recount::plot::Vec{23, 19}, box) == 5.0);
  BOOST_TEST(recount::plot::distance({0, 20}, {40, 20}, box) == 5.0);
  BOOST_TEST(recount::plot::distance({0, 12}, {40, 12}, box) == 0.0);
  BOOST_TEST(recount::plot::overlap(box, {19, 14, 25, 30}));
  BOOST_TEST(!recount::plot::overlap(box, {20, 10, 25, 15}));
}

BOOST_AUTO_TEST_CASE(two_curves_apart_get_labels_at_their_ends) {
  const std::vector<recount::plot::Labelled> curves{{{{10, 20}, {100, 25}, {150, 30}}, 20, 6},
                                                    {{{10, 60}, {100, 80}, {150, 90}}, 20, 6}};
  const auto places = recount::plot::place_labels(curves, page);
  BOOST_TEST_REQUIRE(places.has_value());
  check_places(curves, page, *places);
  for (const auto& p : *places) {
    BOOST_TEST(!p.leader.has_value());
    BOOST_TEST(p.box.left > 90);
  }
}

BOOST_AUTO_TEST_CASE(a_label_is_nearest_to_its_own_curve) {
  const std::vector<recount::plot::Labelled> curves{{{{10, 50}, {150, 50}}, 20, 6},
                                                    {{{10, 62}, {150, 62}}, 20, 6}};
  const auto places = recount::plot::place_labels(curves, page);
  BOOST_TEST_REQUIRE(places.has_value());
  check_places(curves, page, *places);
  for (std::size_t i = 0; i < 2; ++i)
    BOOST_TEST(nearest(curves[i], (*places)[i].box) < nearest(curves[1 - i], (*places)[i].box));
}

BOOST_AUTO_TEST_CASE(coinciding_curves_get_no_labels) {
  const recount::plot::Labelled curve{{{10, 50}, {150, 50}}, 20, 6};
  BOOST_TEST(!recount::plot::place_labels({curve, curve}, page).has_value());
}

BOOST_AUTO_TEST_CASE(one_label_serves_a_group_that_coincides) {
  std::vector<recount::plot::Labelled> curves{{{{10, 20}, {150, 60}}, 30, 7},
                                              {{{10, 20}, {150, 60}}, 0, 0, false}};
  BOOST_TEST(!recount::plot::place_labels(curves, page).has_value());
  curves[0].group = curves[1].group = 1;
  const auto places = recount::plot::place_labels(curves, page);
  BOOST_REQUIRE(places.has_value());
  BOOST_TEST(recount::plot::inside((*places)[0].box, page.area));
}

BOOST_AUTO_TEST_CASE(too_many_labels_have_no_solution) {
  const recount::plot::Field small{{0, 0, 40, 20}, {}, 1.6, 1.3};
  const std::vector<recount::plot::Labelled> curves(4, {{{2, 10}, {38, 10}}, 30, 6});
  BOOST_TEST(!recount::plot::place_labels(curves, small).has_value());
}

BOOST_AUTO_TEST_CASE(taken_places_are_kept_free) {
  recount::plot::Field field = page;
  field.taken = {{154, 0, 156, 120}, {60, 0, 62, 120}};
  const std::vector<recount::plot::Labelled> curves{{{{10, 20}, {150, 30}}, 25, 6}};
  const auto places = recount::plot::place_labels(curves, field);
  BOOST_TEST_REQUIRE(places.has_value());
  check_places(curves, field, *places);
}

BOOST_AUTO_TEST_CASE(no_curve_and_empty_curves) {
  BOOST_TEST(recount::plot::place_labels({}, page)->empty());
  BOOST_TEST(!recount::plot::place_labels({{{}, 20, 6}}, page).has_value());
  const std::vector<recount::plot::Labelled> point{{{{100, 60}}, 20, 6}};
  const auto places = recount::plot::place_labels(point, page);
  BOOST_TEST_REQUIRE(places.has_value());
  check_places(point, page, *places);
}

BOOST_AUTO_TEST_CASE(random_curves_obey_the_rules_deterministically) {
  std::mt19937 random(20240611);
  int answered = 0;
  for (int round = 0; round < 150; ++round) {
    std::vector<recount::plot::Labelled> curves(1 + random() % 9);
    for (auto& curve : curves) {
      curve.width = 10 + static_cast<double>(random() % 25);
      curve.height = 6;
      const auto points = 1 + random() % 12;
      for (std::size_t k = 0; k < points; ++k)
        curve.line.push_back({10 + 14.0 * static_cast<double>(k), static_cast<double>(random() % 110) + 4});
    }
    const auto places = recount::plot::place_labels(curves, page);
    if (!places) continue;
    ++answered;
    check_places(curves, page, *places);
    const auto again = recount::plot::place_labels(curves, page);
    for (std::size_t i = 0; i < places->size(); ++i)
      BOOST_TEST((*again)[i].box.left == (*places)[i].box.left);
  }
  BOOST_TEST(answered > 30);
}

BOOST_AUTO_TEST_SUITE_END()
