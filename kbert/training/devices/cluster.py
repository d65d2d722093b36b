"""Which workers a run has: read from TF_CONFIG, or TF_CONFIG made from Slurm's variables. No TensorFlow here.

TensorFlow has its own resolvers. Its `SlurmClusterResolver` (2.21) divides by the number of GPUs of a node,
so a node without GPUs is an error. It calls nvidia-smi. It also sorts the nodes as text, so on n9 and n10 it
takes the second task for the first. Here the nodes keep Slurm's order, which is the order of its ranks.
TensorFlow's `KubernetesClusterResolver` does not know the number of its own task, and takes the addresses of
hosts instead of pods. In a pod, set TF_CONFIG instead, see docs/distribution.md.
"""

import json
import os
import re
from collections.abc import Mapping
from typing import NamedTuple

_JOBS = ("chief", "worker")
# Ports of jobs of Slurm, for so many tasks of a job on one node: below those that Linux gives to connections.
_FIRST_PORT, _JOBS_AT_ONCE, _TASKS_OF_NODE = 8888, 1250, 16
_EXAMPLE = '{"cluster": {"worker": ["host1:8888", "host2:8888"]}, "task": {"type": "worker", "index": 0}}'


class Cluster(NamedTuple):
    """The workers of a TF_CONFIG.

    Fields:
      own: (job, number) of this process.
      addresses: (job, number) -> "host:port" of every worker, the chief first.
    """

    own: tuple[str, int]
    addresses: dict[tuple[str, int], str]


def worker_name(worker: tuple[str, int]) -> str:
    """("worker", 1) -> "worker 1"."""
    return f"{worker[0]} {worker[1]}"


def is_multi_worker(strategy: str) -> bool:
    """Whether a strategy means several workers: "multi_worker", or "auto" where TF_CONFIG names several."""
    if strategy == "auto":
        return len(read_cluster(os.environ.get("TF_CONFIG") or "{}").addresses) > 1
    return strategy == "multi_worker"


def read_cluster(tf_config: str) -> Cluster:
    """Reads a TF_CONFIG.

    Raises:
      ValueError: when it is not JSON of the expected form, names jobs other than worker and chief, gives two
        workers one address, or names a task of this process that is not in the cluster, or without a cluster.
    """
    try:
        config = json.loads(tf_config)
        jobs, task = config.get("cluster", {}), config.get("task", {})
        sizes = {job: len(addresses) for job, addresses in jobs.items()}
        own = task.get("type", "worker"), task.get("index")
        addresses = {
            (job, number): address
            for job in sorted(jobs, key=lambda job: job != "chief")
            for number, address in enumerate(jobs[job])
        }
    except (ValueError, AttributeError, TypeError):
        raise ValueError(
            f"TF_CONFIG={tf_config!r} is not understood; it should look like {_EXAMPLE}."
        ) from None
    others = [key for key in config if "cluster" in key.lower() and key != "cluster"]
    if not addresses and (others or task.get("index")):
        raise ValueError(
            f"TF_CONFIG={tf_config!r} speaks of several workers, but lists none under 'cluster'; it should "
            f"look like {_EXAMPLE}."
        )
    unknown = [job for job in sizes if job not in _JOBS]
    if unknown:
        raise ValueError(
            f"TF_CONFIG names the jobs {unknown}; use only the jobs worker and chief. (An evaluator job is "
            "not needed: the workers evaluate during training.)"
        )
    if sizes.get("chief", 0) > 1:
        raise ValueError(f"TF_CONFIG names {sizes['chief']} chiefs; there can be only one.")
    _check_addresses(list(addresses.values()))
    if len(addresses) == 1 and not task:
        own = next(iter(addresses))
    if addresses and own not in addresses:
        raise ValueError(
            f"TF_CONFIG: the task of this process is {own[0]} {own[1]!r}, which is not in the cluster {sizes}"
            "; indices are numbers that count from 0."
            if task
            else f"TF_CONFIG: it does not say which worker this process is; it should look like {_EXAMPLE}."
        )
    return Cluster(own, addresses)


def _check_addresses(addresses):
    for address in addresses:
        host, _, port = address.rpartition(":") if isinstance(address, str) else ("", "", "")
        if not host or not port.isdecimal() or not 0 < int(port) < 2**16:
            raise ValueError(
                f"TF_CONFIG: {address!r} is not an address host:port, with a port of 1 to 65535; it should "
                f"look like {_EXAMPLE}."
            )
        if addresses.count(address) > 1:
            raise ValueError(f"TF_CONFIG gives {addresses.count(address)} workers the address {address}.")


