"""WordPieces -> the automaton of Fast WordPiece, as arrays.

Source: Song et al., "Fast WordPiece Tokenization" (arXiv 2012.15524), algorithms 1 and 2. In a trie of pieces
each node also says what to do when the next character does not continue it: which pieces are complete (its
failure pops), and with which node to go on (its failure link). So a word is read once, from left to right.
"""

from typing import NamedTuple

import numpy as np

# Nodes: the roots of the pieces inside of a word ("##...") and of those at its start; where a word was read.
INNER, START, END = 0, 1, 2
SEPARATOR = "\0"  # behind each word; no word and no piece has it
BITS_PER_CHARACTER = 21


class WordpieceAutomaton(NamedTuple):
    """Nodes are numbered by depth and by the characters that lead to them, so that `edges` ascends.

    Attributes:
      edges: int64 [edges + 1]: `node << 21 | code point` for each edge, ascending, and a last number that is
        greater than all. Edge i leads to node i + 2.
      failures: int32 [nodes]: the failure link of each node; END where no pieces make the word.
      pops: int32 [all pops]: the failure pops of all nodes, one node behind the other. Where no pieces make
        the word this is the unknown piece.
      pop_splits: int32 [nodes + 1]: where those of each node start.
    """

    edges: np.ndarray
    failures: np.ndarray
    pops: np.ndarray
    pop_splits: np.ndarray


def build_automaton(tokens, unknown_id: int) -> WordpieceAutomaton:
    """The automaton of a vocabulary.

    Args:
      tokens: the pieces in id order.
      unknown_id: the id of words that no pieces make.
    """
    children, piece_ids = _build_trie(tokens)
    failures, pops = {INNER: END, START: END, END: END}, {INNER: (unknown_id,), START: (unknown_id,), END: ()}

    def fail(node, character, child):
        """The failure link and pops of a child: with the node's, as far as the character goes on there."""
        if child in piece_ids:
            return INNER, (piece_ids[child],)
        complete, node = pops[node], failures[node]
        while node != END and character not in children[node]:
            complete, node = complete + pops[node], failures[node]
        return (END, (unknown_id,)) if node == END else (children[node][character], complete)

    order, edges = [INNER, START], []
    for number, node in enumerate(order):  # which grows: breadth first
        for character, child in sorted(children[node].items()):
            edges.append(number << BITS_PER_CHARACTER | ord(character))
            order.append(child)
            if child != END:
                failures[child], pops[child] = fail(node, character, child)
    numbers = {node: number for number, node in enumerate(order)}
    return WordpieceAutomaton(
        np.array([*edges, np.iinfo(np.int64).max]),
        np.array([numbers[failures[node]] for node in order], np.int32),
        np.array([piece for node in order for piece in pops[node]], np.int32),
        np.cumsum([0, *(len(pops[node]) for node in order)], dtype=np.int32),
    )


def _build_trie(tokens):
    """For each node, character -> child; and the ids of nodes that are pieces."""
    children, piece_ids = [{SEPARATOR: END}, {}, {}], {}
    for index, token in enumerate(tokens):
        node = INNER if token.startswith("##") else START
        for character in token.removeprefix("##"):
            if character not in children[node]:
                children[node][character] = len(children)
                children.append({})
            node = children[node][character]
        if node > END:  # not the empty piece, which no word has
            piece_ids[node] = index
    return children, piece_ids
