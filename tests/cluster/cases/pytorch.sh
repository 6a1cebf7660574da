# SPDX-License-Identifier: Apache-2.0
# cluster: 2 nodes
# needs: plugin
# timeout: 400
# Real PyTorch as the client of our store: unchanged programs, even and uneven nodes, groups, and a loss that
# must be the single process's.
. "$(dirname "$0")/../lib.sh"
LIMIT=120
python=/usr/bin/python3
examples='$CLUSTER_SOURCE/contrib/examples'

# ranks_agree WORLD: each rank has reported once, and all with the same weights.
ranks_agree() {
  expect_status 0
  expect_output_contains 'step 9  loss'
  expect_equal 'who reported' "$(sed -n 's/^rank \([0-9]*\) of .*/\1/p' <<<"$OUTPUT" | sort -n | paste -sd' ')" \
    "$(seq -s' ' 0 $(($1 - 1)))"
  expect_equal 'number of different weights' \
    "$(sed -n "s/^rank [0-9]* of $1: weights //p" <<<"$OUTPUT" | sort -u | wc -l)" 1
}

run "srun -K -N2 --ntasks-per-node=2 --distinit $python $examples/ddp.py"
ranks_agree 4

run 'printf "%s\n" n1 n1 n1 n2 n2 >hosts'
run "SLURM_HOSTFILE=hosts srun -K -m arbitrary -n5 --distinit=dp bash -c 'echo node \$DISTINIT_NODE of \$LOCAL_WORLD_SIZE; exec $python $examples/ddp.py'"
ranks_agree 5
expect_equal 'ranks on n1' "$(grep -c 'node n1 of 3' <<<"$OUTPUT")" 3
expect_equal 'ranks on n2' "$(grep -c 'node n2 of 2' <<<"$OUTPUT")" 2

run "srun -K -N2 --ntasks-per-node=2 --distinit=torch.store=rank0 $python $examples/ddp.py"
ranks_agree 4

final_loss() { sed -n 's/^final loss //p' <<<"$OUTPUT"; }

run "$python $examples/train.py --reference --float64"
expect_status 0
reference=$(final_loss)
[[ $reference =~ ^0\.0[0-9]{11}$ ]] || fail "the single process's loss is '$reference'"
run "srun -K -N2 --ntasks-per-node=2 --distinit=tp2,dp2 $python $examples/train.py --float64"
expect_status 0
expect_equal 'the loss of tp2,dp2' "$(final_loss)" "$reference"
expect_output_contains 'rank 0 on n1, local rank 0: tp=0 dp=0, tp group {0,1}, dp group {0,2}, cpu'
expect_output_contains 'rank 3 on n2, local rank 1: tp=1 dp=1, tp group {2,3}, dp group {1,3}, cpu'

# The other way round, tp groups lie across the nodes: other groups, a warning, the same loss.
run "srun -K -N2 --ntasks-per-node=2 --distinit=dp2,tp2,torch.store=rank0 $python $examples/train.py --float64"
expect_status 0
expect_equal 'the loss of dp2,tp2' "$(final_loss)" "$reference"
expect_output_contains 'rank 1 on n1, local rank 1: dp=1 tp=0, tp group {1,3}, dp group {0,1}, cpu'
no_processes_left
