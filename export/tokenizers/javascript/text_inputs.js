// A text or a pair -> encoder inputs: [CLS] a [SEP] b [SEP] and padding.

import { WordPieceTokenizer } from "./wordpiece_tokenizer.js";

const SHORTEST = 4;

export class TextInputs {
  /**
   * vocabulary: a `Vocabulary`. lengths: those of the model's signatures, ascending or not, each at least 4;
   * texts are cut at the longest, and padded to the shortest that has room.
   */
  constructor(vocabulary, lengths) {
    if (!lengths.length || !lengths.every((length) => Number.isInteger(length) && length >= SHORTEST))
      throw new Error(`lengths [${lengths}]: expected one or more whole numbers of at least ${SHORTEST}.`);
    this.vocabulary = vocabulary;
    this.lengths = [...lengths].sort((a, b) => a - b);
    this.tokenizer = new WordPieceTokenizer(vocabulary);
  }

  /**
   * The row of a text, or of a text and its second text: {input_ids, input_mask, segment_ids}, each an
   * Int32Array as long as the signature that has room.
   */
  row(text, pair = null) {
    const [first, second] = this.segments(text, pair);
    const used = first.length + second.length;
    const length = this.lengths.find((each) => each >= used);
    const input_ids = new Int32Array(length).fill(this.vocabulary.padId);
    input_ids.set([...first, ...second]);
    return {
      input_ids,
      input_mask: new Int32Array(length).fill(1, 0, used),
      segment_ids: new Int32Array(length).fill(1, first.length, used),
    };
  }

  /** [CLS] a [SEP], and b [SEP] or nothing, cut to fit. */
  segments(text, pair) {
    const { clsId, sepId } = this.vocabulary;
    const longest = this.lengths.at(-1);
    const first = this.tokenizer.ids(text);
    if (pair === null) return [[clsId, ...first.slice(0, longest - 2), sepId], []];
    const second = this.tokenizer.ids(pair);
    const [keptFirst, keptSecond] = truncatedLengths(first.length, second.length, longest - 3);
    return [
      [clsId, ...first.slice(0, keptFirst), sepId],
      [...second.slice(0, keptSecond), sepId],
    ];
  }
}

/**
 * Lengths of two texts after popping from the longer (on a tie, from the second) until they fit:
 * `_truncate_seq_pair` of the original's run_classifier.py, in closed form.
 */
export function truncatedLengths(first, second, room) {
  const keptFirst = Math.min(first, Math.max(Math.ceil(room / 2), room - second));
  return [keptFirst, Math.min(second, room - keptFirst)];
}
