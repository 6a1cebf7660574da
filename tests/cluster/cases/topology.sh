# SPDX-License-Identifier: Apache-2.0
# cluster: none
# needs: plugin
# timeout: 180
# Every rank on the right GPU, HCA and CPUs, whichever way Slurm grants the GPUs; a topology file per node.
. "$(dirname "$0")/../lib.sh"
own_cluster topology
write=$(dirname "$CLUSTER")/write_topology
"$write" "$dir/n1.xml" 4 mlx5_3 mlx5_1 mlx5_0 mlx5_2 && "$write" "$dir/n2.xml" 4 mlx5_0 mlx5_1 mlx5_2 - || fail 'no files'
"$CLUSTER" up 2 --gpus 4 --plugstack "required @BUILD@/distinit.so helper=@BUILD@/distinit topology=$dir/%n.xml" ||
  fail 'no cluster'

# Without --distinit nothing is read, bound or said.
run 'srun -N1 -n2 --gpus-per-node=4 printenv DISTINIT_GPUS NCCL_IB_HCA'
expect_failure
expect_output_lacks distinit:

show='bash -c "echo \$RANK gpus=\$DISTINIT_GPUS pci=\$DISTINIT_GPU_PCI hcas=\$DISTINIT_HCAS ucx=\$UCX_NET_DEVICES visible=\$CUDA_VISIBLE_DEVICES"'
warned() { grep -c '^distinit: warning' <<<"$OUTPUT"; }

# All of the node's GPUs in every task: rank i takes the i-th, and the HCA on its switch whatever its number is.
run "srun -N1 -w n1 -n4 --gpus-per-node=4 --distinit=dp $show"
expect_status 0
expect_sorted_output \
  '0 gpus=0 pci=0000:10:00.0 hcas=mlx5_3:1 ucx=mlx5_3:1 visible=0,1,2,3' \
  '1 gpus=1 pci=0000:11:00.0 hcas=mlx5_1:1 ucx=mlx5_1:1 visible=0,1,2,3' \
  '2 gpus=2 pci=0000:12:00.0 hcas=mlx5_0:1 ucx=mlx5_0:1 visible=0,1,2,3' \
  '3 gpus=3 pci=0000:13:00.0 hcas=mlx5_2:1 ucx=mlx5_2:1 visible=0,1,2,3'

# Two GPUs for each of two tasks.
run "srun -N1 -w n1 -n2 --gres=gpu:4 --distinit=dp $show"
expect_status 0
expect_sorted_output \
  '0 gpus=0,1 pci=0000:10:00.0,0000:11:00.0 hcas=mlx5_3:1,mlx5_1:1 ucx=mlx5_3:1,mlx5_1:1 visible=0,1,2,3' \
  '1 gpus=2,3 pci=0000:12:00.0,0000:13:00.0 hcas=mlx5_0:1,mlx5_2:1 ucx=mlx5_0:1,mlx5_2:1 visible=0,1,2,3'

# A part of the node: another job has the first two GPUs. What counts is the place in the list, not its values.
run "sbatch -Q -N1 -w n1 -n1 --gpus-per-node=2 --wrap 'touch holds; while [ ! -e go ]; do sleep 0.1; done'"
expect_status 0
wait_for 'the job that holds two GPUs' 10 "$CLUSTER" run '[ -e holds ]'
run "srun -N1 -w n1 -n2 --gpus-per-node=2 --distinit=dp $show"
expect_status 0
expect_sorted_output \
  '0 gpus=0 pci=0000:12:00.0 hcas=mlx5_0:1 ucx=mlx5_0:1 visible=2,3' \
  '1 gpus=1 pci=0000:13:00.0 hcas=mlx5_2:1 ucx=mlx5_2:1 visible=2,3'
run 'touch go'

# Slurm narrows the list of each task: the index is that of what is left, and one message says what it costs.
for narrowed in --gpus-per-task=1 '--gpus-per-node=4 --gpu-bind=single:1'; do
  run "srun -N1 -w n1 -n4 $narrowed --distinit=dp $show"
  expect_status 0
  for number in 0 1 2 3; do
    expect_output_matches "$number gpus=0 pci=0000:1$number:00.0 hcas=mlx5_[0-3]:1 ucx=mlx5_[0-3]:1 visible=$number"
  done
  expect_equal warnings "$(warned)" 1
  expect_output_matches 'distinit: hint: .*--gpus-per-node'
done
run "srun -N1 -w n1 -n2 --gpus-per-node=4 --gpu-bind=map_gpu:3,2 --distinit=dp $show"
expect_status 0
expect_output_contains '0 gpus=0 pci=0000:13:00.0 hcas=mlx5_2:1 ucx=mlx5_2:1 visible=3'
expect_output_contains '1 gpus=0 pci=0000:12:00.0 hcas=mlx5_0:1 ucx=mlx5_0:1 visible=2'

