// Text -> the words and marks that WordPiece sees: the graph's split_words, character by character.

import { CodePointSet } from "./code_points.js";
import { fold } from "./lower_casing.js";
import { ALONE, DROPPED, SPACES } from "./unicode_tables.js";

const SPACE = 0x20;
const spaces = new CodePointSet(SPACES);
const dropped = new CodePointSet(DROPPED);
const alone = new CodePointSet(ALONE);

/**
 * The words and marks of a text, normalized.
 *
 * text: any string; halves of surrogate pairs are ignored. doLowerCase: lower-case and strip accents.
 */
export function splitWords(text, doLowerCase) {
  const cleaned = clean(text);
  const words = [""];
  for (const code of doLowerCase ? fold(cleaned) : cleaned) {
    const character = String.fromCodePoint(code);
    if (code === SPACE) words.push("");
    else if (alone.has(code)) words.push(character, "");
    else words[words.length - 1] += character;
  }
  return words.filter((word) => word !== "");
}

function clean(text) {
  const codes = Array.from(text, (character) => character.codePointAt(0));
  return codes.filter((code) => !dropped.has(code)).map((code) => (spaces.has(code) ? SPACE : code));
}
