# SPDX-License-Identifier: Apache-2.0
# cluster: none
# needs: plugin
# timeout: 120
# CPUs near each rank's GPU, inside what Slurm gave; never against --cpu-bind.
. "$(dirname "$0")/../lib.sh"
mapfile -t cpus < <(python3 -c 'import os; print(*sorted(os.sched_getaffinity(0)), sep="\n")')
if ((${#cpus[@]} < 2)); then
  echo "skipped: this machine has one CPU, and nothing can be shared out"
  exit 0
fi
own_cluster cpus
"$(dirname "$CLUSTER")/write_topology" "$dir/n1.xml" 2 mlx5_0 mlx5_1 || fail 'no file'
all=$(python3 -c 'import os; print(*sorted(os.sched_getaffinity(0)))')
# First and second half, as write_topology has them.
half=$(((${#cpus[@]} + 1) / 2))
first="${cpus[*]:0:half}" second="${cpus[*]:half}"
many=${#cpus[@]}
show='python3 -c "import os; print(os.environ[\"RANK\"], *sorted(os.sched_getaffinity(0)))"'

for affinity in '' --task-affinity; do
  # shellcheck disable=SC2086
  "$CLUSTER" up 1 --gpus 2 --cpus "$many" $affinity \
    --plugstack "required @BUILD@/distinit.so helper=@BUILD@/distinit topology=$dir/%n.xml" || fail 'no cluster'

  if [[ -z $affinity ]]; then
    run "srun --exclusive -n2 --gpus-per-node=2 --distinit=dp $show"
    expect_status 0
    expect_sorted_output "0 $first" "1 $second"
    run "srun --exclusive -n2 --gpus-per-node=2 --gpu-bind=map_gpu:1,0 --distinit=dp $show 2>errors"
    expect_status 0
    expect_sorted_output "0 $second" "1 $first"
    run "srun --exclusive -n2 --gpus-per-node=2 --distinit=dp bash -c 'echo \$RANK \$OMP_NUM_THREADS'"
    expect_sorted_output "0 $half" "1 $((many - half))"
    run "OMP_NUM_THREADS=7 srun --exclusive -n2 --gpus-per-node=2 --distinit=dp bash -c 'echo \$OMP_NUM_THREADS'"
    expect_sorted_output 7 7
    # Off by option; and where the job has fewer CPUs than its mask, which may be another job's.
    run "srun --exclusive -n2 --gpus-per-node=2 --distinit=dp,bind=hca $show"
    expect_sorted_output "0 $all" "1 $all"
    run "srun -n1 --gpus-per-node=2 --distinit=dp $show"
    expect_sorted_output "0 $all"
  else
    # The user's binding, whatever it is.
    run "srun --exclusive -n2 --cpu-bind=none --gpus-per-node=2 --distinit=dp $show"
    expect_status 0
    expect_sorted_output "0 $all" "1 $all"
    run "srun -n2 --cpu-bind=map_cpu:${cpus[1]},${cpus[0]} --gpus-per-node=2 --distinit=dp $show"
    expect_status 0
    expect_output_contains "0 ${cpus[1]}"
    expect_output_contains "1 ${cpus[0]}"
    # Rank 0's GPU is in the first half, its CPU may not be.
    if ((many == 2)); then
      expect_output_contains "n1: local rank 0's GPU is near CPUs ${cpus[0]}, and it may run on ${cpus[1]} alone"
    fi
    run "SLURM_CPU_BIND=none srun --exclusive -n2 --gpus-per-node=2 --distinit=dp $show"
    expect_status 0
    expect_sorted_output "0 $all" "1 $all"
    run "srun -n2 --cpu-bind=mask_cpu:$(python3 -c "print(hex(sum(1 << int(c) for c in '$all'.split())))") --gpus-per-node=2 --distinit=dp $show"
    expect_status 0
    expect_sorted_output "0 $all" "1 $all"
  fi
  no_processes_left
  "$CLUSTER" down
done
