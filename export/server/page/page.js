// The page to try a model: the names of a signature's inputs and outputs decide what is shown of it.

import { VIEWS } from "./views.js";
import { byId, element } from "./elements.js";

const state = { signatures: {}, info: {}, view: null, name: "", key: "" };

class Refused extends Error {}

// Paths are relative, for a proxy may serve this page below a path of its own.
async function ask(path, body) {
  const headers = state.key ? { authorization: `Bearer ${state.key}` } : {};
  const options = body === undefined ? { headers } : { headers, method: "POST", body: JSON.stringify(body) };
  const response = await fetch(path, options);
  if (response.status === 401) {
    byId("key").hidden = false;
    byId("links").hidden = true; // a link brings no key
  }
  const answer = await response.json();
  const error = answer.error?.message ?? answer.error;
  if (!response.ok) throw new Refused(`The server refuses this (${response.status}): ${error}`);
  return answer;
}

async function start() {
  state.info = await ask("info");
  const model = encodeURIComponent(state.info.model_id);
  const { metadata } = await ask(`v1/models/${model}/metadata`);
  state.signatures = metadata.signature_def.signature_def;
  state.path = `v1/models/${model}:predict`;
  byId("model").textContent = `${state.info.model_id}, version ${state.info.version}`;
  document.title = `${state.info.model_id} - kbert serve`;
  const names = Object.keys(state.signatures).sort((a, b) => (b === "serving_default") - (a === "serving_default"));
  const choices = names.filter((name) => !["classify", "regress", "classify_pair", "regress_pair"].includes(name))
    .map((name) => [name, VIEWS.find((view) => view.fits(state.signatures[name]))]);
  if (state.info.can.rank) choices.push(["/rerank", VIEWS.find((view) => view.title === "Rank texts")]);
  choices.sort(([, a], [, b]) => (a.title === "By name") - (b.title === "By name"));
  byId("views").replaceChildren(element("legend", {}, "What to try"), ...choices.map(([name, view]) => {
    const input = element("input", { type: "radio", name: "view", value: name });
    input.addEventListener("change", () => choose(name, view));
    return element("label", {}, input, ` ${view.title} `, element("small", {}, name));
  }));
  byId("views").querySelector("input").click();
}

function choose(name, view) {
  state.name = name;
  state.view = view;
  byId("answer").hidden = byId("request").hidden = true;
  const inputs = view.fields ?? Object.keys(state.signatures[name].inputs).sort(
    (a, b) => order(state.signatures[name], a) - order(state.signatures[name], b));
  byId("fields").replaceChildren(...inputs.map(field));
}

// Texts before settings; a question before its context, a text before its choices or its pair.
const ORDER = ["question", "query", "text", "context", "text_pair", "choices", "candidates", "lines", "top_k", "whole_words"];
const order = (signature, name) => ORDER.indexOf(name) + 1 || 99;

const LABELS = { text: "Text", text_pair: "Second text", question: "Question", context: "Paragraph", query: "Query",
  lines: "Texts to rank, one a line", choices: "Choices, one a line", candidates: "Words, one a line",
  top_k: "How many words", whole_words: "Whole words only" };

function field(name) {
  const id = `field-${name}`;
  const label = element("label", { for: id }, LABELS[name] ?? `${name} (JSON, a row for each example)`);
  if (name === "whole_words") {
    label.prepend(element("input", { id, type: "checkbox", checked: "" }), " ");
    return label;
  }
  if (name === "top_k") return element("div", {}, label, element("input", { id, type: "number", min: 1, max: 1000, value: 5 }));
  const area = element("textarea", { id, dir: "auto", rows: name === "context" || name === "lines" ? 6 : 3 });
  const parts = [label, area];
  if (state.info.can.tokenize && ["text", "question", "query"].includes(name) && !state.view.masks) {
    const pieces = element("p", { class: "pieces" });
    let timer;
    area.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(() => showPieces(area, pieces), 250);
    });
    parts.push(pieces);
  }
  return element("div", {}, ...parts);
}

