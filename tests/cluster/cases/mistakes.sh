# SPDX-License-Identifier: Apache-2.0
# cluster: 3 nodes
# needs: plugin
# timeout: 120
# What users write wrongly: each mistake ends in srun, before anything starts, with one message.
. "$(dirname "$0")/../lib.sh"

# refused STATUS MESSAGE HINT SRUN-ARGUMENTS…
refused() {
  run "srun $4 echo started"
  expect_status "$1"
  expect_output_lacks started
  expect_output_contains "distinit: $2"
  expect_output_contains "hint: $3"
  expect_equal "messages of: $4" "$(grep -c 'distinit: hint: ' <<<"$OUTPUT")" 1
}

refused 255 "unknown dimension 'tpp' in 'tpp2'" "did you mean 'tp2'?" '-n4 --distinit=tpp2,dp2'
refused 255 "unknown option 'timeot' in 'timeot=3'" "did you mean 'timeout=3'?" '-n4 --distinit=dp,timeot=3'
refused 255 '--distinit= is empty' 'write --distinit for one dp over all ranks' '-n4 --distinit='
refused 255 "dimension 'dp' is given twice ('dp2' and 'dp2')" 'leave one of them out' '-n4 --distinit=dp2,dp2'
refused 255 "" "" '-n4 --distinit=tp2,,dp2'
refused 255 "" "" '-n4 --distinit=tp,dp'
refused 1 'tp2,dp2 needs 4 ranks, the step has 6' '' '-N3 -n6 --distinit=tp2,dp2'
refused 1 'tp2,dp2 needs 4 ranks, the step has 2' 'run 4 tasks (-n 4)' '-n2 --distinit=tp2,dp2'
refused 1 '' '' '-n5 --distinit=tp2,dp'
expect_output_contains '5'

# A megabyte does not fit into one argument (128 KiB): as long as it can be, and as a default by the environment.
run 'srun -n1 --distinit=$(head -c 120000 /dev/zero | tr "\0" x) echo started'
expect_status 255
expect_output_lacks started
expect_output_contains 'distinit: SPEC of 120000 bytes, at most 8192 are read'
# Slurm itself repeats the argument; we do not.
[[ $(grep distinit: <<<"$OUTPUT" | wc -c) -lt 500 ]] || fail 'the message repeats the SPEC'
run 'SLURM_DISTINIT=$(head -c 120000 /dev/zero | tr "\0" x) srun -n1 --distinit echo started'
expect_failure
expect_output_lacks started
expect_output_contains 'SLURM_DISTINIT'
run 'head -c 1000000 /dev/zero | tr "\0" x >spec; xargs -a spec -n1 -s 1100000 $CLUSTER_BUILD/distinit plan --nodes n1 --tasks-per-node 1 2>&1 | cut -c1-300'
[[ ${#OUTPUT} -lt 1000 ]] || fail 'the message repeats the SPEC'

# A wrong level of the log, on the node: one message, status 2, from all tasks.
run 'DISTINIT_LOG=inof srun -N2 -n4 --distinit echo started'
expect_status 2
expect_output_lacks started
expect_output_contains "distinit: DISTINIT_LOG: unknown level 'inof'"
expect_equal messages "$(grep -c 'did you mean' <<<"$OUTPUT")" 1

# The program: one message for all ranks, a shell's status.
run 'srun -N3 -n6 --distinit=tp2,dp no-such-program'
expect_status 127
expect_output_matches 'distinit: rank [0-5] on n[1-3]: can.t run .no-such-program.: No such file or directory'
expect_equal messages "$(grep -c 'distinit: hint: ' <<<"$OUTPUT")" 1
run 'srun -N3 -n6 --distinit=tp2,dp /etc/hosts'
expect_status 126
expect_output_matches 'distinit: rank [0-5] on n[1-3]: can.t run ./etc/hosts.: Permission denied'
expect_equal messages "$(grep -c 'distinit: hint: ' <<<"$OUTPUT")" 1

# World size 1 is a world.
run 'srun -n1 --distinit=tp1,dp bash -c "echo \$RANK/\$WORLD_SIZE \$MASTER_ADDR \$DISTINIT_MESH"'
expect_status 0
expect_equal output "$OUTPUT" '0/1 127.0.0.1 tp=1,dp=1'
no_processes_left
