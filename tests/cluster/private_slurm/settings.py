# SPDX-License-Identifier: Apache-2.0
"""What a cluster is made of: the wishes of the command line, and where things lie.

A cluster has a name. The state file of that name tells which scratch directory and which process
belong to it; everything else of the cluster lies in the scratch directory.
"""

import dataclasses
import json
import os
import stat

USERS = {"alice": 50001, "bob": 50002}
LOGIN_HOST = "login"
LOGIN_NUMBER = 254
MAX_NODES = 200
SOURCE = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))


class ClusterError(Exception):
    """What failed and why, in one line for the user."""


@dataclasses.dataclass
class Wishes:
    """The options of `cluster up`."""

    nodes: int = 2
    gpus: int = 0
    cpus: int = 8
    conf: list = dataclasses.field(default_factory=list)
    plugstack: list = dataclasses.field(default_factory=list)
    proctrack: str = "linuxproc"
    ports: bool = True
    task_affinity: bool = False
    ipv6: bool = False
    dns: bool = True


def node_names(wishes):
    return [f"n{number}" for number in range(1, wishes.nodes + 1)]


def ipv4(number):
    """Every cluster has the same addresses: its network is its own."""
    return f"10.20.0.{number}"


def ipv6(number):
    return f"fd00:20::{number:x}"


def build_dir():
    return os.path.realpath(os.environ.get("DISTINIT_BUILD") or os.path.join(SOURCE, "build"))


def has_plugin():
    return os.path.exists(os.path.join(build_dir(), "distinit.so"))


class State:
    """The state file of one named cluster."""

    def __init__(self, name):
        if not name or not name.replace("-", "").replace("_", "").isalnum():
            raise ClusterError(f"a cluster's name has letters, digits, - and _, not '{name}'")
        self.name = name
        base = os.environ.get("XDG_RUNTIME_DIR") or "/tmp"
        self.folder = os.environ.get("DISTINIT_CLUSTER_DIR") or os.path.join(
            base, f"distinit-clusters-{os.getuid()}"
        )
        self.path = os.path.join(self.folder, name + ".json")

    def write(self, values):
        os.makedirs(self.folder, mode=0o700, exist_ok=True)
        status = os.lstat(self.folder)
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
            raise ClusterError(f"{self.folder} belongs to somebody else")
        temporary = f"{self.path}.{os.getpid()}"
        with open(temporary, "w", encoding="utf-8") as file:
            json.dump(values, file)
        os.replace(temporary, self.path)

    def read(self):
        """The values written, or None when there is no such cluster."""
        try:
            with open(self.path, encoding="utf-8") as file:
                return json.load(file)
        except FileNotFoundError:
            return None

    def remove(self):
        """Also removes the folder once no cluster is left in it."""
        try:
            os.unlink(self.path)
            os.rmdir(self.folder)
        except OSError:
            pass
