// Whatever recount writes, recount reads: long, odd and hostile settings in its own files.
#include "hostile.hpp"

#include "base/text.hpp"
#include "commands/watch/message.hpp"
#include "run/batch.hpp"
#include "run/result/results_file.hpp"
#include "run/resume.hpp"
#include "run/sweep_plan.hpp"
#include "run/worker.hpp"

#include <recount/error.hpp>

#include <boost/test/unit_test.hpp>

#include <filesystem>
#include <limits>
#include <random>
#include <set>
#include <unistd.h>

using namespace recount;
using namespace recount::hostile;
namespace fs = std::filesystem;

BOOST_AUTO_TEST_SUITE(round_trip)

namespace {

/// A text as JSON can hold it: bytes that are not UTF-8 are replaced.
std::string as_json(const std::string& text) {
  return nlohmann::json::parse(
             nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace))
      .get<std::string>();
}

class Draw {
public:
  explicit Draw(unsigned seed) : random_(seed) {}
  std::size_t below(std::size_t n) { return random_() % n; }
  bool rarely() { return below(40) == 0; }
  /// Hostile, empty, or as long as an argument of a command can be.
  std::string text() {
    constexpr std::size_t longest_argument = 128 << 10; // MAX_ARG_STRLEN of Linux
    if (below(3) == 0) return small();
    std::string one = payload(random_, pieces_);
    if (!rarely() || one.empty()) return one;
    while (one.size() < longest_argument)
      one += one;
    return one.substr(0, longest_argument - 1);
  }
  /// Few different ones, which look like parts of one another.
  std::string small() {
    static const std::vector<std::string> all{"a", "b", "1", "1 b=2", "2", "a=1", "1\n2", "", "b=2"};
    return all[below(all.size())];
  }
  std::vector<std::string> texts(std::size_t most) {
    std::vector<std::string> all(below(most));
    for (std::string& one : all)
      one = text();
    return all;
  }
  std::map<std::string, std::string> table() {
    std::map<std::string, std::string> all;
    for (const std::string& name : texts(4))
      all[as_json(name)] = text();
    return all;
  }
  std::int64_t whole() {
    constexpr std::int64_t ends[] = {0, 1, std::numeric_limits<std::int64_t>::max(), 1 << 20};
    return ends[below(std::size(ends))];
  }
  result::Params params() {
    result::Params all;
    for (std::size_t n = below(4); n > 0; --n) {
      const std::string name = below(2) == 0 ? small() : as_json(text());
      if (below(2) == 0)
        all[name] = static_cast<std::int64_t>(below(3)) - 1;
      else
        all[name] = below(2) == 0 ? small() : text();
    }
    return all;
  }
  Reason reason() {
    Reason one(text().append("x"));
    one.setting = text();
    one.fix = text();
    return one;
  }

  result::Run run(const std::string& id) {
    result::Run run;
    run.id = id;
    for (std::string* const into :
         {&run.started, &run.host, &run.cpu, &run.governor, &run.os, &run.virtualised, &run.resumes})
      *into = text();
    for (auto* const into : {&run.versions, &run.plan, &run.presets, &run.skipped})
      *into = table();
    run.cpus = whole();
    run.command = texts(20);
    run.seed = below(2) == 0 ? std::numeric_limits<std::uint64_t>::max() : 1;
    run.caches = {{text(), whole(), whole(), -1}};
    run.runs_planned = whole();
    for (const std::string& name : texts(3))
      run.planned[as_json(name)] = whole();
    return run;
  }
  template <class Line>
  Line begun(const std::string& run) {
    Line line;
    line.run = run;
    line.kernel = text();
    line.params = params();
    line.repetition = static_cast<int>(below(2));
    return line;
  }
  result::Observation observation(const std::string& run) {
    auto o = begun<result::Observation>(run);
    o.kernel = small();
    o.witness = Witness(below(2) == 0 ? "perf" : text());
    o.metric = below(2) == 0 ? small() : text();
    constexpr double reals[] = {0.5,
                                -0.0,
                                1e308,
                                5e-324,
                                std::numeric_limits<double>::infinity(),
                                std::numeric_limits<double>::quiet_NaN()};
    if (below(3) == 0)
      o.value = whole();
    else if (below(2) == 0)
      o.value = reals[below(std::size(reals))];
    else
      o.reason = reason();
    o.accesses = whole();
    o.seconds = std::abs(reals[below(std::size(reals))]);
    o.bias = -whole();
    o.unit = text();
    o.placement = {{as_json(text()), whole()}};
    o.flags = {{Flag::Kind::note, text()},
               {Flag::Kind::sampled, text(), 1.5, reals[below(std::size(reals))]}};
    return o;
  }

private:
  std::mt19937 random_;
  std::vector<std::string> pieces_ = pieces("PWNED");
};

