"""What every page that kbert writes has to be."""

from html.parser import HTMLParser


class Balanced(HTMLParser):
    """Fails where a tag is not closed by its own kind."""

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
