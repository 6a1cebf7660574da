# SPDX-License-Identifier: Apache-2.0
"""Bringing a cluster up, entering it, and taking it down.

The whole cluster lives below one process: `unshare`, whose child is process 1 of the login host's
namespaces; the nodes' namespaces are below those. Killing that child makes the kernel end every
process of the cluster, and with the last one go its networks and mounts. Nothing has a name
outside: no entry in /run/netns, no link in the machine's own network.
"""

import os
import select
import shutil
import signal
import subprocess
import tempfile
import time

from . import config_files, settings
from .settings import ClusterError

UP_DEADLINE_S = 30
DOWN_DEADLINE_S = 20
PATH = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"
NEEDED = ("unshare", "nsenter", "setpriv", "ip", "munged", "slurmctld", "slurmd", "srun")


def up(wishes, state):
    """Returns the scratch directory of a cluster whose nodes are all idle."""
    if os.geteuid() != 0:
        raise ClusterError("a private cluster needs root: namespaces, munge, slurmd")
    missing = [tool for tool in NEEDED if not shutil.which(tool, path=PATH)]
    if missing:
        raise ClusterError(f"missing: {', '.join(missing)}; run 'make deps'")
    if state.read() is not None:
        raise ClusterError(f"cluster '{state.name}' is there already; 'cluster down' ends it")
    scratch = None
    try:
        scratch = tempfile.mkdtemp(prefix="distinit-cluster.")
        state.write({"scratch": scratch})
        os.chmod(scratch, 0o755)
        config_files.write_all(wishes, scratch)
        _start(wishes, scratch, state)
        _wait_for_idle_nodes(wishes, state)
    except BaseException as failure:
        # No second interruption may leave half a cluster behind.
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        tail = log_tail(scratch) if isinstance(failure, ClusterError) and scratch else ""
        if state.read() is not None:
            down(state)
        elif scratch:
            _remove_tree(scratch)
        if tail:
            raise ClusterError(f"{failure}\n{tail}") from failure
        raise
    return scratch


def down(state):
    """Ends the cluster and removes every trace; does nothing when there is none."""
    values = state.read()
    if values is None:
        return
    pid = values.get("pid")
    if pid and _start_time(pid) == values["started"]:
        _end(pid)
    _remove_tree(values["scratch"])
    state.remove()


def enter_command(state, node=None):
    """The argv prefix that runs a command on the login host, or on node number `node`."""
    values = require(state)
    argv = _nsenter(values["pid"])
    if node is not None:
        if not 1 <= node <= values["nodes"]:
            raise ClusterError(f"node {node} is not one of 1 to {values['nodes']}")
        path = os.path.join(values["scratch"], "run", f"n{node}.pid")
        with open(path, encoding="ascii") as file:
            argv += _nsenter(int(file.read()))
    return argv


def environment(state, home="/root", user="root"):
    """A small environment, the same on every machine; the caller's own is left behind."""
    scratch = require(state)["scratch"]
    kept = {
        name: value
        for name, value in os.environ.items()
        if name in ("TERM", "LANG", "COLUMNS", "LINES")
        # OpenBLAS picks wrong kernels for some processors unless it is told.
        or name.startswith(("LC_", "OPENBLAS_"))
    }
    return {
        **kept,
        "PATH": PATH,
        "HOME": home,
        "USER": user,
        "LOGNAME": user,
        "SHELL": "/bin/bash",
        "TMPDIR": f"{scratch}/tmp",
        "SLURM_CONF": f"{scratch}/slurm.conf",
        "CLUSTER_DIR": scratch,
        "CLUSTER_BUILD": f"{scratch}/build",
        "CLUSTER_SOURCE": f"{scratch}/src",
    }


def require(state):
    values = state.read()
    if values is None or "pid" not in values:
        raise ClusterError(f"there is no cluster '{state.name}'; 'cluster up' makes one")
    if _start_time(values["pid"]) != values["started"]:
        raise ClusterError(f"cluster '{state.name}' has died; 'cluster down' clears it away")
    return values


