// Lower case, decomposed, without accents: as the graph's StringLower, NFD and dropping of marks.

import { CodePointSet, numbers } from "./code_points.js";
import * as tables from "./unicode_tables.js";

// Hangul syllables are arithmetic: The Unicode Standard, 3.12, "Conjoining Jamo Behavior".
const FIRST_SYLLABLE = 0xac00;
const LAST_SYLLABLE = 0xd7a3;
const [LEADING, VOWEL, TRAILING] = [0x1100, 0x1161, 0x11a7];
const [VOWELS, TRAILINGS] = [21, 28];
const [CAPITAL_SIGMA, SMALL_SIGMA, FINAL_SIGMA] = [0x3a3, 0x3c3, 0x3c2];

const accents = new CodePointSet(tables.ACCENTS);
const fixedAccents = new CodePointSet(tables.FIXED_ACCENTS);
const cased = new CodePointSet(tables.CASED);
const caseIgnorable = new CodePointSet(tables.CASE_IGNORABLE);
const folded = numbers(tables.FOLDED);
const markOrder = numbers(tables.MARK_ORDER);

/** The lower-case text, decomposed and without accents: code points in, code points out. */
export function fold(codes) {
  const result = [];
  let runStart = 0; // where the marks begin that may be put into another order
  codes.forEach((code, place) => {
    if (accents.has(code)) {
      if (fixedAccents.has(code)) runStart = result.length;
      return;
    }
    for (const part of code === CAPITAL_SIGMA ? [smallSigma(codes, place)] : partsOf(code))
      runStart = put(part, result, runStart);
  });
  return result;
}

/** Appends a code point, a mark at its place in NFD's order; returns where the run of marks begins. */
function put(code, result, runStart) {
  const rank = rankOf(code);
  let place = result.length;
  while (rank > 0 && place > runStart && rankOf(result[place - 1]) > rank) place--;
  result.splice(place, 0, code);
  return rank > 0 ? runStart : result.length;
}

function rankOf(code) {
  return markOrder.get(code)?.[0] ?? 0;
}

function partsOf(code) {
  if (code >= FIRST_SYLLABLE && code <= LAST_SYLLABLE) return jamo(code - FIRST_SYLLABLE);
  return folded.get(code)?.map((shift) => code + shift) ?? [code];
}

/** The two or three letters of a Hangul syllable. */
function jamo(syllable) {
  const trailing = syllable % TRAILINGS;
  const rest = (syllable - trailing) / TRAILINGS;
  const parts = [LEADING + Math.floor(rest / VOWELS), VOWEL + (rest % VOWELS)];
  return trailing ? [...parts, TRAILING + trailing] : parts;
}

/** At the end of a word a capital sigma becomes the final one: The Unicode Standard, table 3-17. */
function smallSigma(codes, place) {
  return meetsCased(codes, place, -1) && !meetsCased(codes, place, 1) ? FINAL_SIGMA : SMALL_SIGMA;
}

function meetsCased(codes, place, step) {
  do place += step;
  while (place >= 0 && place < codes.length && caseIgnorable.has(codes[place]));
  return place >= 0 && place < codes.length && cased.has(codes[place]);
}
