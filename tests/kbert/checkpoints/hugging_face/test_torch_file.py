"""PyTorch files: exactly their tensors, whatever the layout, and never a line of code."""

import collections
import itertools
import os
import pickle
import struct
import time
import tracemalloc
import zipfile

import ml_dtypes
import numpy as np
import pytest

from kbert.checkpoints.hugging_face import torch_pickle
from kbert.checkpoints.hugging_face.torch_file import read_torch_file
from kbert.checkpoints.hugging_face.torch_pickle import BrokenPickle, RefusedPickle, load_restricted
from tests.kbert.checkpoints import foreign_files
from tests.naming import naming

WRITERS = {"zip": foreign_files.write_torch_zip, "legacy": foreign_files.write_torch_legacy}


def arrays():
    rng = np.random.default_rng(5)
    return {
        "a.weight": rng.normal(size=(3, 4)).astype(np.float32),
        "half": rng.normal(size=(5,)).astype(np.float16),
        "brain": rng.normal(size=(2, 2)).astype(ml_dtypes.bfloat16),
        "ids": np.arange(7)[None],
        "scalar": np.float32(3.5).reshape(()),
        "nothing": np.zeros((0, 4), np.float32),
    }


@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)
def test_every_tensor_comes_back(tmp_path, monkeypatch, write):
    write(tmp_path / "m.bin", arrays(), monkeypatch)
    tensors = read_torch_file(tmp_path / "m.bin")
    assert tensors.keys() == arrays().keys()
    for name, expected in arrays().items():
        assert (tensors[name].shape, tensors[name].dtype) == (expected.shape, expected.dtype.name)
        np.testing.assert_array_equal(tensors[name].read(), expected)


@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)
@pytest.mark.parametrize("share", [0.0, 0.02, 0.5, 0.9, 0.999])
def test_a_truncated_file_is_one_sentence(tmp_path, monkeypatch, write, share):
    path = tmp_path / "m.bin"
    write(path, {"w": np.ones((50, 50), np.float32)}, monkeypatch)
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * share)])
    with pytest.raises(ValueError, match=r"m.bin is not a whole PyTorch file .*; download it again") as error:
        for tensor in read_torch_file(path).values():
            tensor.read()
    assert "\n" not in str(error.value)


def test_storages_of_another_size_are_refused(tmp_path, monkeypatch):
    path = tmp_path / "m.bin"
    foreign_files.write_torch_zip(path, {"w": np.ones(8, np.float32)}, monkeypatch)
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    parts["archive/data/0"] = parts["archive/data/0"][:-4]
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    with pytest.raises(ValueError, match="is not a whole PyTorch file"):
        read_torch_file(path)


def test_other_machines_byte_order_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "m.bin"
    foreign_files.write_torch_zip(path, {"w": np.ones(8, np.float32)}, monkeypatch)
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in parts.items():
            archive.writestr(name, b"big" if name.endswith("byteorder") else data)
    with pytest.raises(ValueError, match="big-endian"):
        read_torch_file(path)


# --------------------------------------------------------------------------------- hostile


class Call:
    """Pickles as a call of `function` with `arguments`."""

    def __init__(self, function, *arguments):
        self.function, self.arguments = function, arguments

    def __reduce__(self):
        return self.function, self.arguments


def hostile(marker):
    """Objects that would leave `marker` behind, or could do worse, if anything in them ran."""
    command = f"touch {marker}"
    yield "os.system", Call(os.system, command)
    yield "eval", Call(eval, f"open({str(marker)!r}, 'w')")
    yield "in a state dict", collections.OrderedDict(weight=Call(os.system, command))
    yield "in an attribute", _with_attribute(Call(os.system, command))
    yield "getattr", Call(getattr, collections.OrderedDict, "fromkeys")
    yield "numpy", Call(np.zeros, 3)
    yield "open", Call(open, str(marker), "w")


