# SPDX-License-Identifier: Apache-2.0
# cluster: 3 nodes
# needs: plugin
# timeout: 180
# Before any program starts, while the nodes wait for one that is late: kill -9 of every part, scancel, Ctrl-C.
. "$(dirname "$0")/../lib.sh"

log=$(mktemp)
dir=$(mktemp -d)
chmod 755 "$dir"
build=$("$CLUSTER" run 'echo $CLUSTER_BUILD' </dev/null)
cp "$DISTINIT_BUILD/distinit" "$dir/real"
# n3's helper waits for the file `go`, at most as long as the plugin waits for a helper.
printf '#!/bin/sh\nfor i in $(seq 90); do if [ -e %s/go ]; then exec %s/real "$@"; fi; sleep 0.1; done\n' \
  "$dir" "$dir" >"$dir/late"
chmod 755 "$dir/real" "$dir/late"
trap '"$CLUSTER" node 3 "umount -q $build/distinit" </dev/null; rm -rf "$log" "$dir"' EXIT
on_node 3 "mount --bind $dir/late $build/distinit"
expect_status 0

start() {
  rm -f "$dir/go"
  "$CLUSTER" run "$1" >"$log" 2>&1 </dev/null &
  srun=$!
  wait_for 'two agents, and the late one' 15 met
}
workers() { timeout 10 "$CLUSTER" node "$1" 'pgrep -c -u 50001 -f "^[^ ]*distinit agent"' </dev/null 2>/dev/null; }
# Two processes an agent, on n1 and n2; of the late one there is the double.
met() {
  [[ $(workers 1) == 2 && $(workers 2) == 2 ]] &&
    timeout 10 "$CLUSTER" node 3 'pgrep -u 50001 -f "late agent|distinit agent"' </dev/null >/dev/null
}
# The guard is the older of the two.
guard() { timeout 10 "$CLUSTER" node "$1" 'pgrep -o -u 50001 -f "distinit agent"' </dev/null; }
worker() { timeout 10 "$CLUSTER" node "$1" 'pgrep -n -u 50001 -f "distinit agent"' </dev/null; }

step='exec srun -N3 --ntasks-per-node=2 --distinit=tp2,dp,timeout=6 echo it runs'

for node in 1 2; do
  echo "--- the agent's worker on n$node"
  start "$step"
  on_node $node "kill -9 $(worker $node)"
  sleep 1
  touch "$dir/go"
  ended 15
  expect_failure
  expect_output_lacks 'it runs'
  expect_output_contains "distinit: n$node: the agent was ended by signal 9 (Killed), so the step is ended"
  expect_equal messages "$(grep -c 'distinit: hint: ' "$log")" 1
  no_processes_left

  echo "--- worker and guard on n$node"
  start "$step"
  on_node $node "kill -9 $(guard $node) $(worker $node)"
  touch "$dir/go"
  ended 30
  expect_failure
  expect_output_lacks 'it runs'
  if [[ $node == 1 ]]; then
    expect_output_contains "distinit: rank 0 on n1: this node's agent and its guard have been killed"
  else
    expect_output_contains 'distinit: the agent on n2 ended before the step could start'
  fi
  no_processes_left

  echo "--- the guard alone on n$node"
  start "$step"
  on_node $node "kill -9 $(guard $node)"
  touch "$dir/go"
  ended 15
  expect_status 0
  expect_equal 'ranks that run' "$(grep -c 'it runs' "$log")" 6
  no_processes_left

  echo "--- a stage on n$node"
  start "$step"
  on_node $node "pkill -9 -n -u 50001 -x distinit-stage"
  touch "$dir/go"
  ended 15
  expect_failure
  expect_output_lacks 'it runs'
  expect_output_matches "distinit: rank [0-3] on n$node: its process ended before its program was started"
  expect_equal messages "$(grep -c 'distinit: hint: ' "$log")" 1
  no_processes_left
done

echo "--- a TaskProlog that ends its task on n2"
rm -f "$dir/go"
"$CLUSTER" run "${step/srun/srun --task-prolog=\$CLUSTER_SOURCE/tests/cluster/die_in_prolog}" >"$log" 2>&1 </dev/null &
srun=$!
sleep 1
touch "$dir/go"
ended 15
expect_failure
expect_output_lacks 'it runs'
expect_output_contains 'distinit: rank 2 on n2: its process ended before its program was started'
expect_equal messages "$(grep -c 'distinit: hint: ' "$log")" 1
no_processes_left

# The late helper, a shell script, dies of the signal, and its task says so; nobody else has anything to say.
expect_quiet() {
  local said
  said=$(grep distinit: <<<"$OUTPUT" | grep -v '^slurmstepd-n3: error: distinit: ')
  expect_equal 'what is said' "$said" ''
}

echo "--- scancel"
start "$step"
run 'scancel -u alice'
ended 15
expect_failure
expect_output_lacks 'it runs'
expect_quiet
no_processes_left

echo "--- Ctrl-C, twice"
start "$step"
run 'pkill -INT -u alice -x srun; sleep 0.3; pkill -INT -u alice -x srun'
ended 15
expect_failure
expect_output_lacks 'it runs'
expect_quiet
no_processes_left