async function showPieces(area, place) {
  const text = area.value;
  const prompt = area.id === "field-query" ? { prompt_name: "query" } : {};
  try {
    const [pieces] = text ? await ask("tokenize", { inputs: text, ...prompt }) : [[]];
    if (area.value !== text) return; // another answer is on its way
    const shown = pieces.filter((piece) => !piece.special);
    place.replaceChildren(...(shown.length ? [`${shown.length} tokens: `] : []), ...shown.slice(0, 1000).map((piece) =>
      element("span", { class: piece.text === state.info.special_tokens.unk ? "unknown" : "" }, piece.text)));
  } catch (error) {
    place.replaceChildren(error.message);
  }
}

function values() {
  const found = {};
  for (const one of byId("fields").querySelectorAll("textarea, input")) {
    const name = one.id.replace("field-", "");
    if (one.type === "checkbox") found[name] = one.checked;
    else if (name === "top_k") found[name] = Number(one.value);
    else if (["choices", "candidates", "lines"].includes(name)) {
      found[name] = one.value.split("\n").filter((line) => line.trim());
      if (!found[name].length) throw new Refused(`“${LABELS[name]}” is empty. Write at least one line.`);
    } else if (name in LABELS) found[name] = one.value;
    else try { found[name] = JSON.parse(one.value); } catch { throw new Refused(`${name} is no JSON.`); }
  }
  return found;
}

async function send(event) {
  event?.preventDefault();
  const answer = byId("answer");
  try {
    const asked = values();
    const [path, body] = state.view.request?.(asked) ?? [state.path, predictBody(asked)];
    const began = performance.now();
    const outputs = await ask(path, body);
    const row = outputs.predictions?.[0] ?? firstRow(outputs.outputs) ?? outputs;
    const milliseconds = Math.round(performance.now() - began);
    answer.replaceChildren(...state.view.show(row, asked, state.info, onlyOutput()));
    if (row.truncated) answer.prepend(element("p", { class: "error" },
      "The text is too long for this model. A part was cut off, and the answer is of the rest."));
    answer.append(element("p", { class: "note" }, `${milliseconds} ms, seen from this browser`));
    const quoted = JSON.stringify(body).replaceAll("'", "'\\''");
    const header = state.key ? '-H "Authorization: Bearer $KBERT_API_KEY" ' : "";
    byId("request").querySelector("pre").textContent =
      `curl ${header}-d '${quoted}' ${new URL(path, document.baseURI)}`;
    byId("request").hidden = false;
  } catch (error) {
    const message = error instanceof Refused ? error.message : `No answer: ${error.message}`;
    answer.replaceChildren(element("p", { class: "error" }, message));
  }
  answer.hidden = false;
}

function predictBody(asked) {
  const signature = state.signatures[state.name];
  const known = Object.keys(asked).every((name) => name in LABELS);
  if (!known) return { signature_name: state.name, inputs: asked };
  const isSetting = (name) => !signature.inputs[name].tensor_shape.dim?.length;
  if (!Object.keys(asked).some(isSetting)) return { signature_name: state.name, instances: [asked] };
  const columns = Object.entries(asked).map(([name, value]) => [name, isSetting(name) ? value : [value]]);
  return { signature_name: state.name, inputs: Object.fromEntries(columns) };
}

const onlyOutput = () => Object.keys(state.signatures[state.name]?.outputs ?? {});

function firstRow(columns) {
  if (columns === undefined) return undefined;
  const names = onlyOutput();
  if (names.length === 1) return { [names[0]]: columns[0] };
  return Object.fromEntries(Object.entries(columns).map(([name, value]) => [name, value[0]]));
}

byId("form").addEventListener("submit", send);
byId("form").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) send(event);
});
byId("key").querySelector("input").addEventListener("change", (event) => {
  state.key = event.target.value;
  begin();
});

const begin = () => start().catch((error) => {
  byId("answer").replaceChildren(element("p", { class: "error" }, error.message));
  byId("answer").hidden = false;
});
begin();