def _with_attribute(value):
    state = collections.OrderedDict()
    state._metadata = value
    return state


NAMES = [name for name, _ in hostile("x")]


@pytest.mark.parametrize("name", NAMES)
def test_code_in_a_pickle_never_runs(tmp_path, name):
    for layout, protocol in itertools.product(("zip", "legacy", "bare"), (0, 2, 4)):
        with naming(layout, protocol):
            require_no_code_runs(tmp_path, name, protocol, layout)


def require_no_code_runs(tmp_path, name, protocol, layout):
    marker = tmp_path / "it_ran"
    thing = dict(hostile(marker))[name]
    path = tmp_path / "pytorch_model.bin"
    if layout == "zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("archive/data.pkl", pickle.dumps(thing, protocol))
    else:
        header = (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True}) if layout == "legacy" else ()
        path.write_bytes(b"".join(pickle.dumps(value, 2) for value in header) + pickle.dumps(thing, protocol))
    sentence = "is refused: besides tensors it holds .*, and kbert runs no code"
    with pytest.raises(ValueError, match=sentence) as error:
        read_torch_file(path)
    assert not marker.exists() and "\n" not in str(error.value)


# Pickles by hand: what no honest pickler writes.
GLOBAL_FUNCTION = b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n"
PLACE = b"\x80\x02(X\x07\x00\x00\x00storage"
FORGED = {
    "dotted name": b"\x80\x04\x8c\x0bcollections\x8c\x14OrderedDict.fromkeys\x93.",
    "attribute of the function": GLOBAL_FUNCTION + b"}X\x01\x00\x00\x00xK\x01sb.",
    "slots of the function": GLOBAL_FUNCTION + b"N}X\x08\x00\x00\x00__call__K\x01s\x86b.",
    "extension registry": b"\x80\x02\x82\x01.",
    "old style instance": b"(ios\nsystem\n.",
    "unknown storage": PLACE + b"cos\nsystem\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x01tQ.",
    "a count that is a text": PLACE + b"ctorch\nFloatStorage\nX\x01\x00\x00\x000NX\x01\x00\x00\x001tQ.",
    "a class that is a text": PLACE + b"X\x01\x00\x00\x00fX\x01\x00\x00\x000NK\x01tQ.",
    "persistent id as text": b"Pstorage\n.",
    "no pickle": b"hello",
    "empty": b"",
}


@pytest.mark.parametrize("data", FORGED.values(), ids=FORGED)
def test_forged_pickles_are_refused(tmp_path, data):
    path = tmp_path / "pickle"
    path.write_bytes(data)
    with path.open("rb") as file, pytest.raises((RefusedPickle, BrokenPickle)):
        load_restricted(file)


@pytest.mark.parametrize(
    ("offset", "shape", "strides"),
    [
        (0, (9,), (1,)),
        (1, (8,), (1,)),
        (0, (2, 2), (7, 1)),
        (-1, (2,), (1,)),
        (0, (3,), (-1,)),
        (0, (2,), ("x",)),
    ],
)
def test_views_beyond_their_storage_are_refused(tmp_path, monkeypatch, offset, shape, strides):
    """NumPy would hand out whatever lies beside the numbers in memory."""

    def forged(torch, arrays, legacy):
        pid = ("storage", torch.FloatStorage, "0", "cpu", 8)
        place = foreign_files._StoragePlace(*pid)
        rebuild = torch._utils._rebuild_tensor_v2
        tensor = foreign_files._Tensor(rebuild, place, offset, shape, strides, False, None)
        return collections.OrderedDict(w=tensor)

    monkeypatch.setattr(foreign_files, "_state_dict", forged)
    foreign_files.write_torch_zip(tmp_path / "m.bin", {"w": np.ones(8, np.float32)}, monkeypatch)
    with pytest.raises(ValueError, match="a tensor (that reaches beyond its|with an impossible shape)"):
        read_torch_file(tmp_path / "m.bin")


