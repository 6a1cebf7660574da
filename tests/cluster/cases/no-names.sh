# SPDX-License-Identifier: Apache-2.0
# cluster: 2 nodes, --no-dns, --no-ports
# needs: plugin
# timeout: 120
# No node knows another one's name, and no ports are reserved: the address comes from Slurm's own records, the port
# from a sequence that every node can compute.
. "$(dirname "$0")/../lib.sh"
report='$CLUSTER_SOURCE/tests/cluster/report_rank'
LIMIT=20

run "srun -N2 -n4 --distinit=tp2,dp $report SLURM_STEP_RESV_PORTS"
expect_as_planned 10.20.0.1 tp2,dp --nodes 'n[1-2]' --tasks-per-node 3,1
expect_output_lacks SLURM_STEP_RESV_PORTS
port=$(grep -o 'MASTER_PORT=[0-9]*' <<<"$OUTPUT" | sort -u | cut -d= -f2)
((port > 1024 && port < 32768 || port > 60999)) || fail "MASTER_PORT=$port can be anybody's on the way out"
run "printf 'n2\nn1\n' >hosts; SLURM_HOSTFILE=hosts srun -m arbitrary -n2 --distinit $report"
expect_as_planned 10.20.0.2 dp --nodes n2,n1 --distribution arbitrary
run "srun -N1 -n2 -w n2 --distinit $report"
expect_as_planned 127.0.0.1 dp --nodes n2 --tasks-per-node 2

# What can't work says so, soon: a name that was asked for, and ways that have nothing but names. Srun starts the
# components of a het step in threads: the later ones know rank 0's address only when they come late enough to see
# what the first has learnt. Then the step runs; else it ends in time.
run 'srun -N2 -n2 --distinit=address=name true'
expect_status 4
expect_output_contains "n2 can't reach n1 as n1"
run "srun -N2 -n2 \$CLUSTER_BUILD/distinit exec --spec timeout=2 -- true >exec 2>&1 & one=\$!
     srun -N1 -n1 -w n2 --distinit=timeout=2 true : -N1 -n1 -w n1 true >het 2>&1; echo het \$?; wait \$one; echo exec \$?"
expect_output_matches 'exec 4$'
expect_output_matches 'het [04]'
unreachable=(exec)
[[ $OUTPUT == *'het 4'* ]] && unreachable+=(het)
for file in "${unreachable[@]}"; do
  run "cat $file"
  expect_output_matches "the node of rank 0[, n1]* can't be reached \\(its name has no usable address\\)"
  expect_output_contains 'after 2 s still missing: 1 of 2 nodes'
done
no_processes_left
