import keras
from keras import ops


@keras.saving.register_keras_serializable(package="kbert")
class PackedRows(keras.layers.Layer):
    """A padded batch -> rows that hold several texts each, with fixed shapes.

    Letters: B batch, S sequence, R number of rows into which the texts of the batch fit, at most B.

    Call arguments:
      packed_places: int32 `(R, S)`: for each place of the rows, the place of its token in the flattened
        batch, or B * S where there is no token. See kbert.input_pipelines.packing.
      input_ids, segment_ids: int32 `(B, S)`.

    Returns:
      dict of int32 tensors. Of shape `(R, S)`: `input_ids`; `segment_ids`; `position_ids`, counted from 0 in
      each text; `text_numbers`, counted from 1, and 0 at padding. Of shape `(B, S)`: `rows`, the place in the
      flattened rows of each token of the batch, and R * S at padding.
    """

    def call(self, packed_places, input_ids, segment_ids):
        batch, seq_length = ops.shape(input_ids)
        end = batch * seq_length
        real = ops.cast(packed_places < end, "int32")
        places = ops.minimum(packed_places, end - 1)
        flat = ops.reshape(packed_places, (-1,))
        number = ops.shape(flat)[0]
        # The new place of each token. Padding has index `end`: one extra place, which is cut off again.
        rows = ops.scatter_update(
            ops.broadcast_to(ops.cast(number, "int32"), (end + 1,)),
            ops.expand_dims(flat, -1),
            ops.where(flat < end, ops.arange(number, dtype="int32"), number),
        )
        return {
            "input_ids": ops.take(ops.reshape(input_ids, (-1,)), places) * real,
            "segment_ids": ops.take(ops.reshape(segment_ids, (-1,)), places) * real,
            "position_ids": places % seq_length * real,
            "text_numbers": (places // seq_length + 1) * real,
            "rows": ops.reshape(rows[:end], (batch, seq_length)),
        }

    def compute_output_spec(self, packed_places, input_ids, segment_ids):
        packed = {
            name: keras.KerasTensor(packed_places.shape, "int32")
            for name in ("input_ids", "segment_ids", "position_ids", "text_numbers")
        }
        return packed | {"rows": keras.KerasTensor(input_ids.shape, "int32")}


@keras.saving.register_keras_serializable(package="kbert")
class PaddedOutput(keras.layers.Layer):
    """Brings the hidden states of packed tokens back to their places in the padded batch.

    Call arguments:
      hidden_states: tensor `(..., hidden_size)`, T tokens in all.
      places: int32, T in all: the place of each token in the flattened batch, or an index past its end where
        there is no token.
      rows: int32 `(batch, seq_length)`: the index of each place's token among the T tokens, T at padding.

    Returns:
      Tensor of shape `(batch, seq_length, hidden_size)`, zeros at padding.
    """

    def call(self, hidden_states, places, rows):
        flat = ops.reshape(hidden_states, (-1, hidden_states.shape[-1]))
        return exchange_rows(flat, rows, ops.reshape(places, (-1,)))

    def compute_output_spec(self, hidden_states, places, rows):
        return keras.KerasTensor((*rows.shape, hidden_states.shape[-1]), hidden_states.dtype)


def exchange_rows(table, indices, inverse):
    """Rows of a table at `indices`. `inverse` undoes `indices`, so the gradient is a gather too.

    Args:
      table: tensor of shape `(rows, width)`.
      indices: int32 tensor of any shape; an index past the end gives zeros. No row is picked twice.
      inverse: int32 tensor `(rows,)`: each row's place in the flattened `indices`, or an index past their end
        for a row that is not picked.

    Returns:
      Tensor of shape `(*indices.shape, width)`.
    """
    width = ops.shape(table)[-1]

    @ops.custom_gradient
    def exchanged(table):
        def gradient(upstream):
            return _rows_or_zeros(ops.reshape(upstream, (-1, width)), inverse)

        return _rows_or_zeros(table, indices), gradient

    return exchanged(table)


def _rows_or_zeros(table, indices):
    rows = ops.shape(table)[0]
    inside = ops.cast(indices < rows, table.dtype)
    return ops.take(table, ops.minimum(indices, rows - 1), axis=0) * ops.expand_dims(inside, -1)
