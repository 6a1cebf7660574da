# SPDX-License-Identifier: Apache-2.0
# cluster: 2 nodes
# needs: plugin
# timeout: 150
# Something is not there: the helper, a node's agent, descriptors. Jobs without --distinit never notice.
. "$(dirname "$0")/../lib.sh"

echo "--- the helper is missing, not executable, or broken on n2 alone"
# Each node has mounts of its own: what is laid over the helper on n2 is there alone.
run 'echo $CLUSTER_BUILD'
build=$OUTPUT
dir=$(mktemp -d)
uncover() { for n in 1 2; do "$CLUSTER" node $n "umount -q $build/distinit" </dev/null; done; }
trap 'uncover; rm -rf "$dir"' EXIT
chmod 755 "$dir"
printf '#!/bin/sh\nexit 1\n' >"$dir/ends"
printf '#!/bin/sh\nexec sleep 60\n' >"$dir/hangs"
printf 'no program\n' >"$dir/text"
chmod 755 "$dir/ends" "$dir/hangs" "$dir/text"
printf 'x\n' >"$dir/plain"
chmod 644 "$dir/plain"

for kind in plain text ends; do
  on_node 2 "mount --bind $dir/$kind $build/distinit"
  expect_status 0
  run 'srun -N2 --ntasks-per-node=2 echo started'
  expect_status 0
  expect_equal started "$(grep -c started <<<"$OUTPUT")" 4
  run 'srun -N2 --ntasks-per-node=2 -K --distinit=dp,timeout=4 echo started'
  expect_failure
  expect_output_lacks started
  expect_output_contains 'distinit: n2: '
  expect_output_contains "$build/distinit"
  expect_equal "lines of n2" "$(grep -c 'distinit: n2: ' <<<"$OUTPUT")" 1
  on_node 2 "umount $build/distinit"
  no_processes_left
done

echo "--- the agent of n2 never comes: named while waiting and at the deadline"
on_node 2 "mount --bind $dir/hangs $build/distinit"
start=$SECONDS
run 'srun -N2 --ntasks-per-node=2 --distinit=dp,timeout=7 echo started'
expect_failure
expect_output_lacks started
expect_output_contains 'distinit: warning: waiting since 5 s for 1 of 2 nodes (n2)'
expect_output_contains 'distinit: after 7 s still missing: 1 of 2 nodes (n2)'
expect_equal deadlines "$(grep -c 'still missing' <<<"$OUTPUT")" 1
((SECONDS - start < 25)) || fail 'it took too long'
on_node 2 "umount $build/distinit"
no_processes_left

echo "--- the node of rank 0 never comes"
on_node 1 "mount --bind $dir/hangs $build/distinit"
run 'srun -N2 --ntasks-per-node=2 --distinit=dp,timeout=6 echo started'
expect_failure
expect_output_lacks started
expect_output_contains 'distinit: warning: n2 waits for n1 since 5 s'
expect_output_matches "distinit: n2: after 6 s the node of rank 0, n1, can.t be reached"
on_node 1 "umount $build/distinit"
no_processes_left

echo "--- few descriptors: the program keeps its limit, the agent takes what it may"
run 'ulimit -n 64; srun -N2 --ntasks-per-node=2 --distinit bash -c "ulimit -n"'
expect_status 0
expect_sorted_output 64 64 64 64

echo "--- too few even for the agent: said beforehand, whatever comes of it"
cp "$DISTINIT_BUILD/distinit" "$dir/real"
printf '#!/bin/sh\nulimit -n 9\nexec %s/real "$@"\n' "$dir" >"$dir/few"
chmod 755 "$dir/real" "$dir/few"
for node in 1 2; do
  on_node $node "mount --bind $dir/few $build/distinit"
  run 'srun -N2 --ntasks-per-node=2 -K --distinit=dp,timeout=3 echo started'
  [[ $node == 2 ]] || expect_failure
  expect_output_matches "distinit: warning: n$node: the agent may open 9 files, and a step of this size can take (20|30)"
  on_node $node "umount $build/distinit"
  no_processes_left
done
