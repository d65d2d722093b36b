"""Values become the arrays of a request, or are refused before anything is sent."""

import numpy as np
import pytest

from export.client.example_batches import arrays_of
from export.client.model_signatures import ModelSignature, Tensor


def arrays(values, dtype, settings=None):
    inputs = {"one": Tensor(np.dtype(dtype), (None, None)), "top_k": Tensor(np.dtype(np.int32), ())}
    signature = ModelSignature("s", inputs, {})
    return arrays_of([{"one": value} for value in values], settings or {"top_k": 1}, signature)


def test_strings_are_sent_as_bytes_of_any_kind():
    column = arrays(["a\0", b"\xfe", "é"], object)["one"]
    assert column.dtype == object and column.tolist() == [b"a\0", b"\xfe", "é".encode()]
    rows = arrays([["a\0", "b"], ["c", "d"]], object)["one"]
    assert rows.tolist() == [[b"a\0", b"b"], [b"c", b"d"]]
    assert arrays([[]], object)["one"].shape == (1, 0)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([None], "None .NoneType."),
        (["a", 5], "5 .int."),
        ([5, "a"], "5 .int."),
        (["a", {"b": 1}], "{'b': 1} .dict."),
        ([["a", None]], "None .NoneType."),
        ([["a"], ["b", "c"]], r"\['a'\] .list."),
    ],
)
def test_what_is_no_string_is_refused(values, kind):
    with pytest.raises(ValueError, match=f"input 'one' of signature 's' takes strings; received {kind}"):
        arrays(values, object)


def test_whole_numbers_that_do_not_fit_are_refused():
    limits = np.iinfo(np.int32)
    assert arrays([[limits.min, limits.max]], np.int32)["one"].tolist() == [[limits.min, limits.max]]
    for number in (limits.max + 1, limits.min - 1, 2**63, 10**30):
        with pytest.raises(
            ValueError, match=rf"received \[{number}\]; expected .* from -2147483648 to 2147483647"
        ):
            arrays([number], np.int32)
    with pytest.raises(ValueError, match=r"'top_k' .* takes int32; received \[4294967301\]; expected whole"):
        arrays(["a"], object, {"top_k": 4294967301})
    with pytest.raises(ValueError, match=r"takes uint8; received \[-1\]; expected .* from 0 to 255"):
        arrays([-1], np.uint8)
    assert arrays([255], np.uint8)["one"].tolist() == [255]
