# SPDX-License-Identifier: Apache-2.0
# cluster: 3 nodes
# needs: plugin
# timeout: 180
# Every rank is told what `distinit plan` says for the same layout, and where rank 0 really is: under each
# distribution, on uneven nodes, on part of an allocation, and in het steps.
. "$(dirname "$0")/../lib.sh"
report='$CLUSTER_SOURCE/tests/cluster/report_rank'
spec=tp2,dp,groups=tp-dp

run "srun -N3 --ntasks-per-node=2 --distinit=$spec $report"
expect_status 0
expect_as_planned 10.20.0.1 $spec --nodes 'n[1-3]' --tasks-per-node '2(x3)'
# The port is one of those that Slurm has reserved for the step.
port=$(grep -o 'MASTER_PORT=[0-9]*' <<<"$OUTPUT" | sort -u | cut -d= -f2)
first=$(grep -o 'RESV_PORTS=[0-9]*' <<<"$OUTPUT" | sort -u | cut -d= -f2)
((port >= first && port <= first + 2)) || fail "MASTER_PORT=$port, reserved are $first and the two after it"

run "srun -N3 --ntasks-per-node=2 -m cyclic --distinit=$spec $report"
expect_as_planned 10.20.0.1 $spec --nodes 'n[1-3]' --tasks-per-node '2(x3)' --distribution cyclic
# Slurm gives the first node all the CPUs that are over.
run "srun -N3 -n8 -m plane=2 --distinit=$spec $report"
expect_as_planned 10.20.0.1 $spec --nodes 'n[1-3]' --tasks-per-node '6,1(x2)' --distribution plane=2
run "printf 'n3\nn1\nn3\nn2\n' >hosts; SLURM_HOSTFILE=hosts srun -m arbitrary -n4 --distinit=$spec $report"
expect_as_planned 10.20.0.3 $spec --nodes 'n3,n1,n3,n2' --distribution arbitrary
run "srun -N2 -n5 --exclusive --distinit=dp5 $report"
expect_as_planned 10.20.0.1 dp5 --nodes 'n[1-2]' --tasks-per-node 3,2
run "srun -N1 -n1 -w n2 --distinit $report"
expect_as_planned 127.0.0.1 dp --nodes n2 --tasks-per-node 1

# Steps on part of the allocation; then two at once on the same nodes.
run "salloc -N3 --exclusive bash -c 'srun -N1 -n2 -w n3 --distinit=$spec $report >one
       srun -N2 -n4 -w n[2-3] --distinit=$spec $report >two
       srun -N2 -n4 -w n[2-3] --overlap --distinit=$spec bash -c \"$report; sleep 0.5\" >three &
       srun -N2 -n4 -w n[2-3] --overlap --distinit=$spec bash -c \"$report; sleep 0.5\" >four & wait'"
expect_status 0
run 'cat one'; expect_as_planned 127.0.0.1 $spec --nodes n3 --tasks-per-node 2
ports=
for file in two three four; do
  run "cat $file"
  expect_as_planned 10.20.0.2 $spec --nodes 'n[2-3]' --tasks-per-node '2(x2)'
  ports+=$(grep -o 'MASTER_PORT=[0-9]*' <<<"$OUTPUT" | sort -u)$'\n'
done
expect_equal 'ports of the two steps at once' "$(tail -n 3 <<<"$ports" | sort -u | sed '/^$/d' | wc -l)" 2

# Het steps whose rank 0 is on the node that is later in the alphabet.
run "srun -N1 -n2 -w n3 --distinit=$spec $report : -N1 -n2 -w n1 --distinit=$spec $report"
expect_status 0
expect_as_planned 10.20.0.3 $spec --nodes n3,n1 --tasks-per-node '2(x2)'
run "salloc -N1 -n2 -w n3 : -N2 --ntasks-per-node=2 -w n[1-2] srun --het-group=0,1 --distinit=$spec $report"
expect_as_planned 10.20.0.3 $spec --nodes n3,n1,n2 --tasks-per-node '2(x3)'
run "printf '#!/bin/bash\n#SBATCH -N1 -n1 -w n2\n#SBATCH hetjob\n#SBATCH -N1 -n1 -w n1
srun --het-group=0,1 --distinit=$spec $report\n' >het.sh; sbatch -W -o het.out het.sh; cat het.out"
expect_as_planned 10.20.0.2 $spec --nodes n2,n1 --tasks-per-node '1(x2)'
no_processes_left
