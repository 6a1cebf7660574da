// SPDX-License-Identifier: Apache-2.0
#include "lib/slurm/job_cpus.h"

#include <criterion/criterion.h>

using namespace distinit;

namespace {

Environment job(const char* nodes, const char* cpus, const char* here) {
  Environment environment;
  environment.set("SLURM_JOB_NODELIST", nodes);
  environment.set("SLURM_JOB_CPUS_PER_NODE", cpus);
  environment.set("SLURMD_NODENAME", here);
  return environment;
}

}  // namespace

Test(job_cpus, takes_the_nodes_own_entry) {
  cr_assert(job_cpus_on_node(job("n[1-4]", "5,1(x3)", "n1")) == 5);
  cr_assert(job_cpus_on_node(job("n[1-4]", "5,1(x3)", "n4")) == 1);
  cr_assert(job_cpus_on_node(job("n[1-4]", "96(x4)", "n2")) == 96);
  // A het step as recorded: n3 is the leader, the list is in the order of names.
  cr_assert(job_cpus_on_node(job("n[1,3]", "1,2", "n1")) == 1);
  cr_assert(job_cpus_on_node(job("n[1,3]", "1,2", "n3")) == 2);
}

Test(job_cpus, says_nothing_where_it_cannot_be_told) {
  cr_assert(!job_cpus_on_node(Environment()));
  cr_assert(!job_cpus_on_node(job("n[1-4]", "5,1(x3)", "n5")), "another node");
  cr_assert(!job_cpus_on_node(job("n[1-4]", "5,1(x2)", "n1")), "too few counts");
  cr_assert(!job_cpus_on_node(job("n[1-", "5", "n1")), "broken list");
  cr_assert(!job_cpus_on_node(job("n1", "0", "n1")), "no count");
  for (const char* name : {"SLURM_JOB_NODELIST", "SLURM_JOB_CPUS_PER_NODE", "SLURMD_NODENAME"}) {
    Environment environment = job("n1", "4", "n1");
    cr_assert(job_cpus_on_node(environment) == 4);
    environment.unset(name);
    cr_assert(!job_cpus_on_node(environment), "%s", name);
  }
}
