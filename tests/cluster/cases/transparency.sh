# SPDX-License-Identifier: Apache-2.0
# cluster: 3 nodes
# needs: plugin
# timeout: 180
# The program is started as if nothing of ours were there: what it is, what it has, and how it ends. Each view
# is taken twice, without --distinit and with it, which leaves the CPUs alone here. Rank 0 of several nodes has the stage as its parent, the
# others are the very process that Slurm made.
. "$(dirname "$0")/../lib.sh"

# same_view WHAT SRUN-ARGUMENTS…: the command prints the same with --distinit, rank by rank, and ends alike.
same_view() {
  local what=$1 plain status
  shift
  run "srun $*"
  plain=$(printf '%s\n' "$OUTPUT" | LC_ALL=C sort) status=$STATUS
  run "srun --distinit=bind=none $*"
  expect_equal "$what, the status" "$STATUS" "$status"
  expect_equal "$what" "$(printf '%s\n' "$OUTPUT" | LC_ALL=C sort)" "$plain"
}

run 'cat >view.py <<"END"
"""What the kernel says of this process."""
import os, resource, sys
rank = os.environ["SLURM_PROCID"]
def say(*words): print(rank, *words, flush=True)
say("argv", sys.argv[1:])
say("cwd", os.getcwd())
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
for key in ("SigBlk", "SigIgn", "SigCgt", "Uid", "Gid", "Groups", "NoNewPrivs", "Seccomp", "Cpus_allowed", "CapEff"):
    say(key, status[key].split())
say("umask", status["Umask"].split())
for name in sorted(name for name in dir(resource) if name.startswith("RLIMIT_")):
    say(name, resource.getrlimit(getattr(resource, name)))
for fd in sorted(os.listdir("/proc/self/fd"), key=int):
    try:
        say("fd", fd, os.readlink("/proc/self/fd/" + fd).split(":")[0])
    except FileNotFoundError:
        pass  # the one that listed them
say("oom", open("/proc/self/oom_score_adj").read().strip(), "nice", os.nice(0))
say("comm", open("/proc/self/comm").read().strip(), open("/proc/self/cmdline").read().split("\0"))
say("is SLURM_TASK_PID", os.environ["SLURM_TASK_PID"] == str(os.getpid()), "leads", os.getpgid(0) == os.getsid(0) or "-")
children = open("/proc/self/task/%d/children" % os.getpid()).read().split()
say("children", children)
END
cat >end.sh <<"END"
#!/bin/bash
# exit RANK STATUS, or kill RANK SIGNAL: that rank ends so, the others well.
ulimit -c 0
if ((SLURM_PROCID == $2)); then
  if [[ $1 = exit ]]; then exit $3; fi
  kill -$3 $$
fi
END
cat >signalled.sh <<"END"
#!/bin/bash
# Ends at SIGUSR1 or SIGUSR2, and says so.
trap "echo \$SLURM_PROCID USR1 >>signals; exit 0" USR1
trap "echo \$SLURM_PROCID USR2 >>signals; exit 0" USR2
echo $SLURM_PROCID >>started
for ((i = 0; i < 200; i++)); do sleep 0.1; done
END
chmod +x end.sh signalled.sh'
python='/usr/bin/python3 view.py'
same_view 'one process'  "-N2 -n4 $python 'a b' '' '\"q\"' '*' 'x=\$HOME' --distinit -n7"
same_view 'the signals' "-N2 -n4 -l grep -E '^(Sig|Shd)(Blk|Ign|Cgt|Pnd)' /proc/self/status"
# The one process of ours among the program's ancestors can be told by its name.
run 'srun --distinit -N2 -n2 bash -c "echo \$SLURM_PROCID \$(ps -o comm= -p \$PPID)"'
expect_sorted_output '0 distinit-stage' '1 slurmstepd'
same_view 'another folder, and a program found on PATH' "-N2 -n2 -D /usr --export=ALL,PATH=/nowhere:/bin pwd"

