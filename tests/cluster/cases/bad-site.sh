# SPDX-License-Identifier: Apache-2.0
# cluster: none
# needs: plugin
# timeout: 120
# A site's mistakes in plugstack.conf: jobs without --distinit run as ever, those with it end with one message.
. "$(dirname "$0")/../lib.sh"
export DISTINIT_CLUSTER=bad-site
trap '"$CLUSTER" down' EXIT

site() {
  "$CLUSTER" down
  "$CLUSTER" up 2 --plugstack "required @BUILD@/distinit.so $1" || fail "no cluster with $1"
  run 'srun -N2 --ntasks-per-node=2 echo it runs'
  expect_status 0
  expect_sorted_output 'it runs' 'it runs' 'it runs' 'it runs'
  LIMIT=6 run 'srun -N2 --ntasks-per-node=2 --distinit=tp2,dp echo it runs'
  expect_failure
  expect_output_lacks 'it runs'
  no_processes_left
}

echo "--- an argument that does not exist"
site 'helpr=@BUILD@/distinit'
expect_status 1
expect_output_contains "helpr"
expect_output_contains "did you mean 'helper="
expect_equal hints "$(grep -c 'hint: ' <<<"$OUTPUT")" 1

echo "--- a SPEC that is none"
site 'helper=@BUILD@/distinit spec=tpp2'
expect_status 1
expect_output_contains "unknown dimension 'tpp' in 'tpp2'"
expect_equal hints "$(grep -c 'hint: ' <<<"$OUTPUT")" 1

echo "--- no helper at all, a helper that is nowhere, one that may not be executed: one message a node"
for kind in '' 'helper=/no/such/distinit stage=@BUILD@/distinit-stage' \
  'helper=/etc/hosts stage=@BUILD@/distinit-stage' 'helper=@BUILD@/distinit stage=/no/such/stage'; do
  site "$kind"
  for node in n1 n2; do
    expect_equal "messages of $node" "$(grep -c "distinit: $node: " <<<"$OUTPUT")" 1
  done
  expect_equal hints "$(grep -c 'distinit: hint: ' <<<"$OUTPUT")" 2
done
