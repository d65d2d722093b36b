"""Checks for every HTML page that kbert writes."""

from html.parser import HTMLParser


def read_page(path) -> str:
    """The page in a file; fails unless it is whole, loads nothing, runs nothing and is smaller than 2 MB."""
    html = path.read_text(encoding="utf-8")
    LoadsNothing().check(html)
    assert len(html.encode("utf-8")) < 2_000_000
    return html


class Balanced(HTMLParser):
    """Fails if a tag is not closed by the matching end tag."""

    VOID = {"meta", "img", "rect", "line", "br"}

    def check(self, html):
        self.open_tags = []
        self.feed(html)
        self.close()
        assert self.open_tags == []

    def handle_starttag(self, tag, attributes):
        if tag not in self.VOID:
            self.open_tags.append(tag)

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self.open_tags.pop() == tag


class LoadsNothing(Balanced):
    """Fails also if a page holds scripts, or anything that a browser would have to fetch."""

    def handle_starttag(self, tag, attributes):
        super().handle_starttag(tag, attributes)
        assert tag not in ("script", "link", "iframe", "object", "embed", "base", "form")
        for name, value in attributes:
            assert not name.startswith("on"), (tag, name)
            assert "url(" not in (value or "") or name != "style"
            if name in ("src", "href", "xlink:href", "srcset", "data"):
                assert value.startswith(("data:image/png;base64,", "#")), (tag, value)

    def handle_data(self, data):
        if self.open_tags and self.open_tags[-1] == "style":
            assert "@import" not in data and "url(" not in data