/// What distinguishes observations, as a file holds it.
auto key(const result::Observation& o) {
  result::Params params;
  for (const auto& [name, value] : o.params.get())
    params[name] = value.index() == 0 ? value : result::ParamValue(as_json(std::get<std::string>(value)));
  return std::tuple(as_json(o.run.get()), as_json(o.kernel), params, o.repetition, as_json(o.witness.name()),
                    as_json(o.metric));
}

template <class List>
std::string lines(const List& list) {
  std::string text;
  for (const auto& one : list)
    text += result::to_line(one) + "\n";
  return text;
}

} // namespace

BOOST_AUTO_TEST_CASE(results_files) {
  Draw draw(20261128);
  const std::string path =
      (fs::temp_directory_path() / ("recount-round-trip-" + std::to_string(::getpid()))).string();
  std::size_t bytes = 0;
  for (int i = 0; i < cases() / 5; ++i) {
    const std::string id = "run " + std::to_string(i);
    const result::Run run = draw.run(id);
    std::vector<result::Observation> observations;
    std::vector<result::Failure> failures;
    std::vector<result::Section> sections;
    std::set<decltype(key(result::Observation{}))> different;
    for (std::size_t n = 1 + draw.below(12); n > 0; --n)
      if (auto one = draw.observation(id); different.insert(key(one)).second)
        observations.push_back(std::move(one));
    failures.push_back(draw.begun<result::Failure>(id));
    failures.back().reason = draw.reason();
    sections.push_back(draw.begun<result::Section>(id));
    sections.back().edge = "mark";
    sections.back().name = draw.text();
    fs::remove(path);
    {
      result::Writer writer(path, result::Writer::Mode::create);
      writer.write(run);
    }
    {
      result::Writer writer(path, result::Writer::Mode::append);
      for (const auto& one : observations)
        writer.write(one);
      writer.write(failures.front());
      writer.write(sections.front());
    }
    bytes += fs::file_size(path);
    const result::Results read = result::read(path);
    BOOST_TEST(read.warnings.empty());
    BOOST_TEST_REQUIRE(read.observations.size() == observations.size());
    for (std::size_t n = 0; n < observations.size(); ++n)
      BOOST_TEST((key(read.observations[n]) == key(observations[n])));
    BOOST_TEST((lines(read.observations) == lines(observations)));
    BOOST_TEST((lines(read.failures) == lines(failures)));
    BOOST_TEST((lines(read.sections) == lines(sections)));
    BOOST_TEST_REQUIRE(read.runs.size() == 1U);
    BOOST_TEST((lines(read.runs) == result::to_line(run) + "\n"));
    // A run is resumed by the plan in its header.
    BOOST_TEST(sweep::difference(read.runs.front().plan, run.plan) == "");
  }
  BOOST_TEST_MESSAGE(cases() / 5 << " results files of " << bytes << " bytes");
  fs::remove(path);
}

// A command line of 2 MiB, which Linux allows, of characters that JSON writes as six.
BOOST_AUTO_TEST_CASE(the_longest_command) {
  result::Run run = Draw(1).run("1");
  run.command.assign(16, std::string((128 << 10) - 1, '\1'));
  result::Observation o = Draw(1).observation("1");
  std::string words;
  for (const std::string& word : run.command)
    words += word + " ";
  o.params = result::Params{{"command", words}};
  const std::string path =
      (fs::temp_directory_path() / ("recount-longest-" + std::to_string(::getpid()))).string();
  fs::remove(path);
  {
    result::Writer writer(path, result::Writer::Mode::create);
    writer.write(run);
    writer.write(o);
    BOOST_TEST(!result::holds_nothing(path));
  }
  const result::Results read = result::read(path);
  BOOST_TEST((read.runs.at(0).command == run.command));
  BOOST_TEST((read.observations.at(0).params.get() == o.params.get()));
  fs::remove(path);
}

