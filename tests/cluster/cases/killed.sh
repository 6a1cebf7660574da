# SPDX-License-Identifier: Apache-2.0
# cluster: 3 nodes
# needs: plugin
# timeout: 180
# kill -9 of every part, and scancel: the step ends, says so once, and leaves nothing.
. "$(dirname "$0")/../lib.sh"

log=$(mktemp)
trap 'rm -f "$log"' EXIT

# start SRUN-ARGUMENTS…: in the background, with a program that would run for a minute; waits until all runs.
start() {
  "$CLUSTER" run "exec srun $* sleep 60" >"$log" 2>&1 </dev/null &
  srun=$!
}

count_on() { timeout 10 "$CLUSTER" node "$1" "pgrep -c -u 50001 $2" </dev/null 2>/dev/null || true; }
runs_on() { [[ $(count_on "$1" '-x sleep') -ge $2 ]]; }
all_run() { runs_on 1 2 && runs_on 2 2; }

# agent NODE guard|worker: its pid there. The guard is the worker's parent.
agent() {
  local worker
  worker=$("$CLUSTER" node "$1" "for p in \$(pgrep -u 50001 -f 'distinit agent'); do
    parent=\$(ps -o ppid= -p \$p); pgrep -u 50001 -f 'distinit agent' | grep -qx \$parent && echo \$p \$parent; done" </dev/null)
  if [[ $2 == worker ]]; then echo "${worker% *}"; else echo "${worker#* }"; fi
}

for node in 1 2; do
  echo "--- the agent's worker on n$node"
  start -w n1,n2 --ntasks-per-node=2 --distinit=tp2,dp2
  wait_for 'all programs' 20 all_run
  pid=$(agent $node worker | tr -d ' ')
  on_node $node "kill -9 $pid"
  ended 15
  expect_status 137
  expect_output_contains "distinit: n$node: the agent was ended by signal 9 (Killed), so the step is ended"
  expect_equal messages "$(grep -c '^distinit: n[12]:' "$log")" 1
  no_processes_left
done

echo "--- the guard: the step goes on, and nothing is left at its end"
"$CLUSTER" run "exec srun -w n1,n2 --ntasks-per-node=2 --distinit=tp2,dp2 sleep 4" >"$log" 2>&1 </dev/null &
srun=$!
wait_for 'all programs' 20 all_run
pid=$(agent 1 guard | tr -d ' ')
on_node 1 "kill -9 $pid"
ended 20
expect_status 0
expect_output_lacks distinit
no_processes_left

echo "--- a step that has survived a SIGTERM still has its guard"
"$CLUSTER" run "exec srun -w n1,n2 --ntasks-per-node=2 --distinit=tp2,dp2 bash -c 'trap \"\" TERM; exec sleep 60'" >"$log" 2>&1 </dev/null &
srun=$!
wait_for 'all programs' 20 all_run
run 'scancel --signal=TERM $(squeue -h -o %i)'
sleep 0.5
all_run || fail 'the programs have not survived'
pid=$(agent 1 worker | tr -d ' ')
on_node 1 "kill -9 $pid"
ended 15
expect_status 137
expect_output_contains 'distinit: n1: the agent was ended by signal 9'
no_processes_left

echo "--- a task that has ended: the guard leaves alone whoever has its pid now"
run 'rm -f ended'
"$CLUSTER" run "exec srun -w n1 --ntasks-per-node=2 --distinit bash -c 'if [ \$RANK = 1 ]; then echo \$\$ >~/ended; else exec sleep 60; fi'" \
  >"$log" 2>&1 </dev/null &
srun=$!
one_runs() { runs_on 1 1 && "$CLUSTER" run 'test -s ended' </dev/null; }
wait_for 'the program of rank 0 alone' 20 one_runs
pid=$("$CLUSTER" run 'cat ended' </dev/null)
on_node 1 "while [ -e /proc/$pid ]; do sleep 0.1; done; sleep 0.3
  if ! echo $((pid - 1)) 2>/dev/null >/proc/sys/kernel/ns_last_pid; then echo 'skipped: no ns_last_pid'; exit; fi
  setpriv --reuid 50001 --regid 50001 --clear-groups setsid sleep 61 >/dev/null 2>&1 & echo now \$!"
if [[ $OUTPUT == *skipped* ]]; then
  echo 'skipped: this kernel cannot choose the next pid'
else
  expect_output_contains "now $pid"
fi
on_node 1 "kill -9 $(agent 1 worker | tr -d ' ')"
ended 15
expect_status 137
if [[ $(on_node 1 "cat /proc/$pid/comm" | tail -n 2) == *sleep* ]]; then
  on_node 1 "kill $pid"
else
  "$CLUSTER" node 1 'test -w /proc/sys/kernel/ns_last_pid' </dev/null && fail "the guard has killed pid $pid, which was no task any more"
fi
no_processes_left

echo "--- worker and guard: nobody waits"
start -w n1,n2 --ntasks-per-node=2 -K --distinit=tp2,dp2
wait_for 'all programs' 20 all_run
on_node 1 "kill -9 $(agent 1 guard | tr -d ' ') $(agent 1 worker | tr -d ' ')"
ended 20
expect_failure
no_processes_left

echo "--- rank 0's program, and the process that stays as its parent"
for victim in '-x sleep' '-x distinit-stage'; do
  start -w n1,n2 --ntasks-per-node=1 -K --distinit
  wait_for 'both programs' 20 eval 'runs_on 1 1 && runs_on 2 1'
  on_node 1 "pkill -9 -u 50001 $victim"
  ended 20
  expect_failure
  expect_output_contains 'n1: task 0: Killed'
  no_processes_left
done

echo "--- another rank's program, while the others go on"
start -w n1,n2 --ntasks-per-node=2 --distinit=tp2,dp2
wait_for 'all programs' 20 all_run
on_node 2 "pkill -9 -u 50001 -x sleep"
sleep 1
kill -0 "$srun" || fail 'the step has ended with one node'"'"'s programs'
run 'scancel --signal=KILL $(squeue -h -o %i)'
ended 20
expect_failure
no_processes_left

echo "--- the agent of rank 0, which is not on the first node"
run 'printf "n2\nn2\nn1\nn1\n" >hosts'
"$CLUSTER" run "SLURM_HOSTFILE=hosts exec srun -m arbitrary -n4 --distinit=tp2,dp2 sleep 60" >"$log" 2>&1 </dev/null &
srun=$!
wait_for 'all programs' 20 all_run
on_node 2 "kill -9 $(agent 2 worker | tr -d ' ')"
ended 15
expect_status 137
expect_output_contains 'distinit: n2: the agent was ended by signal 9 (Killed), so the step is ended'
expect_equal messages "$(grep -c 'distinit: hint: ' "$log")" 1
no_processes_left

echo "--- Ctrl-C, twice"
start -w n1,n2 --ntasks-per-node=2 --distinit=tp2,dp2
wait_for 'all programs' 20 all_run
run 'pkill -INT -u alice -x srun; sleep 0.3; pkill -INT -u alice -x srun'
ended 20
expect_failure
expect_output_lacks 'distinit:'
no_processes_left

echo "--- scancel"
start -w n1,n2 --ntasks-per-node=2 --distinit=tp2,dp2
wait_for 'all programs' 20 all_run
run 'scancel $(squeue -h -o %i)'
ended 20
expect_failure
expect_output_lacks 'distinit:'
no_processes_left
