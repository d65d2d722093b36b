"""LiteRT files: how they are made, asked, checked and reported on."""