same_view 'input for all' "-N2 -n4 -l cat <<<'one
two'"
same_view 'input for rank 3' "-N2 -n4 -l --input=3 cat <<<one"
same_view 'input from a file' "-N2 -n4 -l --input=end.sh tail -n 1"
same_view 'output' "-N2 -n4 -l bash -c 'echo out; echo err >&2' 2>err; sed 's/^/err /' err"
same_view 'output files' "-N2 -n4 -o out.%t bash -c 'echo \$SLURM_PROCID'; cat out.0 out.1 out.2 out.3"

for end in 'exit 0 41' 'exit 3 42' 'kill 0 SEGV' 'kill 3 ABRT'; do
  same_view "end.sh $end" "-N2 -n4 ./end.sh $end 2>&1 | sed -E 's/StepId=[0-9.]+//; s/^slurmstepd: .*CANCELLED.*//'; exit \${PIPESTATUS[0]}"
done
[[ $OUTPUT == *Aborted* ]] || fail "srun does not tell of the signal"
same_view 'the first that fails ends all' \
  "-K -N2 -n4 bash -c 'if ((SLURM_PROCID == 2)); then exit 43; fi; sleep 30' >/dev/null 2>&1; echo \$?"
# 143 is Slurm's own way of telling.
expect_sorted_output 143

# A signal to the step, and one to srun, reaches the program of every rank.
for way in 'scancel -s USR1 $(squeue -h -o %i)' 'kill -USR2 $!'; do
  run "rm -f signals started; srun --distinit -N2 -n4 ./signalled.sh & 
       until [[ \$(wc -l <started) = 4 ]]; do sleep 0.1; done 2>/dev/null; $way; wait \$!; echo \$?; sort signals"
  signal=$(grep -o 'USR.' <<<"$way")
  expect_output_matches "0"$'\n'"0 $signal"$'\n'"1 $signal"$'\n'"2 $signal"$'\n'"3 $signal\$"
done

# Limits: as without us, or as the SPEC asks.
run 'ulimit -Sn 1000; ulimit -c unlimited
     srun --distinit -N2 -n2 bash -c "echo \$(ulimit -Sn) \$(ulimit -c)"
     srun --distinit=limit.nofile=1500 -n1 bash -c "ulimit -Sn"
     srun --distinit=limit.nofile=max -n1 bash -c "[[ \$(ulimit -Sn) = \$(ulimit -Hn) ]] && echo max"'
expect_sorted_output '1000 unlimited' '1000 unlimited' 1500 max
if [[ $(cat /proc/sys/kernel/core_pattern) != [/\|]* ]]; then
  run 'ulimit -c unlimited
       srun --distinit -N2 -n2 bash -c "mkdir -p cores/\$SLURM_PROCID; cd cores/\$SLURM_PROCID; kill -SEGV \$\$" >/dev/null 2>&1
       echo $?; find cores -type f | wc -l; rm -rf cores'
  expect_output_matches $'139\n2$'
fi

# A terminal for rank 0: its size, job control, and the shell's status.
run 'cat >terminal.py <<"END"
"""Runs a command on a terminal of 33 lines and 101 columns; answers each thing that it waits for."""
import fcntl, os, pty, select, struct, sys, termios, time
pid, master = pty.fork()
if pid == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 101, 0, 0))
    os.execvp(sys.argv[1], sys.argv[1:])
seen, until = "", time.monotonic() + 20
def wait_for(text):
    global seen
    while text not in seen:
        if not select.select([master], [], [], max(0, until - time.monotonic()))[0]:
            sys.exit("gave up waiting for %r after %r" % (text, seen))
        seen += os.read(master, 65536).decode()
    seen = seen[seen.index(text) + len(text):]
for send, wait in [("", "$ "), ("stty size; tty\n", "33 101\r\n/dev/pts/"), ("sleep 100; echo ove\"\"r\n", "\n"),
                   ("\x1a", "Stopped"), ("jobs | wc -l\n", "1\r\n"), ("bg >/dev/null; kill %1\n", "$ "),
                   ("sleep 50\n", "\n"), ("\x03", "$ "), ("exit 44\n", "exit")]:
    os.write(master, send.encode())
    wait_for(wait)
    time.sleep(0.1)
status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
print("the shell ended with", status)
END'
run "python3 terminal.py srun --distinit --pty -N2 -n2 env PS1='$ ' bash --norc --noprofile --noediting"
expect_sorted_output 'the shell ended with 44'
no_processes_left
