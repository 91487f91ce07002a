"""Reading archives that are damaged, foreign, of another version, or built to run code or to exhaust memory."""

from __future__ import annotations

import io
import json
import pickle
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from cnet.errors import ProgramError
from cnet.models.programs import read_program
from cnet.training.programs import export_program

MODEL = "models/model.json"
WEIGHTS = "data/weights/model_weights_config.json"

Change = Callable[[bytes], bytes] | bytes | None


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A good archive of a small network."""
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 3))
    path = tmp_path_factory.mktemp("programs") / "net.pt2"
    export_program(module, torch.randn(4, 4), path)
    return path


def rewritten(
    archive: Path, path: Path, changes: Mapping[str, Change], *, compression: int = zipfile.ZIP_STORED
) -> Path:
    """A copy of an archive with members replaced, added or (None) left out."""
    with zipfile.ZipFile(archive) as source, zipfile.ZipFile(path, "w", compression) as target:
        top = source.namelist()[0].partition("/")[0]
        left = dict(changes)
        for name in source.namelist():
            change = left.pop(name.partition("/")[2], lambda content: content)
            content = change(source.read(name)) if callable(change) else change
            if content is not None:
                target.writestr(name, content)
        for name, change in left.items():
            if isinstance(change, bytes):
                target.writestr(f"{top}/{name}", change)
    return path


def edited(edit: Callable[[dict[str, Any]], object]) -> Callable[[bytes], bytes]:
    """A change of a JSON member."""

    def change(content: bytes) -> bytes:
        document = json.loads(content)
        edit(document)
        return json.dumps(document).encode()

    return change


def refused(path: Path) -> str:
    """The code with which a file is refused."""
    with pytest.raises(ProgramError) as caught:
        read_program(path)
    return caught.value.code


class _Marker:
    """An object whose unpickling makes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


def nodes(document: dict[str, Any]) -> list[dict[str, Any]]:
    """The calls of an archive's graph."""
    found: list[dict[str, Any]] = document["graph_module"]["graph"]["nodes"]
    return found


def first_weight(document: dict[str, Any]) -> dict[str, Any]:
    """The description of the first tensor."""
    found: dict[str, Any] = next(iter(document["config"].values()))
    return found


def test_pickled_members_are_not_read(archive: Path, tmp_path: Path) -> None:
    """Example inputs that would run code are not opened; other pickles are refused; nothing is run."""
    marker = tmp_path / "marker"
    evil = pickle.dumps(_Marker(marker))

    read_program(rewritten(archive, tmp_path / "a.pt2", {"data/sample_inputs/model.pt": evil}))
    read_program(rewritten(archive, tmp_path / "b.pt2", {"data/sample_inputs/model.pt": None}))
    pickled = edited(lambda document: first_weight(document).update(use_pickle=True))
    codes = [
        refused(rewritten(archive, tmp_path / "c.pt2", {WEIGHTS: pickled})),
        refused(rewritten(archive, tmp_path / "d.pt2", {"data/weights/model.pt": evil})),
        refused(rewritten(archive, tmp_path / "e.pt2", {"data/constants/opaque_obj_0": evil})),
        refused(rewritten(archive, tmp_path / "f.pt2", {"data/constants/custom_obj_0": evil})),
    ]

    assert codes == ["program_custom_object", "program_version", "program_custom_object", "program_custom_object"]
    assert not marker.exists()


def test_compiled_code_is_refused(archive: Path, tmp_path: Path) -> None:
    """Whatever its name in its folder."""
    path = rewritten(archive, tmp_path / "a.pt2", {"data/aotinductor/model/x.so": b"\x7fELF"})

    assert refused(path) == "program_compiled"


def _evil_expression(document: dict[str, Any]) -> None:
    for value in document["graph_module"]["graph"]["tensor_values"].values():
        for size in value["sizes"]:
            if "as_expr" in size:
                size["as_expr"]["expr_str"] = "__import__('os').system('touch marker')"


def _evil_range(document: dict[str, Any]) -> None:
    document["range_constraints"] = {"u9999999999": {"min_val": 0, "max_val": 10**12}, "9**9**9": {"min_val": 0}}


def _evil_guards(document: dict[str, Any]) -> None:
    document["guards_code"] = ["__import__('os').system('touch marker')"]


def _evil_names(document: dict[str, Any]) -> None:
    text = json.dumps(document["graph_module"])
    document["graph_module"] = json.loads(
        text.replace('"input"', '"x=__import__(\\"os\\").system(\\"touch marker\\")"')
    )


