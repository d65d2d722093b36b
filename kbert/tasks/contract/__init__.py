"""The methods of a `Task` by what they are about: data, model, scores, answers."""