BOOST_AUTO_TEST_CASE(points_that_look_alike) {
  const std::vector<result::Params> points{
      {{"a", "1 b=2"}}, {{"a", "1"}, {"b", "2"}}, {{"a", std::int64_t{1}}}, {{"a", "1"}}, {{"a", "1\nperf"}}};
  result::Run run;
  run.id = "1";
  std::string text = result::to_line(run) + "\n";
  for (const auto& point : points) {
    result::Observation o;
    o.run = run.id;
    o.params = point;
    o.value = std::int64_t{1};
    text += result::to_line(o) + "\n";
  }
  const result::Results read = result::read_text(text, "file.jsonl");
  BOOST_TEST(read.warnings.empty());
  BOOST_TEST_REQUIRE(read.observations.size() == points.size());
  for (std::size_t n = 0; n < points.size(); ++n)
    BOOST_TEST((read.observations[n].params.get() == points[n]));
}

// What a run of sweep is asked for, and what it still lacks when its results are in a file.
BOOST_AUTO_TEST_CASE(runs_of_a_plan) {
  Draw draw(20261129);
  for (int i = 0; i < cases() / 5; ++i) {
    std::vector<sweep::Job> jobs;
    result::Results recorded;
    result::Run run;
    run.id = "1";
    std::string text = result::to_line(run) + "\n";
    for (std::size_t n = 1 + draw.below(6); n > 0; --n) {
      sweep::Job job{draw.small(), {}, static_cast<int>(draw.below(3)), Witness::perf, draw.texts(4)};
      for (auto& [name, value] : draw.params())
        job.point[name] =
            value.index() == 0 ? value : result::ParamValue(as_json(std::get<std::string>(value)));
      for (std::string& metric : job.metrics)
        metric = as_json(metric);
      const auto back = sweep::parse_request(
          sweep::to_request({run.id, job.kernel, job.point, job.repetition, job.witness, job.metrics}));
      BOOST_TEST((back.point == job.point));
      BOOST_TEST((back.metrics == job.metrics));
      for (const std::string& metric : job.metrics) {
        result::Observation o;
        o.run = run.id;
        o.kernel = job.kernel;
        o.params = job.point;
        o.repetition = job.repetition;
        o.witness = job.witness;
        o.metric = metric;
        o.value = std::int64_t{1};
        text += result::to_line(o) + "\n";
      }
      jobs.push_back(std::move(job));
    }
    const result::Results read = result::read_text(text, "file.jsonl");
    BOOST_TEST(sweep::remaining(jobs, read).empty());
  }
}

BOOST_AUTO_TEST_CASE(messages_of_a_watch) {
  Draw draw(20261202);
  for (int i = 0; i < cases() / 5; ++i) {
    watch::Hello hello{draw.text(), 100, {}};
    for (std::size_t n = draw.below(watch::max_series + 1); n > 0; --n)
      hello.series.push_back({draw.text(), draw.small(), draw.reason()});
    const watch::Section section{watch::Section::Edge::begin, 1.5, draw.text()};
    const watch::End end{{}, draw.text()};
    std::size_t read = 0;
    watch::LineReader reader;
    const auto sink = [&](const watch::Message& message) {
      ++read;
      if (const auto* const one = std::get_if<watch::Hello>(&message))
        BOOST_TEST(one->series.size() == hello.series.size());
    };
    for (const watch::Message& message : std::initializer_list<watch::Message>{hello, section, end})
      BOOST_TEST((reader.feed(watch::to_line(message) + "\n", sink) == watch::LineReader::State::open));
    BOOST_TEST(read == 3U);
  }
}

BOOST_AUTO_TEST_SUITE_END()
