// vocab.txt -> ids, special tokens, casing.

import { ranges } from "./code_points.js";
import { STRIPPED } from "./unicode_tables.js";

const SPECIAL_TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"];
const whiteSpace = ranges(STRIPPED)
  .map(([first, last]) => `\\u{${first.toString(16)}}-\\u{${last.toString(16)}}`)
  .join("");
const around = new RegExp(`^[${whiteSpace}]+|[${whiteSpace}]+$`, "gu"); // trim() takes U+FEFF too

/** The WordPieces of a vocab.txt (one a line, id = line number from 0) and their casing. */
export class Vocabulary {
  /**
   * tokens: the pieces in the order of their ids; doLowerCase: whether texts are lower-cased and stripped of
   * accents. Throws for a token that stands twice and for a missing special token.
   */
  constructor(tokens, doLowerCase) {
    this.tokens = tokens;
    this.doLowerCase = doLowerCase;
    this.ids = new Map();
    tokens.forEach((token, id) => {
      if (this.ids.has(token))
        throw new Error(
          `vocab.txt: token ${JSON.stringify(token)} stands on line ${this.ids.get(token) + 1} and again on ` +
            `line ${id + 1}; every token may stand once.`,
        );
      this.ids.set(token, id);
    });
    const missing = SPECIAL_TOKENS.filter((token) => !this.ids.has(token));
    if (missing.length)
      throw new Error(
        `vocab.txt lacks the special tokens ${missing.join(", ")}; a BERT vocabulary has ` +
          `${SPECIAL_TOKENS.join(", ")}, each on a line of its own.`,
      );
    [this.padId, this.unkId, this.clsId, this.sepId] = SPECIAL_TOKENS.map((token) => this.ids.get(token));
  }

  /** Reads the texts of the two files of an export: vocab.txt, and kbert.json for the casing. */
  static ofExport(vocabTxt, kbertJson) {
    const doLowerCase = JSON.parse(kbertJson).vocabulary?.do_lower_case;
    if (typeof doLowerCase !== "boolean")
      throw new Error("kbert.json does not say the casing: expected vocabulary.do_lower_case, true or false.");
    return new Vocabulary(tokensOf(vocabTxt), doLowerCase);
  }
}

/** The tokens of the text of a vocab.txt; lines are stripped, as the original's load_vocab does. */
export function tokensOf(vocabTxt) {
  const lines = vocabTxt.replace(/^\ufeff/, "").split("\n"); // "\n" alone ends a line
  if (lines.at(-1) === "") lines.pop();
  return lines.map((line, place) => {
    if (/^[ \t\r]*$/.test(line))
      throw new Error(`vocab.txt line ${place + 1} is empty; expected one WordPiece a line.`);
    return line.replace(around, "");
  });
}
