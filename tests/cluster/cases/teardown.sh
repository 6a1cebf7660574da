# SPDX-License-Identifier: Apache-2.0
# cluster: none
# timeout: 120
# Clusters do not meet, and none leaves anything behind: not after `down`, not after a failed or interrupted `up`.
. "$(dirname "$0")/../lib.sh"

# traces DIR: whatever of the cluster in this scratch directory is still to be seen from outside.
traces() {
  [[ ! -e $1 ]] || echo "$1"
  grep -F "$1" /proc/mounts
  grep -laF "$1" /proc/[0-9]*/cmdline /proc/[0-9]*/environ 2>/dev/null
}
everywhere() { ip -o link | cut -d: -f2 | cut -d@ -f1; ip netns list; }
before=$(everywhere)

one=$("$CLUSTER" up 2 --name one) || fail "cluster one"
two=$("$CLUSTER" up 1 --name two --conf KillWait=5) || fail "cluster two"
if "$CLUSTER" up 2 --name one; then fail "a second cluster of one name"; fi
OUTPUT=$("$CLUSTER" run --name one 'srun -N2 hostname; srun -N2 sleep 60 >out 2>&1 & sleep 0.5')
expect_sorted_output n1 n2
OUTPUT=$("$CLUSTER" run --name two 'scontrol show config | grep KillWait; sinfo -h -o %D')
expect_output_matches 'KillWait *= 5 sec'$'\n1$'
[[ -n $(traces "$one") && -n $(traces "$two") ]] || fail "traces() sees nothing"

"$CLUSTER" down --name one || fail "down, with a step running"
expect_equal 'what is left of one' "$(traces "$one")" ''
OUTPUT=$("$CLUSTER" run --name two 'srun hostname')
expect_sorted_output n1
"$CLUSTER" down --name two || fail "down"
expect_equal 'what is left of two' "$(traces "$two")" ''
"$CLUSTER" down --name two || fail "down of what is not there"

OUTPUT=$("$CLUSTER" up 1 --name broken --conf SlurmdPort=none 2>&1) && fail "a cluster without a port"
expect_output_contains 'SlurmdPort'
for delay in 0.05 0.1 0.15 0.2 0.3; do
  timeout -s TERM $delay "$CLUSTER" up 3 --name interrupted
  "$CLUSTER" down --name interrupted || fail "down after an interruption"
done
[[ ! -e $DISTINIT_CLUSTER_DIR/interrupted.json && ! -e $DISTINIT_CLUSTER_DIR/broken.json ]] || fail "state files"
expect_equal 'the scratch folder' "$(ls "$TMPDIR")" ''
expect_equal 'links and namespaces' "$(everywhere)" "$before"
