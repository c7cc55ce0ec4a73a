"""What all drawings share."""

import sys

import pytest

from pgcpe.plotting.axes import BEST, OTHER, escaped, pyplot


def test_without_matplotlib_the_error_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"pip install 'pgcpe\[plot\]'"):
        pyplot()


def test_a_text_is_no_formula():
    assert escaped("costs $5 or $6") == r"costs \$5 or \$6"


def test_the_colours_differ_in_grey():
    """By luma (ITU-R BT.601) more than a fifth of the range apart."""

    def luma(colour):
        red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
        return (0.299 * red + 0.587 * green + 0.114 * blue) / 255

    assert luma(OTHER) - luma(BEST) > 0.2