# More tasks than GPUs share them, and NCCL would refuse: said once.
run "srun -N1 -w n1 -n3 --gpus-per-node=2 --distinit=dp $show"
expect_status 0
expect_output_contains '2 gpus=0 pci=0000:10:00.0'
expect_equal warnings "$(warned)" 1

# One list for all ranks of a node; nodes that differ are named with their devices.
run 'srun -N2 --ntasks-per-node=2 --gpus-per-node=4 --distinit=dp bash -c "echo \$RANK \$NCCL_IB_HCA \$NCCL_SOCKET_IFNAME \$GLOO_SOCKET_IFNAME"'
expect_status 0
for rank in 0 1; do expect_output_matches "$rank =mlx5_0:1,mlx5_1:1,mlx5_2:1,mlx5_3:1 =eth0 eth0"; done
for rank in 2 3; do expect_output_matches "$rank =mlx5_0:1,mlx5_1:1,mlx5_2:1 =eth0 eth0"; done
expect_equal warnings "$(warned)" 1
expect_output_contains 'usable HCAs differ between nodes: mlx5_0:1,mlx5_1:1,mlx5_2:1,mlx5_3:1 on n1; mlx5_0:1,mlx5_1:1,mlx5_2:1 on n2'
run 'srun -N2 --ntasks-per-node=2 --gpus-per-node=4 --distinit=dp,hca.skip=mlx5_3 printenv NCCL_IB_HCA'
expect_status 0
expect_sorted_output =mlx5_0:1,mlx5_1:1,mlx5_2:1 =mlx5_0:1,mlx5_1:1,mlx5_2:1 =mlx5_0:1,mlx5_1:1,mlx5_2:1 =mlx5_0:1,mlx5_1:1,mlx5_2:1

# What the user set stays; a provider's settings are given by option.
run 'NCCL_IB_HCA=mlx5_1 UCX_NET_DEVICES=all srun -N1 -w n1 -n1 --distinit=dp,nccl.IB_SL=3,nccl.IB_TC=160 printenv NCCL_IB_HCA UCX_NET_DEVICES NCCL_IB_SL NCCL_IB_TC'
expect_status 0
expect_sorted_output mlx5_1 all 3 160
run 'srun -N1 -w n1 -n1 --gpus-per-node=1 --distinit=dp,bind=none bash -c "printenv NCCL_IB_HCA DISTINIT_GPUS UCX_NET_DEVICES || echo none"'
expect_status 0
expect_sorted_output none

# DISTINIT_LOG=info says what every rank got.
run 'DISTINIT_LOG=info srun -N1 -w n1 -n4 --gpus-per-node=4 --distinit=dp true'
expect_status 0
expect_output_contains 'n1: rank 2: GPU 2 (0000:12:00.0), HCA mlx5_0:1, CPUs '

# A file that can't be read ends the step, once, with its name; a user's own stands in for the site's.
run "DISTINIT_TOPOLOGY=$dir/none-%n.xml srun -N2 -n4 --distinit=dp echo started"
expect_status 5
expect_output_lacks started
expect_output_matches "distinit: n[12]: .*$dir/none-n[12].xml"
expect_equal messages "$(grep -c 'distinit: n[12]: ' <<<"$OUTPUT")" 1
head -c 300 "$dir/n1.xml" >"$dir/cut.xml"
run "DISTINIT_TOPOLOGY=$dir/cut.xml srun -N1 -n2 --distinit=dp echo started"
expect_status 5
expect_output_lacks started
run "DISTINIT_TOPOLOGY=$dir/n2.xml srun -N1 -w n1 -n1 --gpus-per-node=1 --distinit=dp printenv DISTINIT_HCAS"
expect_status 0
expect_sorted_output mlx5_0:1

# GPUs that the node does not have: said, and the job goes on.
"$write" "$dir/two.xml" 2 mlx5_0 mlx5_1 || fail 'no file'
run "DISTINIT_TOPOLOGY=$dir/two.xml srun -N1 -w n1 -n2 --gpus-per-node=4 --distinit=dp bash -c 'echo \$RANK gpus=\$DISTINIT_GPUS'"
expect_status 0
expect_output_contains '0 gpus=0'
expect_output_contains '1 gpus=1'
expect_output_contains 'n1: CUDA_VISIBLE_DEVICES=0,1,2,3 names GPU 2, but there are 2'
expect_equal warnings "$(warned)" 1
no_processes_left
