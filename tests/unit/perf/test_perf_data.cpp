// perf.data: what is written is read again, files of perf are read, and damaged ones do no harm.
#include "base/text.hpp"
#include "perf/perf_data.hpp"
#include "process/temporary_folder.hpp"
#include "records.hpp"

#include <recount/error.hpp>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <unistd.h>

using namespace recount;
using namespace recount::perf;
using test::join;
using test::pair;

BOOST_AUTO_TEST_SUITE(perf_data)

namespace {

struct File {
  process::TemporaryFolder folder{"recount-perf-data"};
  std::string path = folder.path() + "/perf.data";
  void put(const std::string& bytes) const {
    std::filesystem::remove(path); // else ext4 writes what replaces truncated contents to the disk at once
    std::ofstream(path, std::ios::binary) << bytes;
  }
  [[nodiscard]] std::string bytes() const { return base::read_file(path).value_or(""); }
};

SampledEvent sampled(const std::string& name, std::uint64_t config, std::uint64_t period) {
  SampledEvent event;
  event.event.name = name;
  event.event.attr.type = PERF_TYPE_SOFTWARE;
  event.event.attr.config = config;
  event.period = period;
  return event;
}

const std::vector<SampledEvent> two_events{sampled("page-faults", PERF_COUNT_SW_PAGE_FAULTS, 1),
                                           sampled("model:x", PERF_COUNT_SW_CPU_CLOCK, 1000)};

Sample a_sample(std::uint64_t time, std::size_t event = 0) {
  Sample s;
  s.event = event;
  s.time = time;
  s.ip = 0x401000;
  s.address = 0xbeef;
  s.period = 3;
  s.pid = 10;
  s.tid = 11;
  s.cpu = 1;
  s.mode = Mode::user;
  return s;
}

/// Records as text, so that a difference can be read.
std::string shown(const Record& record) {
  std::ostringstream out;
  const auto list = [&](const auto& words) {
    for (const auto word : words)
      out << ' ' << static_cast<std::uint64_t>(word);
  };
  if (const auto* s = std::get_if<Sample>(&record)) {
    out << "sample " << s->event << ' ' << s->time << ' ' << s->ip << ' ' << s->address << ' ' << s->period
        << ' ' << s->pid << ' ' << s->tid << ' ' << s->cpu << ' ' << static_cast<int>(s->mode) << " chain";
    list(s->chain);
    out << " registers " << s->register_abi;
    list(s->user_registers);
    out << " stack";
    list(s->user_stack);
  } else if (const auto* m = std::get_if<Mapping>(&record)) {
    out << "mapping " << m->time << ' ' << m->pid << ' ' << m->start << ' ' << m->length << ' ' << m->offset
        << ' ' << m->protection << ' ' << m->device << ' ' << m->inode << ' ' << m->file << " id";
    list(m->build_id);
  } else if (const auto* n = std::get_if<Name>(&record)) {
    out << "name " << n->time << ' ' << n->pid << ' ' << n->tid << ' ' << n->exec << ' ' << n->name;
  } else if (const auto* f = std::get_if<Fork>(&record)) {
    out << "fork " << f->time << ' ' << f->pid << ' ' << f->tid << ' ' << f->parent_pid << ' '
        << f->parent_tid;
  } else if (const auto* e = std::get_if<End>(&record)) {
    out << "end " << e->time << ' ' << e->pid << ' ' << e->tid;
  } else if (const auto* l = std::get_if<Loss>(&record)) {
    out << "loss " << l->time << ' ' << l->records;
  } else if (const auto* t = std::get_if<Throttle>(&record)) {
    out << "throttle " << t->time << ' ' << t->event << ' ' << t->stopped;
  }
  return out.str();
}

std::vector<std::string> read(const std::string& path) {
  std::vector<std::string> all;
  PerfDataReader reader(path);
  static_cast<void>(reader.read([&](const Record& record) { all.push_back(shown(record)); }));
  return all;
}

void write(const File& file, const std::vector<Record>& records, std::uint64_t fields,
           const PerfDataAbout& about = {}) {
  PerfDataWriter writer(file.path);
  writer.begin(two_events, {fields, 0, 0b11});
  for (const Record& record : records)
    writer.add(record);
  writer.finish(about);
}

/// A file of perf record with one event: no ids, no fields that perf does not need.
std::string of_perf(const test::Words& records, std::uint32_t attr_size = PERF_ATTR_SIZE_VER7) {
  perf_event_attr attr{};
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_TASK_CLOCK;
  attr.size = attr_size;
  attr.freq = 1;
  attr.sample_period = 999;
  attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD;
  attr.sample_id_all = 1;
  FileHeader header;
  header.attribute_size = attr_size + sizeof(FileSection);
  header.attributes = {sizeof header, header.attribute_size};
  header.data = {sizeof header + header.attribute_size, records.size() * 8};
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
  bytes.append(reinterpret_cast<const char*>(&attr), sizeof attr);
  bytes.resize(sizeof header + attr_size);
  bytes.append(sizeof(FileSection), '\0');
  return bytes.append(reinterpret_cast<const char*>(records.data()), records.size() * 8);
}

const test::Words sample_of_perf =
    test::record(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, {0x401000, pair(10, 11), 600, 42});
const test::Words name_of_perf =
    test::record(PERF_RECORD_COMM, 0, join({{pair(10, 11)}, test::text("prog"), {pair(10, 11), 500}}));

} // namespace

