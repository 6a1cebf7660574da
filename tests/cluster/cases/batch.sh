# SPDX-License-Identifier: Apache-2.0
# cluster: 2 nodes
# The cluster itself: sbatch and salloc, with srun inside.
. "$(dirname "$0")/../lib.sh"

run 'sbatch -N2 --wait -o out --wrap "hostname; srun hostname; exit 3"; echo $?; cat out'
expect_output_contains '3'
expect_output_matches $'n1\nn[12]\nn[12]$'

run 'salloc -N2 bash -c "hostname; srun -l hostname"'
expect_status 0
expect_output_contains 'login'
expect_output_contains '0: n1'
expect_output_contains '1: n2'