# What pickles can do to a tensor that was good when it was made: the opcode BUILD sets its state anew.
def text(value):
    return b"X" + struct.pack("<I", len(value)) + value.encode()


def whole_number(value):
    return pickle.LONG1 + bytes([len(pickle.encode_long(value))]) + pickle.encode_long(value)


FLOATS = b"ctorch\nFloatStorage\n"
STORAGE = b"(" + text("storage") + FLOATS + text("0") + text("cpu") + b"K\x08tQ"
TENSOR = b"ctorch._utils\n_rebuild_tensor_v2\n(" + STORAGE + b"K\x00K\x02\x85K\x01\x85\x89NtR"
REBUILT = {
    "a tensor": TENSOR + b"(" + STORAGE + b"K\x00J\x00\x00\x01\x00\x85K\x01\x85tb",
    "a tensor by slots": TENSOR + b"N}" + text("offset") + b"J\x00\x00\x01\x00s\x86b",
    "a tensor's dictionary": TENSOR + b"}" + text("shape") + b"J\x00\x00\x01\x00\x85sb",
    "a storage": STORAGE + b"(" + text("0") + text("float32") + b"J\x00\x00\x01\x00tb",
    "a storage class": FLOATS + b"(" + text("object") + b"tb",
}


def state_dict_of(value):
    return b"\x80\x02}" + text("w") + value + b"s."


def write_pickle(path, data, count=8):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", data)
        archive.writestr("archive/data/0", np.ones(count, np.float32).tobytes())
    return path


def test_the_pickle_by_hand_is_a_good_one(tmp_path):
    tensors = read_torch_file(write_pickle(tmp_path / "m.bin", state_dict_of(TENSOR)))
    np.testing.assert_array_equal(tensors["w"].read(), [1.0, 1.0])


@pytest.mark.parametrize("forged", REBUILT.values(), ids=REBUILT)
def test_the_state_of_a_tensor_is_never_set_anew(tmp_path, forged):
    path = write_pickle(tmp_path / "m.bin", state_dict_of(forged))
    with pytest.raises(ValueError, match="is refused: besides tensors it holds a state for ") as error:
        for tensor in read_torch_file(path).values():
            tensor.read()
    assert "\n" not in str(error.value)


def test_a_view_that_got_past_all_checks_still_reads_nothing_else(tmp_path, monkeypatch):
    """NumPy is given the storage's bytes alone, and checks by itself what lies outside them."""
    path = write_pickle(tmp_path / "m.bin", state_dict_of(TENSOR))
    monkeypatch.setattr(torch_pickle, "check_view", lambda *arguments: None)
    forged = state_dict_of(TENSOR.replace(b"K\x02\x85K\x01\x85", b"J\x00\x00\x01\x00\x85K\x01\x85"))
    write_pickle(path, forged)
    with pytest.raises(ValueError, match="is not a whole PyTorch file"):
        for tensor in read_torch_file(path).values():
            tensor.read()


def view(offset, shape, strides):
    numbers = [b"(" + b"".join(map(whole_number, values)) + b"t" for values in (shape, strides)]
    arguments = STORAGE + whole_number(offset) + b"".join(numbers)
    return state_dict_of(b"ctorch._utils\n_rebuild_tensor_v2\n(" + arguments + b"\x89NtR")


@pytest.mark.parametrize(
    ("offset", "shape", "strides"),
    [
        (0, (4,), (0,)),
        (0, (1000, 1000), (0, 0)),
        (0, (4, 4, 4), (1, 1, 1)),
        (0, (1,), (10**40,)),
        (10**40, (1,), (1,)),
        (0, (10**40,), (1,)),
        (0, (0, 10**40), (1, 1)),
        (0, (0, 2**40, 2**40), (1, 1, 1)),
        (-1, (0,), (1,)),
        (0, (1,) * 70, (1,) * 70),
    ],
)
def test_impossible_views_are_refused(tmp_path, offset, shape, strides):
    path = write_pickle(tmp_path / "m.bin", view(offset, shape, strides))
    with pytest.raises(ValueError, match="is refused: besides tensors it holds a tensor ") as error:
        for tensor in read_torch_file(path).values():
            tensor.read()
    assert "\n" not in str(error.value) and len(str(error.value)) < 400


