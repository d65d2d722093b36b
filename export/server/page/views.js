// What is shown of an answer. Each view: title; fits(signature); show(row, asked, info, outputs) -> elements.

import { bars, byId, element, marked } from "./elements.js";
import { findEntities } from "./entities.js";

const has = (signature, ...outputs) => outputs.every((name) => name in signature.outputs);
const takes = (signature, ...inputs) => inputs.every((name) => name in signature.inputs);
const maskOf = (info) => info.special_tokens?.mask ?? "[MASK]";
const headline = (...text) => element("p", { class: "headline", dir: "auto" }, ...text);

function labelsOf(row, asked, info) {
  const names = info.labels ?? row.probabilities.map((_, index) => `label ${index}`);
  const given = (row.labels ?? [row.label]).filter(Boolean);
  const rows = row.probabilities.map((value, index) => ({ name: names[index], value, chosen: given.includes(names[index]) }));
  const thresholds = Object.entries(info.thresholds ?? {}).map(([name, value]) => `${name} from ${value}`);
  return [headline(given.join(", ") || "No label."), bars(rows.sort((a, b) => b.value - a.value)),
    ...(row.labels && thresholds.length ? [element("p", { class: "note" }, `given: ${thresholds.join(", ")}`)] : [])];
}

function choicesOf(row, asked, info) {
  const best = row.probabilities.indexOf(Math.max(...row.probabilities));
  const names = asked.choices ?? asked.candidates;
  const unknown = names.filter((_, index) => row.num_tokens?.[index] === 0);
  if (row.num_tokens?.some((tokens, index) => tokens && tokens !== row.num_masks[index]))
    return [headline(`Write ${maskOf(info)} once, where the words are to stand.`)];
  return [bars(names.map((name, index) => ({ name, value: row.probabilities[index], chosen: index === best }))
    .sort((a, b) => b.value - a.value)), ...(unknown.length ? [element("p", { class: "note" },
    `too long for the model, or with characters that it does not know: ${unknown.join(", ")}`)] : [])];
}

// Entities where the labels are tags of them; otherwise each word with its label.
function entitiesOf(row, asked, info) {
  const words = row.labels.map((type, start) => ({ type, start, end: start + 1 })).filter(({ type }) => type);
  const found = info.tags ? findEntities(row.labels.map((label) => info.tags[label] ?? "O")) : words;
  const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const spans = found.map(({ type, start, end }) => ({ label: type, start: row.starts[start], end: row.ends[end - 1],
    value: mean(row.probabilities.slice(start, end)) }));
  const points = [...asked.text];
  return [marked(asked.text, spans), bars(spans.map(({ start, end, label, value }) =>
    ({ name: `${points.slice(start, end).join("")} (${label})`, value })))];
}

function masksOf(row, asked, info) {
  const token = maskOf(info);
  if (!row.num_masks) return [headline(`Write ${token} where a word is to be found.`)];
  return row.tokens.slice(0, row.num_masks).flatMap((words, mask) => [
    element("h3", {}, `mask ${mask + 1}`),
    bars(words.map((name, index) => ({ name, value: row.probabilities[mask][index], click: () => {
      let seen = -1;
      byId("field-text").value = asked.text.replaceAll(token, (found) => (++seen === mask ? name : found));
    } })).filter(({ name }) => name))]);
}

function questionOf(row, asked) {
  if (row.end === row.start) return [headline("No answer in this paragraph."), marked(asked.context, [])];
  return [headline(row.answer), marked(asked.context, [row]),
    ...(row.score === undefined ? [] : [element("p", { class: "note" }, `score ${row.score.toFixed(3)}`)])];
}

function numberOf(row, asked, info, outputs) {
  const name = ["cosine", "probability", "prediction"].find((each) => outputs.includes(each));
  const value = typeof row === "number" ? row : row[name];
  return [headline(`${name} ${value.toFixed(3)}`), ...(name === "prediction" ? [] : [bars([{ name, value }])])];
}

function rankingOf(ranked, asked) {
  const scores = ranked.map(({ score }) => score); // cosines, or any numbers
  return [bars(ranked.map(({ index, score }) => ({ name: asked.lines[index], value: score })),
    Math.min(0, ...scores), Math.max(1, ...scores))];
}

export const VIEWS = [
  { title: "Question", fits: (s) => takes(s, "question", "context") && has(s, "start", "end", "answer"), show: questionOf },
  { title: "Words", fits: (s) => takes(s, "text") && has(s, "starts", "ends", "labels"), show: entitiesOf },
  { title: "Masks", masks: true, fits: (s) => takes(s, "text", "top_k") && has(s, "tokens", "num_masks"), show: masksOf },
  { title: "Choices", fits: (s) => (takes(s, "choices") || takes(s, "candidates")) && has(s, "probabilities"), show: choicesOf },
  { title: "Labels", fits: (s) => takes(s, "text") && has(s, "probabilities") && (has(s, "label") || has(s, "labels")), show: labelsOf },
  { title: "Number", fits: (s) => takes(s, "text") && ["cosine", "probability", "prediction"].some((name) => has(s, name)), show: numberOf },
  { title: "Rank texts", fields: ["query", "lines"], fits: () => false, show: rankingOf,
    request: (asked) => ["rerank", { query: asked.query, texts: asked.lines, truncate: false }] },
  { title: "By name", fits: () => true, show: (row) => [element("pre", {}, JSON.stringify(row, null, 1))] },
];
