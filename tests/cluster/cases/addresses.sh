# SPDX-License-Identifier: Apache-2.0
# cluster: 2 nodes, --ipv6
# needs: plugin
# timeout: 120
# Which text MASTER_ADDR becomes: nodes whose own name is 127.0.1.1 to themselves and an IPv6 address first to the others.
. "$(dirname "$0")/../lib.sh"
report='$CLUSTER_SOURCE/tests/cluster/report_rank'
layout=(dp --nodes 'n[1-2]' --tasks-per-node 1)
LIMIT=20

# becomes ADDRESS VARIABLES SPEC: MASTER_ADDR under both; nothing is said of it.
becomes() {
  run "$2 srun -N2 -n2 --distinit$3 $report"
  expect_status 0
  expect_as_planned "$1" "${layout[@]}"
  expect_output_lacks 'distinit: warning'
}

becomes 10.20.0.1 '' ''
becomes n1 '' =address=name
becomes 10.20.0.1 '' =interface=eth0
becomes fd00:20::1 MASTER_ADDR=fd00:20::1 ''
becomes n1 MASTER_ADDR=n1 ''

# Here nothing but names is known, and they mean IPv6 first.
run "srun -N2 -n2 \$CLUSTER_BUILD/distinit exec -- $report"
expect_as_planned fd00:20::1 "${layout[@]}"
expect_output_contains 'DISTINIT_STORE=[fd00:20::1]:'

run "MASTER_ADDR=localhost srun -N2 -n2 --distinit $report"
expect_as_planned 10.20.0.1 "${layout[@]}"
expect_output_contains 'warning: MASTER_ADDR=localhost is not n1, where rank 0 runs: 10.20.0.1 is used'
run "MASTER_ADDR=localhost srun -N1 -n1 -w n2 --distinit $report"
expect_as_planned localhost dp --nodes n2 --tasks-per-node 1

run 'srun -N2 -n2 --distinit=interface=lo true'
expect_status 4
expect_output_contains 'distinit: interface=lo: no other node can reach n1 as 127.0.0.1'
run 'srun -N2 -n2 --distinit=interface=ib7 true'
expect_status 4
expect_output_contains 'distinit: interface=ib7: n1 has no such interface'
no_processes_left
