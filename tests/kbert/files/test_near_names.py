"""Names that may be meant: equal but for case, quotes and Unicode's form, or nearly alike."""

import unicodedata

import pytest

from kbert.files.near_names import did_you_mean


@pytest.mark.parametrize(
    ("name", "names", "said"),
    [
        ("category", ["text", "Category"], " Did you mean 'Category'?"),
        ("label", ["text", "labels"], " Did you mean 'labels'?"),
        ("label", ["text"], ""),
    ],
)
def test_a_near_name_is_asked_for(name, names, said):
    assert did_you_mean(name, names) == said


@pytest.mark.parametrize("name", ["제목", "Überschrift"])
@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_the_same_letters_in_another_form_are_called_so(name, form):
    other = unicodedata.normalize({"NFC": "NFD", "NFD": "NFC"}[form], name)
    said = did_you_mean(unicodedata.normalize(form, name), ["text", other])
    assert said.startswith(f" {other!r} has the same letters") and "normalize('NFC', name)" in said
