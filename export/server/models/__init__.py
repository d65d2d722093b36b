"""The models of a server: which versions there are, which are loaded, and how a loaded one runs."""
