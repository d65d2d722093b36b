"""Texts for the golden ids: every rule of the original tokenizer matters in at least one of them."""

from tests.kbert.tokenization.texts import LONG_WORDS

TEXTS = (
    "",
    " \t\r\n ",
    "The quick brown fox jumped over the lazy dogs.",
    "unaffable Unaffable UNAFFABLE",
    "It's 9 o'clock; don't! (really?) [MASK] [UNK] a_b-c/d\\e~f^g`h{i|j}k",
    "caf\u00e9 cafe\u0301 \u00c5ngstr\u00f6m A\u030angstro\u0308m \u00d1and\u00fa",
    "\u0130stanbul I\u0131 \u1e9e\u00df \u01c5 \ufb01ne \u017fo",
    "\u039f\u0394\u03a5\u03a3\u03a3\u0395\u03a5\u03a3 \u03a3 \u03c3\u03c2",
    "\u0401\u043b\u043a\u0430 \u0451\u043b\u043a\u0430 \u041c\u043e\u0441\u043a\u0432\u0430",
    "\u6211\u662f\u5b66\u751f \u7684abc\u5b66 \u3400\u4dbf\u4e00\u9fff\uf900\ufaff",
    "\U00020000\U0002a6df\U0002a6e0x\U0002a700\U0002b740\U0002b820\U0002f800\U0002fa1f",
    "\ud55c\uad6d\uc5b4 \u1112\u1161\u11ab \u304c\u30ac \uff76\uff9e \uff21\uff11",
    "a\u00a0b\u1680c\u2003d\u202fe\u205ff\u3000g\u2028h\u2029i\x0bj\x0ck\x85l",
    "soft\u00adhyphen zero\u200bwidth joi\u200dner bom\ufeff \ufffd re\ufffdplaced nul\x00l bel\x07l \x7f",
    "\u2010\u2013\u2014\u2018quoted\u2019 \u201cdouble\u201d \u2026 \u2022",
    "\u00a7 \u00bf \u00ab \u00bb \u3002\u3001\uff01",
    "1\u00bd \u00b2 \u2122 \u20ac5 $5 +1 <2> =3 \u00b0C \U0001f600 \ue000 \u00b7",
    "\u05d0\u0591\u05d1 \u0915\u093f \u0e01\u0e33 e\u0334 \u20dd \U0001d165 \u0345",
    "\U0001d518\U0001d52b \U00010400\U00010428 \u2163 \u00aa",
    "x" * 100 + " " + "wordpiece " * 3,
    *LONG_WORDS,
)  # fmt: skip
