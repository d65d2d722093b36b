"""python -m tests.lives --seed=1 --count=50: the lives of 50 seeds; --world and --hop: a finding again."""

import argparse
import json
import os
import sys

os.environ.setdefault("KBERT_COMPILE_KERNELS", "0")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf  # noqa: E402
from absl import logging  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=1)
    parser.add_argument("--world", type=json.loads)
    parser.add_argument("--hop", nargs="*")
    parser.add_argument("--shrink", action=argparse.BooleanOptionalAction, default=True)
    arguments = parser.parse_args()
    tf.config.set_logical_device_configuration(
        tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2
    )
    logging.set_verbosity(logging.FATAL)
    from tests.lives.hops import HOPS
    from tests.lives.search import Search

    search = Search(shrinks=arguments.shrink)
    if arguments.world:
        for finding in search.walk(arguments.world, arguments.hop or list(HOPS)):
            search.findings[finding.kind] = finding
    else:
        for seed in range(arguments.seed, arguments.seed + arguments.count):
            for finding in search.live(seed):
                print(f"FOUND {finding.message}\n  {finding.command}", file=sys.stderr, flush=True)
            print(f"life {seed}: {len(search.findings)} kinds of findings", file=sys.stderr, flush=True)
    print(search.table())
    sys.exit(bool(search.findings))


if __name__ == "__main__":
    main()
