# SPDX-License-Identifier: Apache-2.0
# cluster: 3 nodes
# needs: plugin
# timeout: 120
# The user's own settings win where one value can be right; what an outer step of ours left is not the user's.
. "$(dirname "$0")/../lib.sh"

run 'cat >inner.sh <<"END"
#!/bin/bash
# Each rank of the outer step runs this; rank 0 starts the inner ones.
show="echo \$WHO \$RANK \$WORLD_SIZE \$MASTER_ADDR \$OMP_NUM_THREADS \$DISTINIT_STEP \$DISTINIT_TP_SIZE"
[[ $RANK = 0 ]] || exit 0
echo "outer $RANK $WORLD_SIZE $MASTER_ADDR $OMP_NUM_THREADS $DISTINIT_STEP $DISTINIT_TP_SIZE"
WHO=plain srun --overlap -N1 -n1 -w n3 bash -c "$show"
WHO=ours srun --overlap -N1 -n1 -w n3 --distinit=bind=none bash -c "$show"
OMP_NUM_THREADS=7 WHO=threads srun --overlap -N1 -n2 -w n3 --distinit=bind=none bash -c "$show"
END
chmod +x inner.sh'
run 'salloc -N3 --exclusive srun -N2 --ntasks-per-node=2 -w n[1-2] --distinit=tp2,dp2,bind=none ./inner.sh'
expect_status 0
OUTPUT=$(grep -v '^salloc: ' <<<"$OUTPUT")
job=$(sed -n 's/^outer .* \([0-9]*\)\.0\.0 2$/\1/p' <<<"$OUTPUT")
expect_sorted_output "outer 0 4 10.20.0.1 1 $job.0.0 2" "plain 0 4 10.20.0.1 1 $job.0.0 2" \
  "ours 0 1 127.0.0.1 $job.2.0" "threads 0 2 127.0.0.1 7 $job.3.0" "threads 1 2 127.0.0.1 7 $job.3.0"

# MASTER_PORT is the user's; a MASTER_ADDR only if it is where rank 0 runs, and then in the user's own words.
run 'MASTER_PORT=23456 OMP_NUM_THREADS=3 srun -N2 -n2 --distinit bash -c "echo \$MASTER_ADDR:\$MASTER_PORT \$OMP_NUM_THREADS"'
expect_sorted_output '10.20.0.1:23456 3' '10.20.0.1:23456 3'
run 'MASTER_ADDR=10.20.0.3 srun -N2 -n2 -w n[1-2] --distinit printenv MASTER_ADDR'
expect_status 0
expect_output_contains 'warning: MASTER_ADDR=10.20.0.3 is not n1, where rank 0 runs: 10.20.0.1 is used'
expect_equal 'ranks with the right one' "$(grep -c '^10\.20\.0\.1$' <<<"$OUTPUT")" 2
expect_equal 'warnings' "$(grep -c 'warning:' <<<"$OUTPUT")" 1
run 'MASTER_ADDR=no-such-host srun -N2 -n2 -w n[1-2] --distinit printenv MASTER_ADDR'
expect_output_contains 'warning: MASTER_ADDR=no-such-host (which does not resolve) is not n1'
expect_equal 'ranks with the right one' "$(grep -c '^10\.20\.0\.1$' <<<"$OUTPUT")" 2
run 'MASTER_ADDR=10.20.0.1 srun -N2 -n2 -w n[1-2] --distinit printenv MASTER_ADDR'
expect_sorted_output 10.20.0.1 10.20.0.1
run 'RANK=0 WORLD_SIZE=1 srun -N2 -n2 --distinit bash -c "echo \$RANK/\$WORLD_SIZE"'
expect_output_contains '0/2'
expect_output_contains '1/2'
expect_output_contains 'warning: WORLD_SIZE=1 was set before the step and is 2 here'

run 'DISTINIT_LOG=info OMP_NUM_THREADS=3 MASTER_PORT=23456 srun -N2 -n4 --distinit true'
expect_status 0
expect_equal 'what is ours' "$(grep -c '^distinit: rank 0 gets from distinit: .*RANK=0 .*MASTER_ADDR=10.20.0.1 ' <<<"$OUTPUT")" 1
expect_output_contains 'distinit: rank 0 keeps what was set before: MASTER_PORT=23456 OMP_NUM_THREADS=3'
expect_equal 'lines with the values' "$(grep -c 'distinit: rank 0' <<<"$OUTPUT")" 2
no_processes_left
