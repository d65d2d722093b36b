"""Which module belongs to which area."""

from tfrecords_tools.corpus.embedded_text.areas import area_of_module


def test_the_longest_name_decides_the_area():
    assert area_of_module("tkinter") == ("graphics", "train")
    assert area_of_module("tkinter.ttk") == ("graphics", "test")
    assert area_of_module("email.mime.text") == ("internet", "train")
    assert area_of_module("antigravity") is None