def log_tail(scratch, lines=15):
    """The last lines of every log that has any; what a daemon said on stderr only if it has none."""
    parts = []
    folder = os.path.join(scratch, "log")
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    for name in names:
        if name.endswith(".err") and name.removesuffix(".err") + ".log" in names:
            continue
        with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as file:
            last = file.readlines()[-lines:]
        if last:
            parts.append(f"--- {name}\n" + "".join(last))
    return "\n".join(parts)


def _start(wishes, scratch, state):
    """Starts the login host's process 1 and writes down what identifies it."""
    init = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(__file__))), "login-init")
    env = {
        "PATH": PATH,
        "SCRATCH": scratch,
        "SLURM_CONF": f"{scratch}/slurm.conf",
        "SOURCE": settings.SOURCE,
        "BUILD": settings.build_dir(),
        "NODES": str(wishes.nodes),
        "IPV6": "1" if wishes.ipv6 else "0",
    }
    spaces = ["--net", "--uts", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child"]
    # An interruption waits until the process is written down, or nobody would end it.
    unblocked = signal.pthread_sigmask(
        signal.SIG_BLOCK, [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
    )
    try:
        with open(os.path.join(scratch, "log", "login.err"), "ab") as log:
            process = subprocess.Popen(
                ["unshare", *spaces, init],
                env=env,
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_SETMASK, unblocked),
            )
        state.write(
            {
                "scratch": scratch,
                "pid": process.pid,
                "started": _start_time(process.pid),
                "nodes": wishes.nodes,
            }
        )
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, unblocked)


def _nsenter(pid):
    # `pid` is the unshare process; only its children are in the process namespace it made.
    folder = f"/proc/{pid}/ns"
    return [
        "nsenter",
        f"--net={folder}/net",
        f"--uts={folder}/uts",
        f"--mount={folder}/mnt",
        f"--pid={folder}/pid_for_children",
    ]


def _wait_for_idle_nodes(wishes, state):
    deadline = time.monotonic() + UP_DEADLINE_S
    scratch = require(state)["scratch"]
    ready = os.path.join(scratch, "run", "controller-listens")
    seen = ""
    while time.monotonic() < deadline:
        require(state)
        ended = [name for name in os.listdir(f"{scratch}/run") if name.endswith(".ended")]
        if ended:
            raise ClusterError(f"{ended[0].removesuffix('.ended')} ended at once")
        if os.path.exists(ready):
            seen = _node_states(state)
            if seen.split() == ["idle"] * wishes.nodes:
                return
        time.sleep(0.02)
    raise ClusterError(f"the nodes are not idle after {UP_DEADLINE_S} s: {' '.join(seen.split())}")


def _node_states(state):
    """What sinfo says of each node, or its complaint."""
    try:
        result = subprocess.run(
            [*enter_command(state), "sinfo", "-h", "-N", "-o", "%T"],
            env=environment(state),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=UP_DEADLINE_S / 3,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "sinfo got no answer"
    return result.stdout + result.stderr


def _start_time(pid):
    """Field 22 of /proc/PID/stat, with the pid a process's identity; None when it is gone."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else fields[19]


def _end(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        children = [int(word) for word in file.read().split()]
    descriptor = os.pidfd_open(pid)
    try:
        for victim in children or [pid]:
            os.kill(victim, signal.SIGKILL)
        # unshare ends after its child, and that one after the last process of the cluster.
        if not select.select([descriptor], [], [], DOWN_DEADLINE_S)[0]:
            raise ClusterError(f"process {pid} of the cluster does not end")
    finally:
        os.close(descriptor)


def _remove_tree(scratch):
    with open("/proc/mounts", encoding="utf-8", errors="replace") as file:
        mounts = [line.split()[1] for line in file if line.split()[1].startswith(scratch + "/")]
    if mounts:
        raise ClusterError(f"still mounted, so {scratch} stays: {', '.join(mounts)}")
    subprocess.run(["rm", "-rf", "--one-file-system", scratch], check=True, timeout=60)
