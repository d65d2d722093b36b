// Answers the questions of languages.py with the tokenizer in JavaScript.
//
//   node answer.mjs VOCAB_TXT KBERT_JSON LENGTH,LENGTH < questions > answers

import { readFileSync, writeFileSync } from "node:fs";
import { TextInputs } from "../../../../export/tokenizers/javascript/text_inputs.js";
import { Vocabulary } from "../../../../export/tokenizers/javascript/vocabulary.js";
import { splitWords } from "../../../../export/tokenizers/javascript/word_splitter.js";

const [vocabTxt, kbertJson, lengths] = process.argv.slice(2);
let vocabulary, inputs;
try {
  vocabulary = Vocabulary.ofExport(readFileSync(vocabTxt, "utf8"), readFileSync(kbertJson, "utf8"));
  inputs = new TextInputs(vocabulary, lengths.split(",").map(Number));
} catch (error) {
  console.error(`error: ${error.message}`);
  process.exit(1);
}

const textOf = (codes) =>
  codes === "" ? "" : codes.split(" ").map((code) => String.fromCodePoint(parseInt(code, 16))).join("");
const codesOf = (word) => Array.from(word, (character) => character.codePointAt(0).toString(16)).join(" ");

function answer(question) {
  const [kind, text, pair] = question.split("\t");
  if (kind === "words") return splitWords(textOf(text), vocabulary.doLowerCase).map(codesOf).join(" 20 ");
  if (kind === "ids") return inputs.tokenizer.ids(textOf(text)).join(" ");
  const row = inputs.row(textOf(text), pair === undefined ? null : textOf(pair));
  return Object.values(row)
    .map((values) => values.join(" "))
    .join("\t");
}

const questions = readFileSync(0, "utf8").split("\n").slice(0, -1);
writeFileSync(1, questions.map((question) => answer(question) + "\n").join(""));
