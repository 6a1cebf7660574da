# SPDX-License-Identifier: Apache-2.0
# cluster: 2 nodes
# The cluster itself: steps run on their nodes, as their users, with their status.
. "$(dirname "$0")/../lib.sh"

run 'srun -N2 --ntasks-per-node=2 hostname'
expect_status 0
expect_sorted_output n1 n1 n2 n2

run 'srun -N2 -n2 --label bash -c "exit \$((SLURM_PROCID * 7))"'
expect_status 7

for user in alice bob; do
  as $user 'srun -N2 -n2 bash -c "echo \$(id -un) \$(pwd)"'
  expect_status 0
  expect_output_matches "^$user /[^ ]*/home/$user"$'\n'"$user /[^ ]*/home/$user\$"
done

as nobody 'srun -n1 id -u'
expect_sorted_output 65534

run 'srun -n1 printenv SLURM_STEP_RESV_PORTS'
expect_output_matches '^12[0-9]{3}(-12[0-9]{3})?$'
no_processes_left
