// The page: choose a model and a view, ask, read.

import { showAnswer, showMessage, showRequest } from "./answer.js";
import { element } from "./elements.js";
import { Form } from "./form.js";
import { Pieces } from "./pieces.js";
import { Refused, makeRequest, readModels, readSignatures, readTroubles, send } from "./server.js";
import { viewsOf } from "./views/table.js";

const [modelList, version, views, fields, askButton, answerPlace, requestPlace] = [
  "model",
  "version",
  "views",
  "fields",
  "ask",
  "answer",
  "request",
].map((id) => document.getElementById(id));
const form = new Form(fields, (text) => showMessage(answerPlace, text, "note"));
let models = [];
let pieces = null; // of the model's vocabulary, where it has one
let shown = null; // {model, signature, view}: what the form is for
let numAsked = 0;

async function start() {
  models = await readModels();
  modelList.replaceChildren(...models.map(({ name }) => element("option", {}, name)));
  modelList.addEventListener("change", () => guarded(showModel));
  document.getElementById("form").addEventListener("submit", (event) => {
    event.preventDefault();
    guarded(ask);
  });
  await showModel();
}

async function showModel() {
  const name = modelList.value;
  const model = models.find((each) => each.name === name);
  clear();
  const [signatures, troubles, itsPieces] = await Promise.all([
    readSignatures(name),
    readTroubles(name),
    model ? Pieces.of(model) : null,
  ]);
  if (modelList.value !== name) return; // another one was chosen meanwhile
  pieces = itsPieces;
  version.textContent = [model.version === null ? "" : `version ${model.version}`, ...troubles].join(" ");
  showViews(model, signatures);
}

function showViews(model, signatures) {
  const offered = signatures.flatMap((signature) =>
    viewsOf(signature).map((view) => ({ model, signature, view })),
  );
  offered.sort((a, b) => rank(a) - rank(b) || a.signature.name.localeCompare(b.signature.name));
  const tabs = offered.map((each, index) => tab(each, index === 0));
  views.replaceChildren(element("legend", {}, "What to try"), ...tabs);
  if (offered.length) showView(offered[0]);
  else showMessage(answerPlace, "This model has no signature that takes inputs by name.", "note");
}

function clear() {
  shown = null;
  version.textContent = "";
  for (const place of [views, fields]) place.replaceChildren();
  dropAnswer();
}

function dropAnswer() {
  numAsked += 1; // one that is still on its way is of another model or view
  busy(false);
  answerPlace.hidden = requestPlace.hidden = true;
}

// Signatures that are fit for people come first.
function rank({ signature, view }) {
  return (view.signatures.length ? 0 : 2) + (signature.name === "serving_default" ? 0 : 1);
}

function tab(offered, checked) {
  const input = element("input", { type: "radio", name: "view", checked });
  input.addEventListener("change", () => showView(offered));
  const { signature, view } = offered;
  return element(
    "label",
    {},
    input,
    element("span", {}, view.title(signature), " ", element("small", {}, signature.name)),
  );
}

function showView(offered) {
  shown = offered;
  const { view, signature } = offered;
  // Only views that know what a field means can say that it is a text for the model.
  const showsPieces = pieces && view.signatures.length > 0;
  form.show(view.fields(signature), showsPieces ? (text) => pieces.line(text, !!view.readsMasks) : null);
  dropAnswer();
}

async function ask() {
  if (!shown) return; // the model is still on its way, or cannot be read
  const { model, signature, view } = shown;
  const number = (numAsked += 1);
  const values = form.values();
  const request = makeRequest(model.name, signature, view.request(values, signature));
  busy(true);
  try {
    const answer = await send(request, signature);
    if (number !== numAsked) return;
    showAnswer(answerPlace, answer, view.show(answer.examples, values, model, form));
    showRequest(requestPlace, request, answer);
  } catch (error) {
    if (number !== numAsked) return;
    showRequest(requestPlace, request, null);
    throw error;
  } finally {
    if (number === numAsked) busy(false);
  }
}

/** Tells that an answer is on its way. The button keeps the focus and may be pressed again. */
function busy(isBusy) {
  answerPlace.setAttribute("aria-busy", String(isBusy));
  askButton.textContent = isBusy ? "Asking…" : "Ask";
}

/** Runs something, and shows in words what the server or the form says against it. */
async function guarded(action) {
  try {
    await action();
  } catch (error) {
    const text = error instanceof Refused ? error.message : `A fault of this page: ${error.message}`;
    showMessage(answerPlace, text, "error");
    if (!(error instanceof Refused)) throw error; // for the console
  }
}

guarded(start);
