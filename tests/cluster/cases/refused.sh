# SPDX-License-Identifier: Apache-2.0
# cluster: 2 nodes
# needs: plugin
# A SPEC that does not fit, inside an allocation: one message, and the allocation goes on.
. "$(dirname "$0")/../lib.sh"

run "salloc -Q -N2 --ntasks-per-node=4 bash -c 'srun -n8 --distinit=tp3,dp echo started; echo status \$?
  sleep 1; echo left: \$(squeue -hs -o %i | grep -c -v -e extern -e interactive)
  timeout 20 srun -n8 bash -c \"echo second\"'"
expect_status 0
expect_output_lacks started
expect_output_contains 'distinit: tp3,dp needs a multiple of 3 ranks, the step has 8'
expect_equal messages "$(grep -c 'distinit: hint: ' <<<"$OUTPUT")" 1
expect_output_contains 'status 3'
expect_output_contains 'left: 0'
expect_equal second "$(grep -c '^second' <<<"$OUTPUT")" 8
no_processes_left
