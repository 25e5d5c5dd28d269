"""Who the hosts are, by the environment, and how they find each other."""

import json
import socket
from concurrent.futures import ThreadPoolExecutor

import pytest

from tf_transformer.cluster import Cluster, expand_hosts, find_cluster, is_chief, meet
from tf_transformer.errors import RunError

PAIR = ("a:2222", "b:7")


def tf_config(cluster: object, **task: object) -> dict[str, str]:
    return {"TF_CONFIG": json.dumps({"cluster": cluster, "task": task})}


SLURM = {
    "SLURM_STEP_NUM_TASKS": "3",
    "SLURM_STEP_NODELIST": "n[07-08]",
    "SLURM_STEP_TASKS_PER_NODE": "2,1",
    "SLURM_PROCID": "2",
}
LISTED = {"TF_TRANSFORMER_HOSTS": "a, b:7"}


@pytest.mark.parametrize(
    ("environment", "addresses", "index"),
    [
        (tf_config({"worker": PAIR}, type="worker", index=1), PAIR, 1),
        (tf_config({"chief": ["a"], "worker": ["b:7"]}, type="worker", index=0), PAIR, 1),
        (tf_config({"chief": ["a"], "worker": ["b:7"]}, type="chief", index=0), PAIR, 0),
        ({**LISTED, "TF_TRANSFORMER_HOST": "0", "HOSTNAME": "train-1"}, PAIR, 0),
        ({**LISTED, "JOB_COMPLETION_INDEX": "1"}, PAIR, 1),
        ({**LISTED, "HOSTNAME": "train-1"}, PAIR, 1),
        (SLURM, ("n07:2222", "n07:2223", "n08:2222"), 2),
        ({**SLURM, **tf_config({"worker": PAIR}, index=0)}, PAIR, 0),  # who writes it down means it
    ],
)
def test_the_environment_names_the_hosts(
    environment: dict[str, str], addresses: tuple[str, ...], index: int
) -> None:
    assert find_cluster(environment) == Cluster(addresses, index)
    assert is_chief(environment) == (index == 0)


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"TF_CONFIG": ""},
        tf_config({}),
        tf_config({"worker": ["a:1"]}, type="worker", index=0),
        {**SLURM, "SLURM_STEP_NUM_TASKS": "1"},
        {"SLURM_NTASKS": "4", "SLURM_PROCID": "0"},  # a batch script itself, which srun did not start
        {"JOB_COMPLETION_INDEX": "3"},
    ],
)
def test_one_host_alone(environment: dict[str, str]) -> None:
    assert find_cluster(environment) is None and is_chief(environment)


@pytest.mark.parametrize(
    ("environment", "fault"),
    [
        ({"TF_CONFIG": "worker"}, r"TF_CONFIG: is no JSON with cluster and task .*Received: worker"),
        (tf_config({"worker": [3]}), r"TF_CONFIG: is no JSON .*3 is no host"),
        (tf_config({"ps": ["a"]}), r"TF_CONFIG: hosts must be of chief and worker\. Received: ps"),
        (tf_config({"worker": PAIR}, index=2), r"TF_CONFIG: names 2 hosts\. Received: index 2"),
        (tf_config({"worker": ["a", "a"]}, index=0), r"TF_CONFIG: names a host twice\. Received: a:2222, a"),
        (LISTED, r"needs the index of this host .*Received: none of them"),
        ({**SLURM, "SLURM_STEP_NODELIST": "n["}, r"SLURM's variables do not say .*NODELIST is 'n\['"),
        ({**SLURM, "SLURM_STEP_TASKS_PER_NODE": "x"}, r"SLURM's variables .*TASKS_PER_NODE is 'x'"),
        ({name: text for name, text in SLURM.items() if "LIST" not in name}, r"SLURM.*'SLURM_STEP_NODELIST'"),
    ],
)
def test_what_names_no_hosts_is_refused(environment: dict[str, str], fault: str) -> None:
    with pytest.raises(RunError, match=fault):
        find_cluster(environment)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("one", ["one"]),
        ("n[1-3],m5", ["n1", "n2", "n3", "m5"]),
        ("a[08-10,2]x,b", ["a08x", "a09x", "a10x", "a2x", "b"]),
    ],
)
def test_short_forms_of_slurm(text: str, names: list[str]) -> None:
    assert list(expand_hosts(text)) == names


def pair_of_ports() -> tuple[str, str]:
    """Addresses that nobody listens at."""
    with socket.create_server(("localhost", 0)) as one, socket.create_server(("localhost", 0)) as other:
        return tuple(f"localhost:{server.getsockname()[1]}" for server in (one, other))


def met(addresses: tuple[str, ...], greetings: list[object], seconds: float = 20) -> list[str]:
    """What becomes of hosts that meet: a fault, or nothing."""

    def one(index: int) -> str:
        try:
            meet(Cluster(addresses, index), {"recipe": greetings[index]}, lambda line: None, seconds)
        except RunError as error:
            return str(error)
        return ""

    with ThreadPoolExecutor(len(greetings)) as hosts:
        return list(hosts.map(one, range(len(greetings))))


def test_hosts_meet_in_whatever_order_they_come() -> None:
    addresses = (*pair_of_ports(), "localhost:1")
    assert met(addresses, ["x", "x", "x"]) == ["", "", ""]
    assert met(addresses, ["x", "x", "x"]) == ["", "", ""]  # the port is free again


def test_a_host_with_another_recipe_is_named() -> None:
    addresses = pair_of_ports()
    fault = f"host 1 ({addresses[1]}) has another recipe than host 0 ({addresses[0]}): y and x"
    assert met(addresses, ["x", "y"]) == [fault, fault]


def test_missing_hosts_are_named_with_the_time_they_had() -> None:
    addresses = (*pair_of_ports(), "c:2222")
    chief, second = met(addresses, ["x", "x"], seconds=0.7)
    assert chief == (
        "host 2 (c:2222) is missing: 3 hosts were to come within 0.7 seconds (--wait). The same command must "
        "run on each of them"
    )
    assert second == chief  # the chief knows, and tells


def test_a_missing_chief_is_named() -> None:
    addresses = pair_of_ports()
    with pytest.raises(
        RunError, match=r"host 0 \(localhost:\d+\) is missing: 2 hosts were to come within 0.3 s"
    ):
        meet(Cluster(addresses, 1), {}, lambda line: None, 0.3)


def test_a_port_that_is_taken_is_named() -> None:
    with socket.create_server(("", 0)) as server:
        address = f"localhost:{server.getsockname()[1]}"
        with pytest.raises(RunError, match=rf"{address}: cannot be listened at \(Address already in use\)"):
            meet(Cluster((address, "b:1"), 0), {}, lambda line: None, 5)
