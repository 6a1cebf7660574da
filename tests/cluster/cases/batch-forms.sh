# SPDX-License-Identifier: Apache-2.0
# cluster: 3 nodes
# needs: plugin
# timeout: 120
# A SPEC given to sbatch or salloc is for the sruns inside; SLURM_DISTINIT holds defaults; --export keeps all of it.
. "$(dirname "$0")/../lib.sh"

# told 'LINE' …: what the ranks printed, in any order, and nothing else but Slurm's own lines.
told() {
  OUTPUT=$(grep -v -e '^srun: ' -e '^salloc: ' <<<"$OUTPUT")
  expect_sorted_output "$@"
}

run 'cat >show.sh <<"END"
#!/bin/bash
echo "$1 ${RANK-none}/${WORLD_SIZE-none} ${DISTINIT_MESH-none}"
END
chmod +x show.sh
cat >batch.sh <<"END"
#!/bin/bash
env | grep -E "^(RANK|MASTER_|DISTINIT|TORCHELASTIC)" && echo "the batch step was touched"
srun ./show.sh inner
srun --distinit=dp ./show.sh override
END

run 'sbatch -W -N2 --ntasks-per-node=2 --distinit=tp2,dp2 -o out batch.sh; echo "status $?"; cat out'
OUTPUT=$(grep -v ^Submitted <<<"$OUTPUT")
expect_sorted_output 'status 0' 'inner 0/4 tp=2,dp=2' 'inner 1/4 tp=2,dp=2' 'inner 2/4 tp=2,dp=2' 'inner 3/4 tp=2,dp=2' \
  'override 0/4 dp=4' 'override 1/4 dp=4' 'override 2/4 dp=4' 'override 3/4 dp=4'
run 'sbatch -W -N1 -n2 --distinit -o out --wrap "srun ./show.sh bare"; echo "status $?"; cat out'
OUTPUT=$(grep -v ^Submitted <<<"$OUTPUT")
expect_sorted_output 'status 0' 'bare 0/2 dp=2' 'bare 1/2 dp=2'
run 'salloc -N2 -n2 --distinit=tp2 bash -c "./show.sh shell; srun ./show.sh inner; srun --distinit=pp2 ./show.sh override"'
told 'shell none/none none' 'inner 0/2 tp=2' 'inner 1/2 tp=2' 'override 0/2 pp=2' 'override 1/2 pp=2'

# Defaults: the variable alone starts nothing; with the option, the command line wins item by item.
run 'export SLURM_DISTINIT=tp2,timeout=99; srun -n2 ./show.sh plain; srun -n2 --distinit ./show.sh bare
     srun -n2 --distinit=dp2 printenv DISTINIT_SPEC; srun -n2 --distinit=tp1,dp2,timeout=98 printenv DISTINIT_SPEC'
told 'plain none/none none' 'plain none/none none' 'bare 0/2 tp=2' 'bare 1/2 tp=2' \
  dp2,timeout=99 dp2,timeout=99 tp1,dp2,timeout=98 tp1,dp2,timeout=98

# SLURM_DISTINIT without the option changes nothing in a task but itself; the ids are the steps' own.
run 'strip() { sort | grep -v -E "^SLURM_(STEP_?ID|STEP_RESV_PORTS|TASK_PID|SRUN_COMM_PORT|STEP_LAUNCHER_PORT)="; }
     salloc -n1 bash -c "srun env >without; SLURM_DISTINIT=tp2 srun env >with"
     diff <(strip <without) <(strip <with) | grep "^[<>]"'
told '> SLURM_DISTINIT=tp2'

# What reaches the tasks under --export; nothing of ours on the way stays in the program's environment.
for export in NONE FOO=1 ALL,FOO=1; do
  run "srun -N2 -n2 --export=$export --distinit=dp2 /usr/bin/env | grep -E '^(RANK|WORLD_SIZE|FOO|SLURM_DISTINIT|SLURM_SPANK)'"
  case $export in
    NONE) expect_sorted_output RANK=0 RANK=1 WORLD_SIZE=2 WORLD_SIZE=2 ;;
    *) expect_sorted_output RANK=0 RANK=1 WORLD_SIZE=2 WORLD_SIZE=2 FOO=1 FOO=1 ;;
  esac
done
no_processes_left
