// Makes the rows of all texts of a JSON file, again and again, and says how many CPU seconds each round took.
//
//   node tokenize.mjs VOCAB_TXT TEXTS_JSON LENGTH ROUNDS

import { readFileSync, writeFileSync } from "node:fs";
import { TextInputs } from "../../export/tokenizers/javascript/text_inputs.js";
import { Vocabulary, tokensOf } from "../../export/tokenizers/javascript/vocabulary.js";

const [vocabTxt, textsJson, length, rounds] = process.argv.slice(2);
const inputs = new TextInputs(new Vocabulary(tokensOf(readFileSync(vocabTxt, "utf8")), true), [Number(length)]);
const texts = JSON.parse(readFileSync(textsJson, "utf8"));
const idsOf = ({ input_ids, input_mask }) => Array.from(input_ids.filter((_, place) => input_mask[place]));

const ids = texts.map((text) => idsOf(inputs.row(text))); // and warms up
const seconds = Array.from({ length: Number(rounds) }, () => {
  const began = process.cpuUsage();
  texts.forEach((text) => inputs.row(text));
  const { user, system } = process.cpuUsage(began);
  return (user + system) / 1e6;
});
writeFileSync(1, JSON.stringify({ ids, seconds }));