def test_an_axis_of_one_may_have_any_stride_inside_the_storage(tmp_path):
    path = write_pickle(tmp_path / "m.bin", view(2, (1, 3, 1), (0, 2, 8)))
    assert read_torch_file(path)["w"].read().shape == (1, 3, 1)


# ----------------------------------------------------------------------------- work without bound

DOUBLED = b"K\x01" + b"q\x00h\x00\x86" * 200  # (x, x) of (x, x) of ...: as many ones as no memory holds
DEEP = b"N" + b"\x85" * 100_000
LONG_NUMBER = b"\x8b" + struct.pack("<i", 1_000_000) + b"\x01" * 1_000_000
KEYS = b"h\x00N" * 200_000
WORK = {
    "a doubled tuple for a key": b"\x80\x02}" + DOUBLED + b"K\x01s.",
    "a doubled tuple for a storage": b"\x80\x02" + DOUBLED + b"Q.",
    "a doubled tuple in a set": b"\x80\x04\x8f(" + DOUBLED + b"\x90.",
    "a doubled tuple for a name": b"\x80\x04" + DOUBLED + DOUBLED + b"\x93.",
    "a doubled tuple for a shape": view(0, (1,), (1,)).replace(b"(\x8a\x01\x01t", DOUBLED),
    "a deep tuple for a key": b"\x80\x02}" + DEEP + b"K\x01s.",
    "a place in the memo far out": b"\x80\x02Nr\xff\xff\xff\x7f.",
    "a long list again and again": b"\x80\x02"
    + text("a")
    + b"K\x01\x86q\x020]("
    + b"h\x02" * 50_000
    + b"eq\x000ccollections\nOrderedDict\nq\x01("
    + b"h\x01h\x00\x85R" * 3000
    + b"t.",
    "a long list for each of many pairs": b"\x80\x02ccollections\nOrderedDict\n("
    + b"K\x01N" * 250_000
    + b"tq\x000("
    + b"h\x00" * 230_000
    + b"t\x85R.",
    "a long number for a key again and again": b"\x80\x02" + LONG_NUMBER + b"q\x000}(" + KEYS + b"u.",
    "two long texts for a key again and again": b"\x80\x02"
    + text("x" * 2_000_000)
    + b"q\x000"
    + text("x" * 2_000_000)
    + b"q\x010}(h\x00N"
    + b"h\x01N" * 200_000
    + b"u.",
    "millions of steps": b"\x80\x02" + b"N0" * 2_000_000 + b"N.",
}


@pytest.mark.slow
@pytest.mark.parametrize("data", WORK.values(), ids=WORK)
def test_small_pickles_cannot_ask_for_much_work(tmp_path, data):
    path = write_pickle(tmp_path / "m.bin", data)
    started = time.thread_time()  # work, not the time for which a machine stands still
    with pytest.raises(ValueError) as error:
        read_torch_file(path)
    assert time.thread_time() - started < 5
    assert "\n" not in str(error.value) and len(str(error.value)) < 400


@pytest.mark.parametrize("key", [b"K\x01", b"\x8b" + struct.pack("<i", 8400) + b"\x01" * 8400])
def test_names_that_are_numbers_are_one_sentence_with_the_file(tmp_path, key):
    path = write_pickle(tmp_path / "m.bin", b"\x80\x02}" + key + TENSOR + b"s.")
    with pytest.raises(ValueError, match=f"^{path} is ") as error:
        read_torch_file(path)
    assert str(error.value).isprintable() and len(str(error.value)) < 400


