// The variables of launchers, as their manuals name them.
#include "base/host/job.hpp"

#include <boost/test/unit_test.hpp>

#include <map>
#include <string>

using recount::host::Job;

BOOST_AUTO_TEST_SUITE(jobs)

namespace {

Job read(const std::map<std::string, std::string>& environment) {
  return recount::host::read_job([&](const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  });
}

void is_task(const Job& job, std::size_t task, std::size_t tasks) {
  BOOST_REQUIRE(job.task.has_value());
  BOOST_TEST(*job.task == task);
  BOOST_TEST(job.tasks == tasks);
}

} // namespace

BOOST_AUTO_TEST_CASE(without_a_launcher_nothing_is_stated) {
  const Job job = read({{"HOME", "/root"}});
  BOOST_TEST(job.id.empty());
  BOOST_TEST(!job.task.has_value());
  BOOST_TEST(job.tasks == 0U);
}

BOOST_AUTO_TEST_CASE(srun) { // srun(1), "OUTPUT ENVIRONMENT VARIABLES"
  const Job job = read({{"SLURM_JOB_ID", "17"},
                        {"SLURM_STEP_ID", "2"},
                        {"SLURM_PROCID", "3"},
                        {"SLURM_STEP_NUM_TASKS", "4"},
                        {"SLURMD_NODENAME", "n4"},
                        {"PMI_RANK", "3"},
                        {"PMI_SIZE", "4"}});
  BOOST_TEST(job.id == "17");
  BOOST_TEST(job.step == "2");
  BOOST_TEST(job.node == "n4");
  is_task(job, 3, 4);
}

BOOST_AUTO_TEST_CASE(a_batch_script_runs_once_whatever_it_asked_for) { // it has SLURM_NTASKS, but is one task
  is_task(read({{"SLURM_JOB_ID", "17"}, {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}}), 0, 1);
}

BOOST_AUTO_TEST_CASE(the_elements_of_a_job_array_are_tasks) { // --array=10-16:2, four elements
  is_task(read({{"SLURM_ARRAY_JOB_ID", "40"},
                {"SLURM_JOB_ID", "43"},
                {"SLURM_ARRAY_TASK_ID", "14"},
                {"SLURM_ARRAY_TASK_MIN", "10"},
                {"SLURM_ARRAY_TASK_STEP", "2"},
                {"SLURM_ARRAY_TASK_COUNT", "4"},
                {"SLURM_PROCID", "1"},
                {"SLURM_STEP_NUM_TASKS", "3"}}),
          2 * 3 + 1, 4 * 3);
}

BOOST_AUTO_TEST_CASE(mpi_launchers) {
  is_task(read({{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "2"}, {"PMIX_RANK", "1"}}), 1, 2);
  is_task(read({{"PMI_RANK", "5"}, {"PMI_SIZE", "6"}}), 5, 6);
  is_task(read({{"PMIX_RANK", "5"}}), 5, 0);
}

BOOST_AUTO_TEST_CASE(mpirun_in_a_batch_script_is_the_inner_launcher) {
  is_task(read({{"SLURM_PROCID", "0"}, {"OMPI_COMM_WORLD_RANK", "2"}, {"OMPI_COMM_WORLD_SIZE", "4"}}), 2, 4);
}

BOOST_AUTO_TEST_CASE(gnu_parallel_counts_from_1_and_states_no_total) { // parallel(1), ENVIRONMENT VARIABLES
  is_task(read({{"PARALLEL_SEQ", "3"}, {"PARALLEL_JOBSLOT", "1"}, {"PARALLEL_PID", "99"}}), 2, 0);
  is_task(read({{"PARALLEL_SEQ", "3"}, {"SLURM_PROCID", "0"}}), 2, 0); // in a batch script
}

BOOST_AUTO_TEST_CASE(values_that_cannot_be_are_ignored) {
  BOOST_TEST(!read({{"SLURM_PROCID", "-1"}, {"SLURM_STEP_NUM_TASKS", "4"}}).task.has_value());
  BOOST_TEST(!read({{"SLURM_PROCID", "4"}, {"SLURM_STEP_NUM_TASKS", "4"}}).task.has_value());
  BOOST_TEST(!read({{"PMI_RANK", "1x"}, {"PMI_SIZE", "4"}}).task.has_value());
  BOOST_TEST(!read({{"PARALLEL_SEQ", "0"}}).task.has_value());
  BOOST_TEST(read({{"SLURM_JOB_ID", "../x\n"}}).id == ".._x_");
}

BOOST_AUTO_TEST_SUITE_END()
