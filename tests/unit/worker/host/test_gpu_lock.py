"""One GPU for each worker."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from worker.host.gpu_lock import LockedGpu, lock_gpu
from worker.host.machine import Gpu

GPUS = [Gpu("A", 2**34, "uuid-a"), Gpu("B", 2**34, "uuid-b")]


def test_each_worker_gets_a_gpu_of_its_own(tmp_path: Path) -> None:
    """Until none is left."""
    found = [lock_gpu(GPUS, None, tmp_path) for _ in range(3)]
    assert found == [LockedGpu(GPUS[0], "0"), LockedGpu(GPUS[1], "1"), None]


@pytest.mark.parametrize(
    ("visible", "expected"), [("3,5", ["3", "5"]), ("GPU-x, MIG-y", ["GPU-x", "MIG-y"]), ("7", ["7", "1"])]
)
def test_the_names_are_those_that_the_operator_gave(tmp_path: Path, visible: str, expected: list[str]) -> None:
    """CUDA_VISIBLE_DEVICES may name GPUs by number or by id."""
    found = [lock_gpu(GPUS, visible, tmp_path) for _ in GPUS]
    assert [each.visible for each in found if each] == expected


def test_a_machine_without_gpus_has_none(tmp_path: Path) -> None:
    """No file is made."""
    assert lock_gpu([], None, tmp_path) is None
    assert list(tmp_path.iterdir()) == []


def test_a_gpu_is_free_when_its_worker_is_killed(tmp_path: Path) -> None:
    """The kernel releases the lock."""
    script = (
        "import sys, time; from pathlib import Path; from worker.host.gpu_lock import lock_gpu;"
        "from worker.host.machine import Gpu; print(lock_gpu([Gpu('A', 1, 'uuid-a')], None, Path(sys.argv[1])),"
        " flush=True); time.sleep(600)"
    )
    with subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert "visible='0'" in other.stdout.readline()
        assert lock_gpu(GPUS[:1], None, tmp_path) is None
        other.kill()
        other.wait()
    assert lock_gpu(GPUS[:1], None, tmp_path) == LockedGpu(GPUS[0], "0")