def _evil_trees(document: dict[str, Any]) -> None:
    tree = '[1, {"type": "collections.defaultdict", "context": "os", "children_spec": []}]'
    document["graph_module"]["module_call_graph"][0]["signature"].update(in_spec=tree, out_spec=tree)


@pytest.mark.parametrize("edit", [_evil_expression, _evil_range, _evil_guards, _evil_names, _evil_trees])
def test_text_in_an_archive_is_never_evaluated(
    edit: Callable[[dict[str, Any]], object], archive: Path, tmp_path: Path
) -> None:
    """Expressions, ranges, guards, names and trees are data: they are ignored or shown, whatever they say."""
    program = read_program(rewritten(archive, tmp_path / "a.pt2", {MODEL: edited(edit)})).program

    assert len(program.graph.calls) == len(read_program(archive).program.graph.calls)
    assert not (tmp_path / "marker").exists()
    assert not Path("marker").exists()


@pytest.mark.parametrize(
    "target",
    [
        *(
            "torch.ops.aten.from_file.default",
            "torch.ops.aten.empty.memory_format",
            "torch.ops.aten.as_strided.default",
        ),
        *("torch.ops.aten.set_.source_Tensor", "torch.ops.higher_order.cond", "torch.ops.mine.custom.default"),
        *("torch.os.system", "os.system", "builtins.eval", "torch.ops.aten.relu.default.__class__"),
    ],
)
def test_operators_that_are_not_listed_are_refused(target: str, archive: Path, tmp_path: Path) -> None:
    """By name."""
    change = edited(lambda document: nodes(document)[0].update(target=target))
    path = rewritten(archive, tmp_path / "a.pt2", {MODEL: change})

    assert refused(path) == "program_operator"


def _subgraph(document: dict[str, Any]) -> None:
    graph = {"name": 'x"); evil()', "graph": {"inputs": [], "outputs": [], "nodes": []}}
    nodes(document)[0]["inputs"].append({"name": "graph", "arg": {"as_graph": graph}, "kind": 1})


def test_graphs_as_arguments_are_refused(archive: Path, tmp_path: Path) -> None:
    """Only those of ``no_grad`` and of disabled ``autocast`` are put in place."""
    assert refused(rewritten(archive, tmp_path / "a.pt2", {MODEL: edited(_subgraph)})) == "program_custom_object"


@pytest.mark.parametrize(
    ("meta", "code"),
    [
        ({"sizes": [{"as_int": 10**9}, {"as_int": 10**9}]}, "too_large"),
        ({"sizes": [{"as_int": 10**6}, {"as_int": 8}], "strides": [{"as_int": 0}, {"as_int": 1}]}, "truncated"),
        ({"storage_offset": {"as_int": 1000}}, "truncated"),
        ({"sizes": [{"as_int": -1}, {"as_int": 4}]}, "corrupt"),
        ({"sizes": [{"as_expr": {"expr_str": "9**9**9"}}]}, "corrupt"),
        ({"strides": [{"as_int": 1}]}, "corrupt"),
        ({"dtype": 99}, "unsupported_dtype"),
        ({"layout": 1}, "unsupported_layout"),
    ],
)
def test_tensors_that_do_not_fit_their_bytes_are_refused(
    meta: dict[str, Any], code: str, archive: Path, tmp_path: Path
) -> None:
    """Before anything is allocated."""
    change = edited(lambda document: first_weight(document)["tensor_meta"].update(meta))

    assert refused(rewritten(archive, tmp_path / "a.pt2", {WEIGHTS: change})) == code


