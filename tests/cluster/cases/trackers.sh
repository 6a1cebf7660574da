# SPDX-License-Identifier: Apache-2.0
# cluster: 2 nodes, --proctrack pgid, --task-affinity
# needs: plugin
# timeout: 120
# The other way of tracking processes, and CPU binding: the same values, the same ends, and nothing left.
. "$(dirname "$0")/../lib.sh"
report='$CLUSTER_SOURCE/tests/cluster/report_rank'
LIMIT=20

run "srun -N2 --ntasks-per-node=2 --distinit=tp2,dp2 $report"
expect_status 0
expect_as_planned 10.20.0.1 tp2,dp2 --nodes 'n[1-2]' --tasks-per-node '2(x2)'
no_processes_left 3

# What --cpu-bind gave a task is the program's, rank 0's with the stage as its parent too.
for way in '' --distinit; do
  run "srun -N2 --ntasks-per-node=2 --cpu-bind=map_cpu:1,0 $way bash -c 'echo \$SLURM_PROCID \$(grep Cpus_allowed_list /proc/self/status)'"
  expect_sorted_output $'0 Cpus_allowed_list: 1' $'1 Cpus_allowed_list: 0' $'2 Cpus_allowed_list: 1' $'3 Cpus_allowed_list: 0'
done

run "srun -N2 -n4 --distinit bash -c 'exit \$((SLURM_PROCID == 0 ? 7 : 0))'"
expect_status 7
no_processes_left 3
run "srun -K -N2 -n4 --distinit bash -c 'if ((SLURM_PROCID == 3)); then kill -SEGV \$\$; fi; sleep 60'"
expect_failure
no_processes_left 8
run 'rm -f up; srun -N2 -n4 --distinit bash -c "echo >>up; sleep 60" & until [[ $(wc -l <up) = 4 ]]; do sleep 0.1; done 2>/dev/null
     scancel -u alice; wait $!'
expect_failure
no_processes_left 8
queue_is_empty() { [[ -z $("$CLUSTER" run --user root 'squeue -h') ]]; }
wait_for 'the job to be over' 8 queue_is_empty

echo "--- kill -9 of the agent's worker (the younger of the two), and of both"
for pick in -n ''; do
  "$CLUSTER" run 'exec srun -K -N2 --ntasks-per-node=2 --distinit sleep 60' </dev/null &
  srun=$!
  runs() { [[ $("$CLUSTER" node 2 'pgrep -c -u 50001 -x sleep' </dev/null) == 2 ]]; }
  wait_for 'the programs' 10 runs
  sleep 0.3
  on_node 2 "pkill -9 $pick -u 50001 -f 'distinit agent'"
  if [[ -z $pick ]]; then run 'scancel -u alice'; fi
  wait "$srun" && fail 'the step has not failed'
  no_processes_left 8
done
