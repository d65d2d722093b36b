"""The methods of a `Task` by what they are about: data, stored features, model, scores, answers."""
