"""A check for every HTML page that kbert writes."""

from html.parser import HTMLParser


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
