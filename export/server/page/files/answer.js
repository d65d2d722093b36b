// What stands below the form: the answer, how long it took, and the request itself.

import { button, details, element, note } from "./elements.js";

/** Shows an answer of `send`, as `view` tells it. */
export function showAnswer(place, answer, parts) {
  const milliseconds = Math.round(1000 * answer.seconds);
  place.replaceChildren(
    element("h2", {}, "Answer"),
    ...truncated(answer.examples),
    ...parts,
    note(`${milliseconds} ms, seen from this browser`),
  );
  place.hidden = false;
}

/** Shows one sentence in the place of an answer. */
export function showMessage(place, text, kind) {
  place.replaceChildren(element("p", { class: kind, role: kind === "error" ? "alert" : null }, text));
  place.hidden = false;
}

/** Shows a request as a line for a shell, and the answer as it came. */
export function showRequest(place, request, answer) {
  const line = element("pre", { tabindex: "0" }, request.curl);
  const copied = element("span", { class: "note", role: "status" });
  const copy = button("Copy", () => copyText(line, copied));
  place.replaceChildren(element("h2", {}, "Request"), line, element("p", {}, copy, " ", copied));
  if (answer) place.append(wholeAnswer(answer));
  place.hidden = false;
}

// Written when it is opened: vectors of many lines are megabytes.
function wholeAnswer(answer) {
  const json = element("pre", { tabindex: "0" });
  const shown = details("The answer as JSON", json);
  shown.addEventListener(
    "toggle",
    () => (json.textContent ||= JSON.stringify(JSON.parse(answer.text), null, 1)),
  );
  return shown;
}

// Nothing was cut where no text says so: signatures of other programs have no such output.
function truncated(examples) {
  const number = examples.filter((example) => example.truncated === true).length;
  if (!number) return [];
  const which = examples.length > 1 ? `${number} of ${examples.length} texts are` : "The text is";
  return [
    element(
      "p",
      { class: "warning" },
      `${which} too long for this model. A part was cut off, and the answer is of the rest.`,
    ),
  ];
}

// Browsers let a page write to the clipboard on https and on localhost alone; elsewhere the reader copies.
async function copyText(line, told) {
  try {
    await navigator.clipboard.writeText(line.textContent);
    told.textContent = "Copied.";
  } catch {
    getSelection().selectAllChildren(line);
    told.textContent = "Selected: copy it with Ctrl + C.";
  }
}
