// What the page asks the server: TensorFlow Serving's own REST paths, and the list of models.

/** An error in words for the reader of the page. */
export class Refused extends Error {}

/** The models: [{name, version, labels, thresholds, has_vocabulary}]. */
export async function readModels() {
  return (await read("page/models.json")).models;
}

/** The vocabulary of a model: {do_lower_case, vocab_txt}. */
export async function readVocabulary(model) {
  return read(`page/vocabularies/${encodeURIComponent(model)}`);
}

/**
 * The signatures of a model that people can ask: [{name, inputs: [{name, dtype, shape}], outputs: [...]}].
 * `shape` has null where any size will do.
 */
export async function readSignatures(model) {
  const { metadata } = await read(`${pathOf(model)}/metadata`);
  return Object.entries(metadata.signature_def.signature_def)
    .map(([name, { inputs, outputs }]) => ({ name, inputs: tensors(inputs), outputs: tensors(outputs) }))
    .filter((signature) => signature.inputs.length > 0 && !takesExamples(signature));
}

// Signatures of Classify and Regress take serialized tf.Examples, always by this one name. People cannot
// write them. (A signature without inputs is the loader's own.)
function takesExamples({ inputs, outputs }) {
  const answers = (name) => outputs.some((output) => output.name === name);
  return inputs.length === 1 && inputs[0].name === "inputs" && ["classes", "scores", "outputs"].some(answers);
}

/** Why versions of a model cannot be served: a sentence each. */
export async function readTroubles(model) {
  const { model_version_status: versions } = await read(pathOf(model));
  return versions
    .filter(({ status }) => status.error_message !== "")
    .map(({ version, status }) => `Version ${version} is not served: ${status.error_message}`);
}

/** A request as it is sent: {url, body}, and `curl` with the same for a shell. */
export function makeRequest(model, signature, content) {
  const url = new URL(`${pathOf(model)}:predict`, document.baseURI).href;
  const body = JSON.stringify({ signature_name: signature.name, ...content });
  return { url, body, curl: `curl -d ${quoted(body)} ${quoted(url)}` };
}

/**
 * Sends a request.
 *
 * Returns {examples: [{output: value}], seconds, text}: an entry for each text asked about, in the row form
 * (`instances`) and the column form (`inputs`) alike; how long it took in this browser; the answer as it came.
 */
export async function send(request, signature) {
  const began = performance.now();
  const text = await fetched(request.url, { method: "POST", body: request.body });
  const seconds = (performance.now() - began) / 1000;
  const answer = parsed(text);
  const names = signature.outputs.map((output) => output.name);
  return { examples: "predictions" in answer ? rows(answer, names) : columns(answer, names), seconds, text };
}

// A single output comes without its name.
function rows({ predictions }, names) {
  return names.length === 1 ? predictions.map((value) => ({ [names[0]]: value })) : predictions;
}

function columns({ outputs }, names) {
  const named = names.length === 1 ? { [names[0]]: outputs } : outputs;
  if (!Object.values(named).every(Array.isArray)) return [named]; // a scalar is of no text
  const number = Math.max(...Object.values(named).map((column) => column.length));
  return Array.from({ length: number }, (_, row) =>
    Object.fromEntries(Object.entries(named).map(([name, column]) => [name, column[row]])),
  );
}

function pathOf(model) {
  return `v1/models/${encodeURIComponent(model)}`;
}

function tensors(named) {
  return Object.entries(named).map(([name, { dtype, tensor_shape: shape }]) => ({
    name,
    dtype: dtype.replace("DT_", "").toLowerCase(),
    shape: shape.dim.map(({ size }) => (size === "-1" ? null : Number(size))),
  }));
}

async function read(path) {
  return parsed(await fetched(path));
}

async function fetched(url, options) {
  let response, text;
  try {
    response = await fetch(url, options);
    text = await response.text();
  } catch {
    throw new Refused("The server does not answer. Is it still running?");
  }
  if (!response.ok) throw new Refused(`The server refuses this (${response.status}): ${reasonOf(text)}`);
  return text;
}

function reasonOf(text) {
  try {
    return JSON.parse(text).error ?? text;
  } catch {
    return text;
  }
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    throw new Refused(`The answer holds NaN or Infinity, which are no JSON: ${text.slice(0, 300)}`);
  }
}

function quoted(text) {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
