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


# -------------------------------------------------------------- pickles by hand, that nobody writes


def text(value):
    return b"X" + struct.pack("<I", len(value)) + value.encode()


def whole_number(value):
    return pickle.LONG1 + bytes([len(pickle.encode_long(value))]) + pickle.encode_long(value)


REBUILD = b"ctorch._utils\n_rebuild_tensor_v2\n("
FLOATS = b"ctorch\nFloatStorage\n"
PLACE = b"(" + text("storage")
STORAGE = PLACE + FLOATS + text("0") + text("cpu") + b"K\x08tQ"


def tensor(offset, shape, strides):
    numbers = [b"(" + b"".join(map(whole_number, values)) + b"t" for values in (shape, strides)]
    return REBUILD + STORAGE + whole_number(offset) + b"".join(numbers) + b"\x89NtR"


def state_dict_of(value):
    return b"\x80\x02}" + text("w") + value + b"s."


def write_pickle(path, data, numbers=(1,) * 8):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", data)
        archive.writestr("archive/data/0", np.array(numbers, np.float32).tobytes())
    return path


TENSOR = tensor(0, (2,), (1,))
BEYOND = b"J\x00\x00\x01\x00"  # 65,536
DOUBLED = b"K\x01" + b"q\x00h\x00\x86" * 200  # (x, x) of (x, x) of ...: as many ones as no memory holds
DEEP = b"N" + b"\x85" * 100_000
LONG_NUMBER = b"\x8b" + struct.pack("<i", 1_000_000) + b"\x01" * 1_000_000
ORDERED = b"ccollections\nOrderedDict\n"
VIEWS = [
    (0, (9,), (1,)),
    (1, (8,), (1,)),
    (0, (2, 2), (7, 1)),
    (-1, (2,), (1,)),
    (0, (3,), (-1,)),
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
]
FORGED = {
    "dotted name": (b"\x80\x04\x8c\x0bcollections\x8c\x14OrderedDict.fromkeys\x93.", "SHORT_BINUNICODE"),
    "attribute of the function": (
        REBUILD[:-1] + b"}" + text("x") + b"K\x01sb.",
        "a state for the type function",
    ),
    "slots of the function": (
        REBUILD[:-1] + b"N}" + text("__call__") + b"K\x01s\x86b.",
        "a state for the type fun",
    ),
    "extension registry": (b"\x80\x02\x82\x01.", "EXT1"),
    "old style instance": (b"(ios\nsystem\n.", "INST"),
    "a count that is a text": (
        PLACE + FLOATS + text("0") + b"N" + text("1") + b"tQ.",
        "a persistent id",
    ),
    "a class that is a text": (PLACE + text("f") + text("0") + b"NK\x01tQ.", "a persistent id"),
    "persistent id as text": (b"Pstorage\n.", "PERSID"),
    "no pickle": (b"<html>", "not a whole PyTorch file"),
    # The opcode BUILD sets the state of a tensor anew that was good when it was made.
    "a tensor": (
        TENSOR + b"(" + STORAGE + b"K\x00" + BEYOND + b"\x85K\x01\x85tb",
        "a state for the type Torch",
    ),
    "a tensor by slots": (TENSOR + b"N}" + text("offset") + BEYOND + b"s\x86b", "a state for the type Torch"),
    "a tensor's dictionary": (
        TENSOR + b"}" + text("shape") + BEYOND + b"\x85sb",
        "a state for the type Torch",
    ),
    "a storage": (
        STORAGE + b"(" + text("0") + text("float32") + BEYOND + b"tb",
        "a state for the type Storage",
    ),
    # NumPy would hand out whatever lies beside the numbers in memory.
    **{
        f"view {view}"[:40]: (state_dict_of(tensor(*view)), "besides tensors it holds a tensor ")
        for view in VIEWS
    },
    "a text in a shape": (state_dict_of(TENSOR.replace(b"\x8a\x01\x02", text("x"))), "an impossible shape"),
    # Work without bound.
    "a doubled tuple for a key": (b"\x80\x02}" + DOUBLED + b"K\x01s.", "a dictionary of names"),
    "a doubled tuple for a storage": (b"\x80\x02" + DOUBLED + b"Q.", "a persistent id"),
    "a doubled tuple in a set": (b"\x80\x04\x8f(" + DOUBLED + b"\x90.", "EMPTY_SET"),
    "a doubled tuple for a name": (b"\x80\x04" + DOUBLED + DOUBLED + b"\x93.", "STACK_GLOBAL"),
    "a doubled tuple for a shape": (
        state_dict_of(TENSOR.replace(b"(\x8a\x01\x02t", DOUBLED)),
        "besides tensors it holds a tensor ",
    ),
    "a doubled tuple for a state dict": (
        b"\x80\x02" + DOUBLED + b".",
        "holds no state dict .* of type tuple",
    ),
    "a deep tuple for a key": (b"\x80\x02}" + DEEP + b"K\x01s.", "a dictionary of names"),
    "a place in the memo far out": (b"\x80\x02Nr\xff\xff\xff\x7f.", "holds no state dict"),
    "a long list again and again": (
        (b"\x80\x02(" + text("a") + b"K\x01\x86q\x02](" + b"h\x02" * 50_000 + b"eq\x00" + ORDERED)
        + (b"q\x01" + b"h\x01h\x00\x85R" * 3000 + b"t."),
        "a dictionary that is made of pairs",
    ),
    "a long list for each of many pairs": (
        (b"\x80\x02((" + b"K\x01N" * 250_000 + b"tq\x00" + ORDERED + b"(" + b"h\x00" * 230_000) + b"t\x85Rt.",
        "a dictionary that is made of pairs",
    ),
    "a long number for a key": (
        b"\x80\x02" + LONG_NUMBER + b"q\x000}(" + b"h\x00N" * 200_000 + b"u.",
        "LONG4",
    ),
    "a long text for a key": (
        b"\x80\x02" + text("x" * 2_000_000) + b"q\x00}(" + b"h\x00N" * 200_000 + b"u.",
        "a text of 2000000 characters",
    ),
    "millions of steps": (b"\x80\x02" + b"N0" * 2_000_000 + b"N.", "POP"),
    "millions of values": (b"\x80\x02" + b"N" * 2_000_000 + b".", "more than 1000000 instructions"),
    "numbers for names": (b"\x80\x02}K\x01" + TENSOR + b"s.", "a dictionary of names"),
    # Half a surrogate pair: no report can hold it.
    "a name that is not Unicode": (
        state_dict_of(TENSOR).replace(text("w"), b"X\x03\x00\x00\x00\xed\xa0\x80"),
        "not a whole PyTorch file .*codec",
    ),
}


