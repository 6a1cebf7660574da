# SPDX-License-Identifier: Apache-2.0
# cluster: 3 nodes
# The cluster itself: rank 0 is not always on the first host of the list.
. "$(dirname "$0")/../lib.sh"

run 'printf "n3\nn1\nn3\nn2\n" >hosts
     SLURM_HOSTFILE=hosts srun -m arbitrary -n4 bash -c "echo \$SLURM_PROCID \$SLURMD_NODENAME \$SLURM_STEP_NODELIST"'
expect_sorted_output '0 n3 n[1-3]' '1 n1 n[1-3]' '2 n3 n[1-3]' '3 n2 n[1-3]'

run 'srun -N1 -n1 -w n2 bash -c "echo \$SLURM_PROCID \$(hostname)" : -N1 -n2 -w n1 bash -c "echo \$SLURM_PROCID \$(hostname)" |
     grep -v "^srun: job"'
expect_output_contains '0 n2'
expect_output_contains '1 n1'
expect_output_contains '2 n1'

run 'srun -N3 -n4 bash -c "echo \$SLURM_STEP_TASKS_PER_NODE"'
expect_output_contains '2,1(x2)'
