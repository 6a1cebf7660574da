# SPDX-License-Identifier: Apache-2.0
# cluster: 2 nodes, --gpus 4
# The cluster itself: Slurm hands out the GPUs that are none.
. "$(dirname "$0")/../lib.sh"

run 'srun -N2 -n2 --gpus-per-node=4 printenv CUDA_VISIBLE_DEVICES'
expect_sorted_output 0,1,2,3 0,1,2,3

run 'srun -N1 -n4 --gpus-per-task=1 --gpu-bind=single:1 bash -c "echo \$SLURM_LOCALID \$CUDA_VISIBLE_DEVICES"'
expect_sorted_output '0 0' '1 1' '2 2' '3 3'

run 'srun -N1 printenv CUDA_VISIBLE_DEVICES'
expect_failure