def require_workers(environment: Mapping[str, str] = os.environ) -> Cluster:
    """The cluster of TF_CONFIG. Raises ValueError when there is no worker in it, or it is broken."""
    tf_config = environment.get("TF_CONFIG")
    if not tf_config:
        raise ValueError(
            "strategy=multi_worker needs the environment variable TF_CONFIG in every worker, for example "
            f"TF_CONFIG='{_EXAMPLE}'; under Slurm cluster=slurm sets it."
        )
    cluster = read_cluster(tf_config)
    if not cluster.addresses:
        raise ValueError(
            f"strategy=multi_worker: TF_CONFIG={tf_config!r} lists no worker; it should look like {_EXAMPLE}."
        )
    return cluster


def own_cluster(cluster: str, environment: Mapping[str, str] = os.environ) -> Cluster:
    """The workers, as `cluster` says: of TF_CONFIG, or of Slurm's variables.

    Raises:
      ValueError: when they are not described.
    """
    return read_cluster(slurm_tf_config(environment)) if cluster == "slurm" else require_workers(environment)


def slurm_tf_config(environment: Mapping[str, str] = os.environ) -> str:
    """The TF_CONFIG of a task of a Slurm step: all tasks are workers, in the order of their ranks.

    The first task of each node has a port that follows from the job, as two jobs may share a node; the other
    tasks of the node have the next ports.

    Args:
      environment: has SLURM_PROCID, SLURM_STEP_NODELIST and SLURM_STEP_TASKS_PER_NODE, as srun sets them.

    Raises:
      ValueError: outside of a Slurm step, when tasks are not laid out node by node, or when a variable
        cannot be read.
    """
    names = ("SLURM_PROCID", "SLURM_STEP_NODELIST", "SLURM_STEP_TASKS_PER_NODE")
    missing = [name for name in names if name not in environment]
    if missing:
        raise ValueError(f"cluster=slurm: {missing[0]} is not set; start the workers with srun.")
    layout = re.split("[:,]", environment.get("SLURM_DISTRIBUTION", "block").lower())[0]  # block:cyclic,Pack
    if layout not in ("block", "nopack", "pack"):
        raise ValueError(
            f"cluster=slurm: ranks are laid out as {environment['SLURM_DISTRIBUTION']!r}; use srun "
            "--distribution=block, where neighbours in rank share a node."
        )
    nodes = node_names(environment["SLURM_STEP_NODELIST"])
    tasks = tasks_per_node(environment["SLURM_STEP_TASKS_PER_NODE"])
    if len(nodes) != len(tasks):
        raise ValueError(
            f"cluster=slurm: SLURM_STEP_NODELIST has {len(nodes)} nodes {nodes}, but "
            f"SLURM_STEP_TASKS_PER_NODE has {len(tasks)}: {tasks}."
        )
    first = _FIRST_PORT + int(environment.get("SLURM_JOB_ID", 0)) % _JOBS_AT_ONCE * _TASKS_OF_NODE
    addresses = [
        f"{node}:{first + n}" for node, number in zip(nodes, tasks, strict=True) for n in range(number)
    ]
    task = {"type": "worker", "index": int(environment["SLURM_PROCID"])}
    return json.dumps({"cluster": {"worker": addresses}, "task": task})


def node_names(node_list: str) -> list[str]:
    """Slurm's `n[08-10,12],login1` -> n08, n09, n10, n12, login1.

    Raises:
      ValueError: when the list does not have this form.
    """
    names = []
    entry = r"[^,\[\]]+(?:\[\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*\])?"
    if not re.fullmatch(f"{entry}(?:,{entry})*", node_list):
        raise ValueError(
            f"SLURM_STEP_NODELIST={node_list!r} is not understood; it should look like n[08-10,12],login1."
        )
    for prefix, ranges in re.findall(r"([^,\[\]]*)(?:\[([\d,-]+)\])?(?:,|$)", node_list):
        for span in ranges.split(",") if ranges else ():
            first, _, last = span.partition("-")
            names += [f"{prefix}{n:0{len(first)}d}" for n in range(int(first), int(last or first) + 1)]
        if prefix and not ranges:
            names.append(prefix)
    return names


def tasks_per_node(counts: str) -> list[int]:
    """Slurm's `3(x2),2` -> 3, 3, 2. Raises ValueError when the text does not have this form."""
    numbers = []
    for count in counts.split(","):
        match = re.fullmatch(r"(\d+)(?:\(x(\d+)\))?", count)
        if not match:
            raise ValueError(
                f"SLURM_STEP_TASKS_PER_NODE={counts!r} is not understood; it should look like 3(x2),2."
            )
        numbers += [int(match[1])] * int(match[2] or 1)
    return numbers
