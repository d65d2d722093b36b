// The pieces of a text as the model sees them, made in the browser while it is typed.

import { element } from "./elements.js";
import { readVocabulary } from "./server.js";
import { Vocabulary, tokensOf } from "./tokenizer/vocabulary.js";
import { WordPieceTokenizer } from "./tokenizer/wordpiece_tokenizer.js";

const MASK = "[MASK]";
const MOST_SHOWN = 300;

export class Pieces {
  /** vocabulary: a `Vocabulary` of the tokenizer. */
  constructor(vocabulary) {
    this.vocabulary = vocabulary;
    this.tokenizer = new WordPieceTokenizer(vocabulary);
  }

  /** Those of a model; null where its export has no vocabulary. */
  static async of({ name, has_vocabulary: isThere }) {
    if (!isThere) return null;
    const { vocab_txt: vocabTxt, do_lower_case: doLowerCase } = await readVocabulary(name);
    return new Pieces(new Vocabulary(tokensOf(vocabTxt), doLowerCase));
  }

  /** What a line holds: how many pieces, and each. readsMasks: [MASK] in the text is the mask, not letters. */
  line(text, readsMasks) {
    const ids = readsMasks ? this.idsWithMasks(text) : this.tokenizer.ids(text);
    const unknown = ids.filter((id) => id === this.vocabulary.unkId).length;
    const count = `${ids.length} ${ids.length === 1 ? "piece" : "pieces"}`;
    const more = ids.length > MOST_SHOWN ? [`and ${ids.length - MOST_SHOWN} more`] : [];
    const shown = ids.slice(0, MOST_SHOWN).flatMap((id) => [this.piece(id), " "]);
    return [unknown ? `${count}, ${unknown} not in the vocabulary: ` : `${count}: `, ...shown, ...more];
  }

  piece(id) {
    const isUnknown = id === this.vocabulary.unkId;
    return element("span", { class: isUnknown ? "piece unknown" : "piece" }, this.vocabulary.tokens[id]);
  }

  idsWithMasks(text) {
    const mask = this.vocabulary.ids.get(MASK);
    return text
      .split(MASK)
      .flatMap((part, index) => (index ? [mask, ...this.tokenizer.ids(part)] : this.tokenizer.ids(part)));
  }
}
