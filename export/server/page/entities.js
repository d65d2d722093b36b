// The entities of a sentence, as `find_entities` of kbert.tasks.token_classification.entity_scores has them.

// Tags are O, or B, I, E or S, a hyphen and a type -> [{type, start, end}]: the first word, and the one after the last.
export function findEntities(tags) {
  const entities = [];
  let [start, current, hasEnded] = [0, "", false];
  for (const [index, tag] of [...tags, "O"].entries()) {
    const [prefix] = tag.split("-", 1);
    const type = tag.slice(prefix.length + 1);
    if (current && (hasEnded || "BS".includes(prefix) || type !== current)) {
      entities.push({ type: current, start, end: index });
      current = "";
    }
    if (!current && "BIES".includes(prefix)) [start, current] = [index, type];
    hasEnded = "ES".includes(prefix);
  }
  return entities;
}