def test_containers_that_torch_does_not_write_are_refused(archive: Path, tmp_path: Path) -> None:
    """Compressed members, names that leave the folder, several folders, other versions, other files."""
    codes = {
        "compressed": refused(rewritten(archive, tmp_path / "a.pt2", {}, compression=zipfile.ZIP_DEFLATED)),
        "parent": refused(rewritten(archive, tmp_path / "b.pt2", {"../../x": b""})),
        "version": refused(rewritten(archive, tmp_path / "c.pt2", {"archive_version": b"1"})),
        "format": refused(rewritten(archive, tmp_path / "d.pt2", {"archive_format": b"pt3"})),
        "big-endian": refused(rewritten(archive, tmp_path / "e.pt2", {"byteorder": b"big"})),
        "no model": refused(rewritten(archive, tmp_path / "f.pt2", {MODEL: None})),
        "nested": refused(rewritten(archive, tmp_path / "g.pt2", {MODEL: b"[" * 200_000})),
        "not JSON": refused(rewritten(archive, tmp_path / "h.pt2", {MODEL: b"{"})),
        "no weights": refused(rewritten(archive, tmp_path / "i.pt2", {"data/weights/weight_0": None})),
        "schema": refused(
            rewritten(
                archive,
                tmp_path / "j.pt2",
                {MODEL: edited(lambda d: d.update(schema_version={"major": 9, "minor": 0}))},
            )
        ),
    }
    (tmp_path / "empty.pt2").write_bytes(b"")
    (tmp_path / "text.pt2").write_bytes(b"not a zip file")
    codes |= {"empty": refused(tmp_path / "empty.pt2"), "text": refused(tmp_path / "text.pt2")}

    assert codes == {
        "compressed": "unsafe_archive",
        "parent": "unsafe_archive",
        "version": "program_version",
        "format": "not_a_program",
        "big-endian": "program_version",
        "no model": "not_a_program",
        "nested": "corrupt",
        "not JSON": "corrupt",
        "no weights": "truncated",
        "schema": "program_version",
        "empty": "empty_file",
        "text": "not_a_program",
    }


def test_a_file_that_was_cut_is_refused(archive: Path, tmp_path: Path) -> None:
    """Wherever it was cut, and also where a zip file within it is complete."""
    content = archive.read_bytes()
    with_inner = io.BytesIO()
    with zipfile.ZipFile(with_inner, "w") as inner:
        inner.writestr("net/models/model.json", "{}")
    path = tmp_path / "cut.pt2"

    for end in range(100, len(content), max(1, len(content) // 40)):
        path.write_bytes(content[:end])
        assert refused(path) in {"truncated", "corrupt"}
    path.write_bytes(content[:1000] + with_inner.getvalue())
    assert refused(path) == "truncated"


def test_a_tensor_that_is_taken_twice_is_refused(archive: Path, tmp_path: Path) -> None:
    """Each input of the graph is another tensor."""

    def edit(document: dict[str, Any]) -> None:
        specs = document["graph_module"]["signature"]["input_specs"]
        specs[1]["parameter"]["parameter_name"] = specs[0]["parameter"]["parameter_name"]

    assert refused(rewritten(archive, tmp_path / "a.pt2", {MODEL: edited(edit)})) == "corrupt"


def test_unwritten_memory_is_refused(archive: Path, tmp_path: Path) -> None:
    """``new_empty`` is taken only where the next call fills it."""

    def edit(document: dict[str, Any]) -> None:
        call = nodes(document)[1]
        call.update(target="torch.ops.aten.new_empty.default")
        call["inputs"].append({"name": "size", "arg": {"as_ints": [3, 8]}, "kind": 1})

    assert refused(rewritten(archive, tmp_path / "a.pt2", {MODEL: edited(edit)})) == "program_operator"


def test_unwritten_memory_is_refused_within_a_list(archive: Path, tmp_path: Path) -> None:
    """A concatenation reads it as any other operator does."""

    def edit(document: dict[str, Any]) -> None:
        first, second = nodes(document)[:2]
        first.update(target="torch.ops.aten.new_empty.default")
        (result,) = first["outputs"]
        second.update(target="torch.ops.aten.cat.default")
        second["inputs"] = [{"name": "tensors", "arg": {"as_tensors": [result["as_tensor"]]}, "kind": 1}]

    assert refused(rewritten(archive, tmp_path / "a.pt2", {MODEL: edited(edit)})) == "program_operator"


def test_values_that_are_not_finite_are_refused(archive: Path, tmp_path: Path) -> None:
    """As in a checkpoint."""
    nan = b"\x00\x00\xc0\x7f"

    assert (
        refused(rewritten(archive, tmp_path / "a.pt2", {"data/weights/weight_0": lambda content: nan + content[4:]}))
        == "not_finite"
    )


def test_checkpoints_and_torchscript_are_told_apart(tmp_path: Path) -> None:
    """Files of torch that are no programs say what they seem to be."""
    torch.save({"weight": torch.zeros(2, 2)}, tmp_path / "state.pt")

    with pytest.raises(ProgramError, match="looks like a checkpoint"):
        read_program(tmp_path / "state.pt")


def test_a_bad_graph_for_training_is_a_warning(archive: Path, tmp_path: Path) -> None:
    """The graph for evaluation serves in its place."""
    path = rewritten(archive, tmp_path / "a.pt2", {"extra/train.json": b"{}"})

    found = read_program(path)

    assert found.program.train_graph is None
    assert [warning.code for warning in found.warnings] == ["train_graph_ignored"]
    assert read_program(archive).program.train_graph is not None
