"""Who the workers of a run are: TF_CONFIG, or Slurm's environment turned into one. Standard library only.

TensorFlow has resolvers of its own. Its `SlurmClusterResolver` (2.21) divides by the GPUs of a node, so that
nodes without any are an error; it calls nvidia-smi; and it sorts the nodes as text, so that on n9 and n10 the
second task is taken for the first. Here the nodes keep Slurm's order, which is that of its ranks. Its
`KubernetesClusterResolver` knows no task's own number and takes the addresses of hosts, not of pods: in a pod
TF_CONFIG is what to set, see docs/distribution.md.
"""

import json
import os
import re
from collections.abc import Mapping

CLUSTERS = ("tf_config", "slurm")
_JOBS = ("chief", "worker")
_EXAMPLE = '{"cluster": {"worker": ["host1:8888", "host2:8888"]}, "task": {"type": "worker", "index": 0}}'


def workers_of(tf_config: str) -> list[tuple[str, int]]:
    """The (job, number) of every worker in a TF_CONFIG, the chief first; one worker where none is listed.

    Raises:
      ValueError: for what is no JSON, other jobs than worker and chief, or a task that the cluster lacks.
    """
    try:
        config = json.loads(tf_config)
        cluster, task = config.get("cluster", {}), config.get("task", {})
        sizes = {job: len(addresses) for job, addresses in cluster.items()}
        own = task.get("type", "worker"), task.get("index", 0)
        addresses = [address for job in cluster.values() for address in job]
    except (ValueError, AttributeError, TypeError):
        raise ValueError(
            f"TF_CONFIG={tf_config!r} is not understood; it should look like {_EXAMPLE}."
        ) from None
    unknown = [job for job in sizes if job not in _JOBS]
    if unknown:
        raise ValueError(
            f"TF_CONFIG names the jobs {unknown}; this training has workers and at most one chief, and "
            "evaluates in between."
        )
    if sizes.get("chief", 0) > 1:
        raise ValueError(f"TF_CONFIG names {sizes['chief']} chiefs; there can be one.")
    wrong = [address for address in addresses if not isinstance(address, str) or ":" not in address]
    if wrong:
        raise ValueError(
            f"TF_CONFIG: {wrong[0]!r} is not an address host:port; it should look like {_EXAMPLE}."
        )
    workers = [(job, number) for job in _JOBS for number in range(sizes.get(job, 0))]
    if workers and own not in workers:
        raise ValueError(
            f"TF_CONFIG: this task is {own[0]} {own[1]}, which its cluster {sizes} does not have; indices "
            "count from 0."
        )
    return workers or [("worker", 0)]


def require_workers(environment: Mapping[str, str] = os.environ):
    """Raises ValueError when there is no TF_CONFIG with a worker, or a broken one."""
    tf_config = environment.get("TF_CONFIG")
    if not tf_config:
        raise ValueError(
            "--strategy=multi_worker needs the environment variable TF_CONFIG in every worker, for example "
            f"TF_CONFIG='{_EXAMPLE}'; under Slurm --cluster=slurm makes it."
        )
    workers_of(tf_config)


def slurm_tf_config(environment: Mapping[str, str] = os.environ, port_base: int = 8888) -> str:
    """The TF_CONFIG of a task of a Slurm step: all tasks are workers, in the order of their ranks.

    Args:
      environment: has SLURM_PROCID, SLURM_STEP_NODELIST and SLURM_STEP_TASKS_PER_NODE, as srun sets them.
      port_base: port of the first task of a node; its others have the next ones.

    Raises:
      ValueError: outside of a step, for tasks that are not laid out node by node, or for what cannot be read.
    """
    names = ("SLURM_PROCID", "SLURM_STEP_NODELIST", "SLURM_STEP_TASKS_PER_NODE")
    missing = [name for name in names if name not in environment]
    if missing:
        raise ValueError(f"--cluster=slurm: {missing[0]} is not set; start the workers with srun.")
    if environment.get("SLURM_DISTRIBUTION", "block").split(":")[0] not in ("block", "nopack", "pack"):
        raise ValueError(
            f"--cluster=slurm: ranks are laid out as {environment['SLURM_DISTRIBUTION']!r}; use srun "
            "--distribution=block, where neighbours in rank share a node."
        )
    nodes = node_names(environment["SLURM_STEP_NODELIST"])
    tasks = tasks_per_node(environment["SLURM_STEP_TASKS_PER_NODE"])
    if len(nodes) != len(tasks):
        raise ValueError(f"--cluster=slurm: {len(nodes)} nodes {nodes}, but tasks for {len(tasks)}: {tasks}.")
    addresses = [
        f"{node}:{port_base + n}" for node, number in zip(nodes, tasks, strict=True) for n in range(number)
    ]
    task = {"type": "worker", "index": int(environment["SLURM_PROCID"])}
    return json.dumps({"cluster": {"worker": addresses}, "task": task})


def node_names(node_list: str) -> list[str]:
    """Slurm's `n[08-10,12],login1` -> n08, n09, n10, n12, login1.

    Raises:
      ValueError: for a list that is not of this form.
    """
    names = []
    one = r"[^,\[\]]+(?:\[\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*\])?"
    if not re.fullmatch(f"{one}(?:,{one})*", node_list):
        raise ValueError(f"SLURM_STEP_NODELIST={node_list!r} is not understood.")
    for prefix, ranges in re.findall(r"([^,\[\]]*)(?:\[([\d,-]+)\])?(?:,|$)", node_list):
        for part in ranges.split(",") if ranges else ():
            first, _, last = part.partition("-")
            names += [f"{prefix}{n:0{len(first)}d}" for n in range(int(first), int(last or first) + 1)]
        if prefix and not ranges:
            names.append(prefix)
    return names


def tasks_per_node(counts: str) -> list[int]:
    """Slurm's `3(x2),2` -> 3, 3, 2. Raises ValueError for what is not of this form."""
    numbers = []
    for part in counts.split(","):
        match = re.fullmatch(r"(\d+)(?:\(x(\d+)\))?", part)
        if not match:
            raise ValueError(f"SLURM_STEP_TASKS_PER_NODE={counts!r} is not understood.")
        numbers += [int(match[1])] * int(match[2] or 1)
    return numbers
