"""What a student's error against its teacher is: sums over a batch, float32 scalars.

The teacher's tensors get no gradient. `token_weights` are float32 of shape (batch, seq_length): the weight of
the example at real tokens and 0 at padding.
"""

from keras import ops

from kbert.layers.unit_length import unit
from kbert.tasks.task import SoftTarget


def soft_label_error(student: SoftTarget, teacher: SoftTarget, temperature: float):
    """The weighted sum of the differences between the student's predictions and the teacher's.

    For probabilities: T^2 KL(p || q), with p and q from the teacher's and the student's logits / T. The
    factor T^2 keeps the size of the gradient when T changes (Hinton et al., arXiv 1503.02531, section 2). For
    numbers: the squared difference; T has no part in it.

    Args:
      student, teacher: what `Task.soft_targets` makes of either model's outputs.
      temperature: T.
    """
    error = _ERRORS[student.kind](student.logits, ops.stop_gradient(teacher.logits), temperature)
    return student.share * ops.sum(error * student.weights)


def _softmax_error(student, teacher, temperature):
    p, q = (ops.log_softmax(logits / temperature, axis=-1) for logits in (teacher, student))
    return temperature**2 * ops.sum(ops.exp(p) * (p - q), axis=-1)


def _sigmoid_error(student, teacher, temperature):
    student, teacher = student / temperature, teacher / temperature
    yes = ops.sigmoid(teacher) * (ops.softplus(-student) - ops.softplus(-teacher))
    no = ops.sigmoid(-teacher) * (ops.softplus(student) - ops.softplus(teacher))
    return temperature**2 * (yes + no)


_ERRORS = {
    "softmax": _softmax_error,
    "sigmoid": _sigmoid_error,
    "number": lambda student, teacher, _: ops.square(student - teacher),
}


def hidden_error(student, teacher, token_weights):
    """The weighted sum over tokens of the mean squared difference of two hidden states.

    Args:
      student, teacher: tensors of shape (batch, seq_length, width).
      token_weights: see above.

    Reference: TinyBERT, arXiv 1909.10351, equations 8 and 9.
    """
    difference = ops.cast(student, "float32") - ops.stop_gradient(ops.cast(teacher, "float32"))
    return ops.sum(ops.mean(ops.square(difference), axis=-1) * token_weights)


def cosine_error(student, teacher, token_weights):
    """The weighted sum over tokens of 1 - cos(student, teacher).

    Args:
      student, teacher: tensors of shape (batch, seq_length, width).
      token_weights: see above.

    Reference: DistilBERT, arXiv 1910.01108, section 2.
    """
    student, teacher = unit(student), unit(teacher)
    cosine = ops.sum(student * ops.stop_gradient(teacher), axis=-1)
    return ops.sum((1.0 - cosine) * token_weights)
