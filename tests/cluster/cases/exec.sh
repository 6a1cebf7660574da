# SPDX-License-Identifier: Apache-2.0
# cluster: 3 nodes
# needs: plugin
# timeout: 120
# `distinit exec`: the same launch where srun has no plugin, in every distribution; --multi-prog, which needs it here.
. "$(dirname "$0")/../lib.sh"
report='$CLUSTER_SOURCE/tests/cluster/report_rank'
exec='$CLUSTER_BUILD/distinit exec'

secret='export DISTINIT_SECRET=$(head -c 32 /dev/urandom | od -An -tx1 | tr -d " \n");'
run "$secret srun -N3 --ntasks-per-node=2 $exec --spec tp2,dp -- $report DISTINIT_SECRET"
expect_status 0
expect_output_lacks DISTINIT_SECRET
expect_output_lacks 'no secret'
expect_as_planned 10.20.0.1 tp2,dp --nodes 'n[1-3]' --tasks-per-node '2(x3)'
run "$secret srun -N3 --ntasks-per-node=2 -m cyclic $exec --spec tp2,dp -- $report"
expect_as_planned 10.20.0.1 tp2,dp --nodes 'n[1-3]' --tasks-per-node '2(x3)' --distribution cyclic
run "$secret srun -N3 -n8 -m plane=2 $exec --spec tp2,dp -- $report"
expect_as_planned 10.20.0.1 tp2,dp --nodes 'n[1-3]' --tasks-per-node '6,1(x2)' --distribution plane=2
run "$secret printf 'n3\nn1\nn3\nn2\n' >hosts; SLURM_HOSTFILE=hosts srun -m arbitrary -n4 $exec -- $report"
expect_as_planned 10.20.0.3 dp --nodes 'n3,n1,n3,n2' --distribution arbitrary
run "$secret srun -N1 -n2 -w n3 $exec -- $report : -N1 -n2 -w n1 $exec -- $report"
expect_as_planned 10.20.0.3 dp --nodes n3,n1 --tasks-per-node '2(x2)'
run "export SLURM_DISTINIT=tp2; srun -N1 -n2 $exec -- $report"
expect_as_planned 127.0.0.1 tp2 --nodes n1 --tasks-per-node 2

# Without a secret it is said once, and works.
run "srun -N2 -n4 $exec -- $report"
expect_equal 'warnings' "$(grep -c 'warning: no secret protects' <<<"$OUTPUT")" 1
expect_output_contains 'hint: export DISTINIT_SECRET='
expect_equal 'ranks' "$(grep -c '^rank: ' <<<"$OUTPUT")" 4

# The program's own status and the wrong ways of using it.
run "srun -N2 -n2 $exec -- bash -c 'exit \$((SLURM_PROCID * 45))' 2>&1"
expect_status 45
run "$exec -- true"
expect_status 2
expect_output_contains 'distinit: not inside a Slurm step'
run "srun -n2 --distinit $exec -- true"
expect_status 2
expect_output_contains "this step's tasks were started by distinit already"
run "srun -n2 $exec --spec tp3 -- true"
expect_status 3
expect_equal 'messages' "$(grep -c '^distinit: .*tp3' <<<"$OUTPUT")" 1
run "srun -n2 $exec --spec tp2,tq= -- true"
expect_status 2

# --multi-prog: before Slurm 23.11 a clear refusal, with the way out that it names.
run 'printf "0 $CLUSTER_BUILD/distinit exec -- $CLUSTER_SOURCE/tests/cluster/report_rank
1-3 $CLUSTER_BUILD/distinit exec -- $CLUSTER_SOURCE/tests/cluster/report_rank\n" >programs
srun --version; srun -N2 --ntasks-per-node=2 --distinit --multi-prog programs'
old_slurm='^slurm[a-z-]* (2[0-2]\.|23\.02)'
if [[ $OUTPUT =~ $old_slurm ]]; then
  expect_status 1
  expect_output_contains 'distinit: --multi-prog does not work with --distinit on this Slurm'
  expect_output_contains 'hint: it needs Slurm 23.11'
  run "$secret srun -N2 --ntasks-per-node=2 --multi-prog programs"
fi
expect_status 0
expect_as_planned 10.20.0.1 dp --nodes 'n[1-2]' --tasks-per-node '2(x2)'
no_processes_left
