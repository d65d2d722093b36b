"""Which layer of the teacher each layer of the student imitates. Standard library only."""


def layer_map(given: tuple[int, ...], num_student: int, num_teacher: int) -> tuple[int, ...]:
    """A layer of the teacher for each layer of the student, counted from 0.

    Without a given map they are spread evenly and the last imitates the last: layer m of M takes layer
    (m + 1) N / M - 1 of N, rounded. For 4 of 12 that is 2, 5, 8, 11, TinyBERT's map (arXiv 1909.10351,
    section 4.1, which counts from 1).

    Args:
      given: the config's `layer_map`, possibly empty.
      num_student, num_teacher: M and N.

    Raises:
      ValueError: when the map has another length than the student, or names a layer the teacher lacks.
    """
    if not given:
        return tuple(max(0, round((m + 1) * num_teacher / num_student) - 1) for m in range(num_student))
    if len(given) != num_student:
        raise ValueError(
            f"distillation.layer_map={list(given)} has {len(given)} layers, but the student has "
            f"{num_student}: name one layer of the teacher for each of them."
        )
    if max(given) >= num_teacher:
        raise ValueError(
            f"distillation.layer_map={list(given)} names layer {max(given)}, but the teacher has the layers "
            f"0 to {num_teacher - 1}."
        )
    return tuple(given)
