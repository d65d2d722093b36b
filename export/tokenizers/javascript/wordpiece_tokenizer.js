// Words -> WordPiece ids: greedy longest match first.

import { splitWords } from "./word_splitter.js";

// tokenization.py, WordpieceTokenizer(max_input_chars_per_word=200): longer words become [UNK].
const MAX_CHARACTERS_PER_WORD = 200;

export class WordPieceTokenizer {
  /** vocabulary: its casing decides lower-casing and accents. */
  constructor(vocabulary) {
    this.vocabulary = vocabulary;
    this.first = vocabulary.ids; // no word begins with ##: it is punctuation, and so split off
    this.inner = new Map();
    for (const [token, id] of vocabulary.ids) if (token.startsWith("##")) this.inner.set(token.slice(2), id);
    this.longest = vocabulary.tokens.reduce((longest, token) => Math.max(longest, [...token].length), 0);
  }

  /** The ids of a text, without [CLS] and [SEP]. */
  ids(text) {
    return splitWords(text, this.vocabulary.doLowerCase).flatMap((word) => this.pieces(word));
  }

  pieces(word) {
    const characters = Array.from(word);
    const unknown = [this.vocabulary.unkId];
    if (characters.length > MAX_CHARACTERS_PER_WORD) return unknown;
    const ids = [];
    for (let start = 0; start < characters.length; ) {
      const known = start ? this.inner : this.first;
      let end = Math.min(characters.length, start + this.longest);
      let piece = characters.slice(start, end).join("");
      while (end > start && !known.has(piece)) piece = piece.slice(0, -characters[--end].length);
      if (end === start) return unknown;
      ids.push(known.get(piece));
      start = end;
    }
    return ids;
  }
}