BOOST_AUTO_TEST_CASE(written_records_are_read_in_the_order_of_times) {
  const File file;
  const std::uint64_t chain[]{PERF_CONTEXT_USER, 0x401000, 0x402000}, registers[]{7, 8}, stack[]{1, 2, 3};
  const std::uint8_t id[20]{1, 2, 3};
  Sample full = a_sample(900, 1);
  full.chain = chain;
  full.user_registers = registers;
  full.register_abi = PERF_SAMPLE_REGS_ABI_64;
  full.user_stack = stack;
  Mapping by_inode{100, 10, 10, 0x1000, 0x2000, 0x3000, 5, 0x801, 77, {}, "/usr/lib/a b.so"};
  Mapping by_id = by_inode;
  by_id.time = 101;
  by_id.device = by_id.inode = 0;
  by_id.build_id = id;
  const std::vector<Record> records{full,
                                    a_sample(800),
                                    by_inode,
                                    by_id,
                                    Name{90, 10, 10, true, "solver"},
                                    Fork{200, 12, 12, 10, 10},
                                    End{1000, 12, 12},
                                    Loss{950, 17},
                                    Throttle{960, 1, true}};
  write(file, records, PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
        {{"recount", "profile"}, "node", "6.1", 0});
  std::vector<std::string> expected;
  for (const std::size_t number : {4U, 2U, 3U, 5U, 1U, 0U, 7U, 8U, 6U})
    expected.push_back(shown(records[number]));
  const auto got = read(file.path);
  BOOST_TEST(got == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(header_is_read_and_no_name_is_trusted) {
  const File file;
  write(file, {a_sample(1), a_sample(2), a_sample(3, 1)}, 0,
        {{"recount", "a b"}, "node", "6.1", 0xffffffff81000000});
  PerfDataReader reader(file.path);
  BOOST_TEST(reader.events().size() == 2U);
  BOOST_TEST(reader.events()[0].event.name == "page-faults");
  BOOST_TEST(reader.events()[1].event.name == "cpu-clock"); // a name of simulated events is not taken over
  BOOST_TEST(reader.events()[1].period == 1000U);
  const auto report = reader.read([](const Record&) {});
  BOOST_TEST(report.events[0].samples == 2U);
  BOOST_TEST(report.events[0].weight == 6U);
  BOOST_TEST(report.events[1].samples == 1U);
  BOOST_TEST(report.damaged == 0U);
  BOOST_TEST(reader.about().release == "6.1");
  BOOST_TEST(reader.about().host == "node");
  BOOST_TEST((reader.about().command == std::vector<std::string>{"recount", "a b"}));
  BOOST_TEST(reader.about().kernel_text == 0xffffffff81000000U);
}

BOOST_AUTO_TEST_CASE(file_of_perf_without_ids) {
  const File file;
  for (const std::uint32_t attr_size : {64U, 128U, 136U, 512U}) {
    file.put(of_perf(join({sample_of_perf, test::record(68, 0, {}), name_of_perf}), attr_size));
    BOOST_TEST(read(file.path) ==
                   (std::vector<std::string>{"name 500 10 11 0 prog",
                                             "sample 0 600 4198400 0 42 10 11 0 2 chain registers 0 stack"}),
               boost::test_tools::per_element());
  }
  PerfDataReader reader(file.path);
  BOOST_TEST(reader.events().front().event.name == "task-clock");
  BOOST_TEST(reader.events().front().frequency == 999U);
}

BOOST_AUTO_TEST_CASE(data_behind_a_record_are_skipped) {
  const File file;
  const test::Words trace =
      join({test::record(71, 0, {16, 0, 0, 0, 0}), {~0ULL, ~0ULL}}); // 16 bytes of AUX data
  file.put(of_perf(join({trace, sample_of_perf})));
  BOOST_TEST(read(file.path).size() == 1U);
}

BOOST_AUTO_TEST_CASE(other_files_are_refused_with_the_reason) {
  const File file;
  const auto cause = [&](const std::string& bytes) -> std::string {
    file.put(bytes);
    try {
      static_cast<void>(read(file.path));
    } catch (const Error& error) {
      BOOST_TEST((error.kind() == ErrorKind::bad_input));
      return error.problem().cause;
    }
    return "";
  };
  const std::string good = of_perf(sample_of_perf);
  BOOST_TEST(cause(good).empty());
  BOOST_TEST(cause("").find("not perf.data") != std::string::npos);
  BOOST_TEST(cause("{\"type\":\"run\"}").find("not perf.data") != std::string::npos);
  BOOST_TEST(cause("2ELIFREP" + good.substr(8)).find("order of bytes") != std::string::npos);
  std::string pipe = good.substr(0, 8) + std::string("\x10\0\0\0\0\0\0\0", 8);
  BOOST_TEST(cause(pipe).find("pipe") != std::string::npos);
  std::string no_events = good;
  no_events[32] = 0; // the size of the attributes
  BOOST_TEST(cause(no_events).find("no events") != std::string::npos);
  BOOST_TEST(cause(of_perf(test::record(81, 0, {1}))).find("compressed") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(cut_and_changed_files_do_no_harm) {
  const File file, changed;
  write(file, {a_sample(1), Name{2, 10, 10, true, "solver"}, a_sample(3)}, PERF_SAMPLE_CALLCHAIN,
        {{"recount"}, "node", "6.1", 1});
  const std::string good = file.bytes();
  const auto samples = [&](const std::string& bytes) {
    changed.put(bytes);
    try {
      const auto all = read(changed.path);
      return static_cast<std::size_t>(
          std::ranges::count_if(all, [](const auto& r) { return r.starts_with("sample"); }));
    } catch (const Error&) {
      return std::size_t{0};
    }
  };
  BOOST_TEST(samples(good) == 2U);
  for (std::size_t size = 0; size < good.size(); ++size)
    BOOST_TEST(samples(good.substr(0, size)) <= 2U);
  for (std::size_t at = 8; at < good.size(); ++at)
    for (const char value : {'\0', '\x7f', '\xff'}) {
      std::string bytes = good;
      bytes[at] = value;
      BOOST_TEST(samples(bytes) <= 2U);
    }
}

BOOST_AUTO_TEST_CASE(a_file_without_its_size_is_read_to_its_end) {
  const File file;
  std::string bytes = of_perf(join({name_of_perf, sample_of_perf}));
  for (std::size_t at = 48; at < 56; ++at) // the size of the data, as perf leaves it when it is killed
    bytes[at] = 0;
  file.put(bytes);
  BOOST_TEST(read(file.path).size() == 2U);
}

BOOST_AUTO_TEST_SUITE_END()
