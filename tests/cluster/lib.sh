# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What the cases of tests/cluster/cases use. A case is a bash script that sources this file, runs commands
# on its cluster and states what must come of them; the first thing that is not so ends it.
#
#   run 'srun -N2 hostname'            as alice on the login host; OUTPUT and STATUS hold what came
#   as bob 'srun hostname'             the same as another user
#   on_node 2 'pgrep -x slurmd'        the same as root on node n2
#   expect_status 0
#   expect_output_contains 'n1'
#
# All three end a command that takes longer than LIMIT seconds (default 30): STATUS is then 124.

set -u
CLUSTER=$(dirname "$(realpath "${BASH_SOURCE[0]}")")/cluster
OUTPUT=
STATUS=0

run() { as alice "$1"; }
as() { _capture "$1\$ $2" "$CLUSTER" run --user "$1" "$2"; }
on_node() { _capture "n$1# $2" "$CLUSTER" node "$1" "$2"; }

# Stdout and stderr together go to OUTPUT, and with the command to the case's log.
_capture() {
  echo "$1"
  shift
  STATUS=0
  OUTPUT=$(timeout -k 5 "${LIMIT:-30}" "$@" </dev/null 2>&1) || STATUS=$?
  printf '%s\n[status %s]\n' "$OUTPUT" "$STATUS"
}

fail() {
  echo "FAILED at line ${BASH_LINENO[-2]}: $*"
  exit 1
}

expect_status() {
  [[ $STATUS -eq $1 ]] || fail "status is $STATUS, not $1"
}

expect_failure() {
  [[ $STATUS -ne 0 && $STATUS -ne 124 ]] || fail "status is $STATUS, not that of a failure"
}

expect_output_contains() {
  [[ $OUTPUT == *"$1"* ]] || fail "the output lacks: $1"
}

expect_output_lacks() {
  [[ $OUTPUT != *"$1"* ]] || fail "the output has: $1"
}

# expect_output_matches REGEX: an extended regular expression, anywhere in the output.
expect_output_matches() {
  [[ $OUTPUT =~ $1 ]] || fail "the output does not match: $1"
}

# expect_sorted_output LINE…: these lines and no others, in any order.
expect_sorted_output() {
  local wanted got
  wanted=$(printf '%s\n' "$@" | LC_ALL=C sort)
  got=$(printf '%s\n' "$OUTPUT" | LC_ALL=C sort)
  [[ $got == "$wanted" ]] || fail "the output is not, in any order:"$'\n'"$wanted"
}

# expect_equal WHAT GOT WANTED
expect_equal() {
  [[ $2 == "$3" ]] || fail "$1 is '$2', not '$3'"
}

# expect_as_planned MASTER_ADDR SPEC --nodes …: report_rank's lines in the output are what `distinit plan` says
# with these arguments, and every rank has this MASTER_ADDR.
expect_as_planned() {
  local address=$1 plan found
  shift
  plan=$("$DISTINIT_BUILD/distinit" plan "$@" --json 2>/dev/null) || fail "no plan for: $*"
  found=$("$(dirname "$CLUSTER")/check_ranks" "$plan" "$address" <<<"$OUTPUT") ||
    fail "not as planned:"$'\n'"$found"
}

# ended SECONDS: the srun in the background, whose pid is $srun and whose output goes to $log, ends within that;
# STATUS and OUTPUT are its.
ended() {
  local until=$((SECONDS + $1))
  while kill -0 "$srun" 2>/dev/null; do
    ((SECONDS < until)) || { kill "$srun"; cat "$log"; fail "srun still runs after $1 s"; }
    sleep 0.05
  done
  STATUS=0
  wait "$srun" || STATUS=$?
  OUTPUT=$(<"$log")
  printf '%s\n[status %s]\n' "$OUTPUT" "$STATUS"
}

# wait_for WHAT SECONDS COMMAND…: tries COMMAND until it succeeds.
wait_for() {
  local what=$1 until=$((SECONDS + $2))
  shift 2
  until "$@"; do
    ((SECONDS < until)) || fail "gave up waiting for $what"
    sleep 0.1
  done
}

# Processes of the cluster that only live during a job: the test users', Slurm's step daemons, and all of ours.
job_processes() {
  timeout 20 "$CLUSTER" run --user root 'ps -e -o uid= -o pid= -o comm= -o args=' </dev/null |
    awk '$1 == 50001 || $1 == 50002 || $3 ~ /^(slurmstepd|distinit)/'
}

no_job_processes() { [[ -z $(job_processes) ]]; }

# no_processes_left [SECONDS]: all of them are gone, at the latest after SECONDS (default 10).
no_processes_left() {
  local until=$((SECONDS + ${1:-10}))
  until no_job_processes; do
    ((SECONDS < until)) || fail "processes are left:"$'\n'"$(job_processes)"
    sleep 0.1
  done
}

# own_cluster NAME: for a case that starts its cluster itself ("# cluster: none"). Commands go to the cluster of
# that name, $dir is a scratch folder that its users can enter, and both are gone when the case ends.
own_cluster() {
  export DISTINIT_CLUSTER=$1
  dir=$(mktemp -d -t "distinit-$1.XXXXXX")
  chmod 0755 "$dir"
  trap _end_own_cluster EXIT
}

_end_own_cluster() {
  local status=$?
  if ((status != 0)); then "$CLUSTER" logs | tail -n 30; fi
  "$CLUSTER" down
  rm -rf --one-file-system "$dir"
  exit "$status"
}