@pytest.mark.parametrize("name", ["archive/data/0", "archive/data.pkl", "archive/byteorder"])
def test_parts_that_unpack_to_more_than_they_are_refused(tmp_path, monkeypatch, name):
    """torch.save packs nothing: a part that is larger than its bytes in the file was not written by it."""
    path = tmp_path / "m.bin"
    parts = {
        "archive/data.pkl": state_dict_of(TENSOR.replace(b"K\x08tQ", b"J\x00\x00\x00\x02tQ")),
        "archive/byteorder": b"little",
        "archive/data/0": b"\0" * 100,
    }
    parts[name] = b"\0" * (4 << 25)
    with zipfile.ZipFile(path, "w") as archive:
        for part, data in parts.items():
            packed = zipfile.ZIP_DEFLATED if part == name else zipfile.ZIP_STORED
            archive.writestr(part, data, packed)
    assert path.stat().st_size < 1 << 20
    tracemalloc.start()
    with pytest.raises(ValueError, match="holds compressed parts .*; torch.save writes none"):
        for tensor in read_torch_file(path).values():
            tensor.read()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 20


def test_names_that_no_report_can_hold_are_refused(tmp_path):
    forged = state_dict_of(TENSOR).replace(text("w"), b"X\x03\x00\x00\x00\xed\xa0\x80")  # half a pair
    path = write_pickle(tmp_path / "m.bin", forged)
    with pytest.raises(ValueError, match="is not a whole PyTorch file .*decode") as error:
        read_torch_file(path)
    assert str(error.value).isprintable()


def test_strided_views_are_laid_out(tmp_path, monkeypatch):
    def transposed(torch, arrays, legacy):
        pid = ("storage", torch.FloatStorage, "0", "cpu", 6)
        place = foreign_files._StoragePlace(*pid)
        rebuild = torch._utils._rebuild_tensor_v2
        return collections.OrderedDict(
            whole=foreign_files._Tensor(rebuild, place, 0, (3, 2), (1, 3), False, None),
            tail=foreign_files._Tensor(rebuild, place, 4, (2,), (1,), False, None),
        )

    numbers = np.arange(6, dtype=np.float32)
    monkeypatch.setattr(foreign_files, "_state_dict", transposed)
    foreign_files.write_torch_zip(tmp_path / "m.bin", {"w": numbers}, monkeypatch)
    tensors = read_torch_file(tmp_path / "m.bin")
    np.testing.assert_array_equal(tensors["whole"].read(), numbers.reshape(2, 3).T)
    np.testing.assert_array_equal(tensors["tail"].read(), [4.0, 5.0])


def test_what_is_no_state_dict_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "m.bin"
    foreign_files.write_torch_zip(path, {}, monkeypatch, state={"epoch": 3, "model": {}})
    with pytest.raises(
        ValueError, match="is not a plain state dict: 'epoch' is not the name of a tensor; save only model"
    ):
        read_torch_file(path)
    foreign_files.write_torch_zip(path, {}, monkeypatch, state=[1, 2])
    with pytest.raises(ValueError, match="holds no state dict .* but a list"):
        read_torch_file(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme.txt", "nothing")
    with pytest.raises(ValueError, match="is a zip archive without a PyTorch state dict"):
        read_torch_file(path)


@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)
def test_damaged_files_never_end_otherwise_than_in_a_sentence(tmp_path, monkeypatch, write):
    path = tmp_path / "m.bin"
    write(path, arrays(), monkeypatch)
    whole, rng, refused = path.read_bytes(), np.random.default_rng(8), 0
    for round_ in range(150):
        damaged = bytearray(whole)
        for place in rng.integers(0, len(whole), 1 + round_ % 6):
            damaged[place] = rng.integers(0, 256)
        path.write_bytes(damaged)
        try:
            for tensor in read_torch_file(path).values():
                tensor.read()
        except ValueError as error:
            refused += 1
            assert "\n" not in str(error)
    assert refused > 50
