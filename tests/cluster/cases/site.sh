# SPDX-License-Identifier: Apache-2.0
# cluster: none
# needs: plugin
# timeout: 120
# What a site adds: defaults in plugstack.conf, a TaskProlog that sets our variables, and a container plugin after
# ours, whose image has neither our files nor any library. The last two can't undo what the stage applies.
. "$(dirname "$0")/../lib.sh"
own_cluster site
doubles=$(dirname "$CLUSTER")/doubles
mkdir -p "$dir/root/proc" "$dir/root/dev"
# slurmstepd opens it for the TaskProlog.
install -m 0666 /dev/null "$dir/root/dev/null"
cc -shared -fPIC -Wall -o "$dir/container_plugin_double.so" "$doubles/container_plugin_double.c" || fail 'no plugin'
cc -static -Wall -o "$dir/root/program" "$doubles/image_program_double.c" || fail 'no program'
cc -static -Wall -o "$dir/task_prolog" "$doubles/task_prolog_double.c" || fail 'no prolog'
mkdir -p "$dir/root$dir"
cp "$dir/task_prolog" "$dir/root$dir/"
"$CLUSTER" up 2 --conf "TaskProlog=$dir/task_prolog" \
  --plugstack 'required @BUILD@/distinit.so helper=@BUILD@/distinit spec=tp2 timeout=77' \
  --plugstack "required $dir/container_plugin_double.so root=$dir/root" || fail 'no cluster'

# Each of the three places can say something; the later one wins, item by item.
run 'show="printenv DISTINIT_SPEC"
     srun -n2 --distinit $show; srun -n2 --distinit=timeout=5 $show
     export SLURM_DISTINIT=dp2,timeout=6; srun -n2 --distinit $show; srun -n2 --distinit=pp2 $show'
expect_status 0
expect_sorted_output tp2,timeout=77 tp2,timeout=77 tp2,timeout=5 tp2,timeout=5 dp2,timeout=6 dp2,timeout=6 \
  pp2,timeout=6 pp2,timeout=6

show='bash -c "echo \$RANK/\$WORLD_SIZE \$MASTER_ADDR \$DISTINIT_COORDS \$FROM_PROLOG \${SLURM_DISTINIT_SECRET-clean}
      ((MASTER_PORT > 1)) || echo its port"'
run "srun -N2 -n2 --distinit=tp2 $show"
expect_status 0
expect_sorted_output '0/2 10.20.0.1 tp=0 kept clean' '1/2 10.20.0.1 tp=1 kept clean'

# unshare shows whether this machine lets users have namespaces at all.
run 'unshare --user --mount true'
if [[ $STATUS != 0 ]]; then
  echo "skipped: this machine gives users no namespaces, so nothing can stand for a container"
  exit 0
fi
run 'ENTER_ROOT=1 srun -N2 --ntasks-per-node=2 --distinit=tp2,dp2 /program "a b" 2>errors'
expect_status 9
expect_sorted_output '0/4 10.20.0.1 tp=0,dp=0 inside same-pid a b' '1/4 10.20.0.1 tp=1,dp=0 inside same-pid a b' \
  '2/4 10.20.0.1 tp=0,dp=1 inside same-pid a b' '3/4 10.20.0.1 tp=1,dp=1 inside same-pid a b'
run 'ENTER_ROOT=1 srun -n1 --distinit=tp1 /no-such-program'
expect_status 127
expect_output_contains "rank 0 on n1: can't run '/no-such-program'"
no_processes_left