@pytest.mark.parametrize("name", FORGED)
def test_forged_pickles_are_refused_in_one_sentence_and_soon(tmp_path, name):
    data, fact = FORGED[name]
    path = write_pickle(tmp_path / "m.bin", data)
    started = time.thread_time()  # work, not the time for which a machine stands still
    with pytest.raises(ValueError, match=f"^{path} .*{fact}") as error:
        read_torch_file(path)
    assert time.thread_time() - started < 5
    assert str(error.value).isprintable() and len(str(error.value)) < 400


def test_a_view_that_got_past_all_checks_still_reads_nothing_else(tmp_path, monkeypatch):
    """NumPy is given the storage's bytes alone, and checks by itself what lies outside them."""
    monkeypatch.setattr(torch_pickle, "check_view", lambda *arguments: None)
    path = write_pickle(tmp_path / "m.bin", state_dict_of(tensor(0, (65536,), (1,))))
    with pytest.raises(ValueError, match="is not a whole PyTorch file"):
        read_torch_file(path)["w"].read()


def test_views_of_a_storage_are_laid_out(tmp_path):
    """Transposed, from the middle, and with axes of one, which may have any stride inside the storage."""
    for view, expected in (
        ((0, (3, 2), (1, 3)), [[0, 3], [1, 4], [2, 5]]),
        ((4, (2,), (1,)), [4, 5]),
        ((2, (1, 3, 1), (0, 2, 8)), [[[2], [4], [6]]]),
    ):
        path = write_pickle(tmp_path / "m.bin", state_dict_of(tensor(*view)), np.arange(8))
        np.testing.assert_array_equal(read_torch_file(path)["w"].read(), expected)


@pytest.mark.parametrize("name", ["archive/data/0", "archive/data.pkl", "archive/byteorder"])
def test_parts_that_unpack_to_more_than_they_are_refused(tmp_path, monkeypatch, name):
    """torch.save packs nothing: a part that is larger than its bytes in the file was not written by it."""
    path = tmp_path / "m.bin"
    parts = {
        "archive/data.pkl": state_dict_of(TENSOR.replace(b"K\x08tQ", b"J\x00\x00\x00\x02tQ")),
        "archive/byteorder": b"little",
        "archive/data/0": b"\0" * 100,
    }
    parts[name] = b"\0" * (4 << 22)
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


def test_a_part_whose_name_is_not_utf_8_though_it_says_so(tmp_path):
    path = tmp_path / "m.bin"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("ü", b"")
    path.write_bytes(path.read_bytes().replace("ü".encode(), b"\xff\xff"))
    with pytest.raises(ValueError, match=f"^{path} is not a whole PyTorch file .*; download it again.$"):
        read_torch_file(path)
