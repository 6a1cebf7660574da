# SPDX-License-Identifier: Apache-2.0
"""The texts of the files that a cluster reads: Slurm's configuration and a few of /etc."""

import os

from . import settings


def slurm_conf(wishes, scratch):
    """slurm.conf; the user's --conf lines replace lines of the same key or are added."""
    login = f"{settings.LOGIN_HOST}({settings.ipv4(settings.LOGIN_NUMBER)})"
    values = {
        "ClusterName": "private",
        "SlurmctldHost": login,
        "SlurmctldPort": "6817",
        "SlurmdPort": "6818",
        "SlurmUser": "root",
        "SlurmdUser": "root",
        "AuthType": "auth/munge",
        "CredType": "cred/munge",
        "AuthInfo": f"socket={scratch}/munge/socket",
        "StateSaveLocation": f"{scratch}/state",
        "SlurmdSpoolDir": f"{scratch}/spool/%n",
        "SlurmctldPidFile": f"{scratch}/run/slurmctld.pid",
        "SlurmdPidFile": f"{scratch}/run/slurmd.%n.pid",
        "SlurmctldLogFile": f"{scratch}/log/slurmctld.log",
        "SlurmdLogFile": f"{scratch}/log/slurmd.%n.log",
        "SlurmctldDebug": "info",
        "SlurmdDebug": "verbose",
        "PlugStackConfig": f"{scratch}/plugstack.conf",
        "ProctrackType": f"proctrack/{wishes.proctrack}",
        "TaskPlugin": "task/affinity" if wishes.task_affinity else "task/none",
        "SelectType": "select/cons_tres",
        "SelectTypeParameters": "CR_CPU",
        "SlurmdParameters": "config_overrides",
        "MpiDefault": "none",
        "MailProg": "/bin/true",
        "ReturnToService": "2",
        # A node that dies is noticed within a test's patience, a busy machine is not called dead.
        "SlurmdTimeout": "30",
        "MessageTimeout": "20",
        "InactiveLimit": "0",
        "KillWait": "3",
        "MinJobAge": "30",
        "CompleteWait": "0",
        # sbatch and het jobs start at once instead of at the scheduler's next round.
        "SchedulerType": "sched/backfill",
        "SchedulerParameters": "batch_sched_delay=0,sched_min_interval=0,sched_interval=1,"
        "bf_interval=1,bf_hetjob_immediate",
    }
    if wishes.ports:
        values["MpiParams"] = "ports=12000-12999"
    if wishes.gpus:
        values["GresTypes"] = "gpu"
    added = []
    for line in wishes.conf:
        key, equals, value = line.partition("=")
        if not equals:
            raise settings.ClusterError(f"--conf wants Key=Value, not '{line}'")
        if key in values:
            values[key] = value
        else:
            added.append(line)
    lines = [f"{key}={value}" for key, value in values.items()] + added
    gres = f" Gres=gpu:{wishes.gpus}" if wishes.gpus else ""
    for number, name in enumerate(settings.node_names(wishes), start=1):
        lines.append(
            f"NodeName={name} NodeAddr={settings.ipv4(number)} CPUs={wishes.cpus} Boards=1 "
            f"SocketsPerBoard=1 CoresPerSocket={wishes.cpus} ThreadsPerCore=1{gres}"
        )
    lines.append("PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP")
    return "\n".join(lines) + "\n"


def gres_conf(wishes, scratch):
    # Only for character devices does Slurm set CUDA_VISIBLE_DEVICES.
    if not wishes.gpus:
        return ""
    return f"Name=gpu File={scratch}/dev/nvidia[0-{wishes.gpus - 1}]\n"


def plugstack_conf(wishes, scratch):
    """Our plugin's line, unless a --plugstack line names it, then the lines of --plugstack.

    @BUILD@ and @DIR@ in a line stand for the build folder and the scratch directory.
    """
    lines = []
    if settings.has_plugin() and not any("distinit.so" in line for line in wishes.plugstack):
        lines.append("required @BUILD@/distinit.so helper=@BUILD@/distinit")
    lines += wishes.plugstack
    text = "".join(line + "\n" for line in lines)
    return text.replace("@BUILD@", f"{scratch}/build").replace("@DIR@", scratch)


def hosts(wishes, own_name):
    """/etc/hosts as Debian's installer leaves it: a host's own name is 127.0.1.1."""
    lines = ["127.0.0.1 localhost", "::1 localhost ip6-localhost"]
    if own_name != settings.LOGIN_HOST:
        lines.append(f"127.0.1.1 {own_name}")
    numbers = {settings.LOGIN_HOST: settings.LOGIN_NUMBER}
    numbers.update((name, i) for i, name in enumerate(settings.node_names(wishes), start=1))
    if wishes.dns:
        for name, number in numbers.items():
            if name == own_name and name != settings.LOGIN_HOST:
                continue
            if wishes.ipv6:
                lines.append(f"{settings.ipv6(number)} {name}")
            lines.append(f"{settings.ipv4(number)} {name}")
    return "\n".join(lines) + "\n"


def passwd(scratch):
    """The machine's users and the two of the tests."""
    own = [
        f"{name}:x:{uid}:{uid}:test user:{scratch}/home/{name}:/bin/bash\n"
        for name, uid in settings.USERS.items()
    ]
    return _without_test_users("/etc/passwd") + "".join(own)


def group(scratch):
    del scratch
    return _without_test_users("/etc/group") + "".join(
        f"{name}:x:{uid}:\n" for name, uid in settings.USERS.items()
    )


def _without_test_users(path):
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        return "".join(line for line in file if line.split(":")[0] not in settings.USERS)


def write_all(wishes, scratch):
    """Fills a fresh scratch directory; every file is readable by the test users."""
    for folder in ("etc", "log", "run", "state", "spool", "munge", "home", "dev", "build", "src"):
        os.mkdir(os.path.join(scratch, folder), 0o755)
    os.mkdir(os.path.join(scratch, "tmp"))
    os.chmod(os.path.join(scratch, "tmp"), 0o1777)
    for name, uid in settings.USERS.items():
        home = os.path.join(scratch, "home", name)
        os.mkdir(home, 0o755)
        os.chown(home, uid, uid)
    texts = {
        "slurm.conf": slurm_conf(wishes, scratch),
        "gres.conf": gres_conf(wishes, scratch),
        # Nothing here uses cgroups, but slurmd wants to know their kind. Said so, it looks no further,
        # and starts on machines of every kind.
        "cgroup.conf": "CgroupPlugin=cgroup/v1\n",
        "plugstack.conf": plugstack_conf(wishes, scratch),
        "etc/passwd": passwd(scratch),
        "etc/group": group(scratch),
        # No name service but files: a name that is not there fails at once, and nothing leaves
        # the cluster.
        "etc/nsswitch.conf": "passwd: files\ngroup: files\nshadow: files\nhosts: files\n",
    }
    for name in [settings.LOGIN_HOST] + settings.node_names(wishes):
        texts[f"etc/hosts.{name}"] = hosts(wishes, name)
    for name, text in texts.items():
        with open(os.path.join(scratch, name), "w", errors="surrogateescape") as file:
            file.write(text)
    for name in settings.node_names(wishes):
        os.mkdir(os.path.join(scratch, "spool", name), 0o755)
    for index in range(wishes.gpus):
        os.mknod(os.path.join(scratch, "dev", f"nvidia{index}"), 0o020666, os.makedev(1, 3))
    key = os.open(os.path.join(scratch, "munge", "key"), os.O_WRONLY | os.O_CREAT, 0o600)
    os.write(key, os.urandom(1024))
    os.close(key)
