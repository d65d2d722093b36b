"""Which module belongs to which area of the library, and to which split."""

SPLITS = ("train", "dev", "test")

# Area of the library -> the modules whose sentences describe it, for train, dev and test. A name
# stands for its submodules too ("xml" for xml.dom.minidom); the longest name that fits is used.
# Modules that were added or removed between CPython 3.11 and 3.13 may be listed: a missing one is ignored.
AREAS: dict[str, tuple[str, str, str]] = {
    "internet": (
        "http urllib email imaplib ftplib socketserver ipaddress telnetlib smtpd cgi netrc",
        "wsgiref poplib webbrowser nntplib",
        "smtplib ssl socket xmlrpc mailbox",
    ),
    "files": (
        "os shutil zipfile io _pyio gzip fileinput stat glob genericpath posixpath dbm filecmp",
        "tempfile bz2 fnmatch zipapp",
        "pathlib tarfile lzma ntpath",
    ),
    "concurrency": (
        "asyncio multiprocessing _threading_local signal",
        "subprocess selectors sched",
        "threading concurrent queue",
    ),
    "numbers": (
        "_pydecimal statistics datetime _pydatetime",
        "_strptime zoneinfo colorsys numbers _pylong",
        "random calendar fractions",
    ),
    "language": (
        "typing importlib ast functools enum abc contextlib pkgutil pickletools types weakref",
        "codeop code dataclasses dis",
        "inspect pyclbr symtable tokenize modulefinder runpy imp",
    ),
    "testing": (
        "unittest pdb doctest logging trace profile cgitb",
        "timeit warnings logging.config",
        "bdb traceback pstats tracemalloc",
    ),
    "graphics": (
        "tkinter turtledemo idlelib",
        "tkinter.filedialog tkinter.simpledialog tkinter.font tkinter.dnd tkinter.colorchooser"
        " tkinter.messagebox tkinter.scrolledtext tkinter.tix curses",
        "tkinter.ttk turtle",
    ),
}


def area_of_module(module: str) -> tuple[str, str] | None:
    """Returns `(label, split)` of a module, or None for a module outside every area."""
    name = module
    while name:
        if name in _PLACES:
            return _PLACES[name]
        name = name.rpartition(".")[0]
    return None


_PLACES = {
    name: (label, split)
    for label, names_by_split in AREAS.items()
    for split, names in zip(SPLITS, names_by_split, strict=True)
    for name in names.split()
}
