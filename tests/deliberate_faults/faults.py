"""Faults of one line, such as slips while typing, and the tests that must notice each.

A fault names a file, the old text and the new text; the old text must occur exactly once in the file. When
code moves, move its faults with it. The tests are chosen small: a round takes minutes.
"""

from typing import NamedTuple


class Fault(NamedTuple):
    """One slip.

    Fields:
      name: what went wrong, for the table and `--only`.
      file: where, from the top of the repository.
      old: the right text, which occurs once in the file.
      new: the wrong text that replaces it.
      tests: files, folders or single tests, one of which must fail.
    """

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]


def _fault(name, file, old, new, *tests):
    return Fault(name, file, old, new, tuple(f"tests/{test}" for test in tests))


_COMMANDS = (
    _fault(
        "an iterator that ends waits for its tuner",
        "kbert/input_pipelines/without_autotune.py",
        "options.autotune.enabled = False",
        "options.autotune.enabled = True",
        "kbert/input_pipelines/test_without_autotune.py",
    ),
    _fault(
        "a string is taken apart into characters",
        "kbert/inference/predictor.py",
        " and not isinstance(values, str | bytes)",
        "",
        "kbert/inference/test_predict.py::test_a_bare_string_is_never_taken_apart",
    ),
    _fault(
        "a model made for bfloat16 answers in float32",
        "kbert/inference/loaded_model.py",
        "return answering_model(self.model, self.precision)",
        "return answering_model(self.model)",
        "kbert/inference/test_predict.py::test_bfloat16_at_load_answers_nearly_alike",
    ),
    _fault(
        "a server is asked about a misspelt path",
        "kbert/checkpoints/hugging_face/model_names.py",
        "if not repository.startswith(_KNOWN):",
        "if not repository:",
        "kbert/checkpoints/hugging_face/test_model_names.py",
    ),
    _fault(
        "a wrong column of the development file waits for TensorFlow",
        "kbert/experiments/finetuning_checks.py",
        "(paths.train_file, paths.dev_file, *paths.other_dev_files.values())",
        "(paths.train_file, *paths.other_dev_files.values())",
        "kbert/scripts/test_wrong_columns.py",
    ),
    _fault(
        "the time left counts the compilation of the first call",
        "kbert/training/measuring/time_left.py",
        "            self._is_first = False\n            return\n",
        "            self._is_first = False\n",
        "kbert/training/measuring/test_time_left.py",
    ),
    _fault(
        "--help brings NumPy along",
        "kbert/scripts/convert_checkpoint.py",
        "from kbert.checkpoints.format_names import FORMATS",
        "from kbert.checkpoints.formats import FORMATS",
        "kbert/test_command_help.py",
    ),
    _fault(
        "a flag of a script that --help does not show",
        "kbert/command_flags/help_page.py",
        "return module == sys.argv[0] or ",
        "return ",
        "kbert/test_command_help.py",
    ),
    _fault(
        "a script that python -m starts tells another command",
        "kbert/command_flags/help_page.py",
        'commands.command_of(module) or f"python -m {module}"',
        'f"python -m {module}"',
        "kbert/test_command_help.py",
    ),
    _fault(
        "the last override is blamed for another",
        "kbert/config/config_file.py",
        "wrong = wrong or (overrides",
        "wrong = (overrides",
        "kbert/config/test_config.py::test_bad_overrides_are_refused_by_name",
    ),
)
_FINETUNING = (
    _fault(
        "adapters merged without their scale",
        "kbert/runs/base_weights.py",
        "np.float32(scale) * (first",
        "np.float32(1.0) * (first",
        "kbert/training/test_lora.py",
    ),
    _fault(
        "the same dropout for all adapters",
        "kbert/layers/low_rank_dense.py",
        "(LORA_TARGETS.index(self.target) + 1) * _GOLDEN",
        "_GOLDEN",
        "kbert/layers/test_low_rank_dense.py",
    ),
    _fault(
        "a run's folder loads Keras",
        "kbert/runs/run_directory.py",
        "from kbert.tasks import TASKS",
        "from kbert.tasks import TASKS, task  # noqa: F401",
        "kbert/runs/test_run_directory.py::test_a_folder_without_a_run_is_refused_before_keras_loads",
    ),
    _fault(
        "the wrong layers begin anew",
        "kbert/config/finetuning_config.py",
        'name.startswith("layer_") and not above.holds(name)',
        "above.holds(name)",
        "kbert/experiments/test_finetuning_options.py",
    ),
    _fault(
        "one layer too few is frozen",
        "kbert/config/frozen_config.py",
        "int(layer[1]) < self.layers if",
        "int(layer[1]) < self.layers - 1 if",
        "kbert/training/test_frozen.py",
    ),
    _fault(
        "a split by place instead of by text",
        "kbert/input_pipelines/held_out_split.py",
        "sorted(members, key=lambda group: _order(group, seed))",
        "members",
        "kbert/input_pipelines/test_held_out_split.py",
    ),
    _fault(
        "balanced weights without the number of labels",
        "kbert/tasks/label_losses.py",
        "total / (occurring * counts[label])",
        "total / counts[label]",
        "kbert/tasks/test_label_losses.py",
    ),
    _fault(
        "a weighted loss divided by the number of examples",
        "kbert/tasks/sequences/sequence_classification.py",
        'return {"loss": ops.sum(self._training_weights(batch))}',
        'return {"loss": ops.sum(example_weights(batch))}',
        "kbert/tasks/test_label_losses.py",
    ),
    _fault(
        "examples that only fill a batch count in the loss",
        "kbert/tasks/one_label_loss.py",
        "ops.sum(losses * example_weights(batch))",
        "ops.sum(losses)",
        "kbert/tasks/test_tasks.py",
        "kbert/tasks/test_head_tasks.py",
    ),
)

_KERNELS = (
    _fault(
        "scores without their scale, in training", "kbert/kernels/attention_softmax.py",
        'ops.cast(scores, "float32") * scale +', 'ops.cast(scores, "float32") +',
        "kbert/kernels/test_kernels.py",
    ),
    _fault(
        "a sign in the gradient of softmax", "kbert/kernels/attention_softmax.py",
        "probabilities * (gradient - inner)", "probabilities * (gradient + inner)",
        "kbert/kernels/test_kernels.py",
    ),
    _fault(
        "a mask too weak", "kbert/kernels/attention_softmax.py",
        "PADDING_ADDER = -10000.0", "PADDING_ADDER = -10.0",
        "kbert/test_encoder.py",
    ),
    _fault(
        "packed texts look into each other", "kbert/kernels/attention_softmax.py",
        "ops.equal(own, to)", "ops.not_equal(own, 0)",
        "kbert/kernels/test_kernels.py", "kbert/test_training_path.py",
    ),
    _fault(
        "a digit of GELU", "kbert/kernels/bias_activation.py",
        "_CUBIC = 0.044715", "_CUBIC = 0.04475",
        "kbert/kernels/test_kernels.py",
    ),
    _fault(
        "numbers cut off instead of rounded", "kbert/kernels/rounding.py",
        "tf.bitwise.right_shift(bits + half, 16)", "tf.bitwise.right_shift(bits, 16)",
        "kbert/kernels/test_rounding.py",
    ),
    _fault(
        "a NaN of GPUs that becomes 0", "kbert/kernels/rounding.py",
        "bits = tf.minimum(bits, 0xFFC00000)", "",
        "kbert/kernels/test_rounding.py",
    ),
    _fault(
        "a compiled kernel in what is exported", "kbert/heads/masked_lm_head.py",
        "if training:\n            logits", "if True:\n            logits",
        "kbert/inference/test_inference.py",
    ),
    _fault(
        "a sum where the norm's gradient has a mean", "kbert/kernels/norm.py",
        "row_sums(gradient) / width,", "row_sums(gradient),",
        "kbert/kernels/test_kernels.py",
    ),
    _fault(
        "a sign in the gradient of the loss", "kbert/kernels/cross_entropy.py",
        "(ops.exp(logits - total) - chosen)", "(ops.exp(logits - total) + chosen)",
        "kbert/kernels/test_kernels.py",
    ),
    _fault(
        "dropout that does not scale up", "kbert/kernels/random_bits.py",
        '"float32") * (1.0 / keep)', '"float32")',
        "kbert/kernels/test_kernels.py", "kbert/kernels/test_random_bits.py",
    ),
    _fault(
        "dropout keeps what it should drop", "kbert/kernels/random_bits.py",
        "min(round(keep * 2**32), 2**32 - 1)", "min(round(rate * 2**32), 2**32 - 1)",
        "kbert/kernels/test_random_bits.py",
    ),
)  # fmt: skip

_MODEL = (
    _fault(
        "scores scaled by the head size, not its root", "kbert/layers/self_attention.py",
        "query *= 1.0 / math.sqrt(head_size)", "query *= 1.0 / head_size",
        "kbert/test_encoder.py",
    ),
    _fault(
        "segments swapped", "kbert/layers/bert_embeddings.py",
        "ops.one_hot(segment_ids,", "ops.one_hot(1 - segment_ids,",
        "kbert/test_encoder.py",
    ),
    _fault(
        "a wrong epsilon", "kbert/layers/transformer_block.py",
        "epsilon=self.layer_norm_eps, dtype=self.dtype_policy", "epsilon=1e-3, dtype=self.dtype_policy",
        "kbert/test_encoder.py",
    ),
    _fault(
        "a residual connection lost", "kbert/layers/transformer_block.py",
        "self.feed_forward_layer_norm(hidden_states + transformed)",
        "self.feed_forward_layer_norm(transformed)",
        "kbert/test_encoder.py",
    ),
    _fault(
        "packed texts numbered from 0", "kbert/layers/packed_rows.py",
        "(places // seq_length + 1) * real", "(places // seq_length) * real",
        "kbert/input_pipelines/test_packing.py", "kbert/test_encoder.py", "kbert/test_training_path.py",
    ),
    _fault(
        "the pooler takes the second token", "kbert/layers/pooler.py",
        "sequence_output[:, 0, :]", "sequence_output[:, 1, :]",
        "kbert/test_encoder.py",
    ),
    _fault(
        "a mean over one token too many", "kbert/layers/sequence_pooling.py",
        "ops.sum(mask, axis=1), 1.0)  # (B, 1)", "ops.sum(mask, axis=1) + 1.0, 1.0)  # (B, 1)",
        "kbert/layers/test_sequence_pooling.py",
    ),
    _fault(
        "masked positions of the first row in all rows", "kbert/heads/masked_lm_head.py",
        "ops.reshape(masked_lm_positions + rows,", "ops.reshape(masked_lm_positions + 0 * rows,",
        "kbert/heads/test_heads.py",
    ),
    _fault(
        "logits in 16 bits", "kbert/heads/classification_head.py",
        'ops.cast(self.dense(pooled_output), "float32")', "self.dense(pooled_output)",
        "kbert/heads/test_heads.py",
    ),
    _fault(
        "hidden states without the embeddings", "kbert/encoder.py",
        '"hidden_states": tuple(hidden_states)', '"hidden_states": tuple(hidden_states[1:])',
        "kbert/test_encoder.py",
    ),
)  # fmt: skip

_TOKENIZATION = (
    _fault(
        "the odd place goes to the second text", "kbert/tokenization/segment_packer.py",
        "half = (room + 1) // 2", "half = room // 2",
        "kbert/tokenization/test_segment_packer.py",
    ),
    _fault(
        "the first [SEP] in the second segment", "kbert/tokenization/segment_packer.py",
        "tf.logical_and(position > first_end, real)", "tf.logical_and(position >= first_end, real)",
        "kbert/tokenization/test_segment_packer.py",
    ),
    _fault(
        "the replacement character kept", "kbert/tokenization/word_splitter.py",
        r'_DROPPED = r"[\p{Cc}\p{Cf}\x{FFFD}]"', r'_DROPPED = r"[\p{Cc}\p{Cf}]"',
        "kbert/tokenization/test_golden_ids.py",
    ),
    _fault(
        "accents composed, not taken apart", "kbert/tokenization/word_splitter.py",
        '"NFD")', '"NFC")',
        "kbert/tokenization/test_golden_ids.py",
    ),
    _fault(
        "ideographs of the extensions are no words", "kbert/tokenization/word_splitter.py",
        r'\x{20000}-\x{2A6DF}\x{2A700}', r'\x{2A700}',
        "kbert/tokenization/test_golden_ids.py",
    ),
    _fault(
        "a word of 200 characters is too long", "kbert/tokenization/wordpiece_tokenizer.py",
        "characters > MAX_CHARACTERS_PER_WORD", "characters >= MAX_CHARACTERS_PER_WORD",
        "kbert/tokenization/test_golden_ids.py",
    ),
    _fault(
        "a fingerprint without the casing", "kbert/tokenization/vocabulary.py",
        r'"\n".join(self.tokens) + f"\ndo_lower_case={self.do_lower_case}"', r'"\n".join(self.tokens)',
        "kbert/tokenization/test_vocabulary.py",
    ),
)  # fmt: skip

_INPUT_PIPELINES = (
    _fault(
        "short texts without any mask", "kbert/input_pipelines/masking.py",
        "np.maximum(1, wanted)", "np.maximum(0, wanted)",
        "kbert/input_pipelines/test_masking.py",
    ),
    _fault(
        "no piece is left unchanged", "kbert/input_pipelines/masking.py",
        "fate < _MASKED_SHARE + _UNCHANGED_SHARE", "fate < _MASKED_SHARE",
        "kbert/input_pipelines/test_masking.py",
    ),
    _fault(
        "every epoch in the same order", "kbert/input_pipelines/epochs.py",
        "* 1_000_003 + number", "* 1_000_003 + 0 * number",
        "kbert/input_pipelines/test_epochs.py",
    ),
    _fault(
        "one row of filling counts", "kbert/input_pipelines/epochs.py",
        "tf.range(size + missing) < size", "tf.range(size + missing) <= size",
        "kbert/input_pipelines/test_epochs.py",
    ),
    _fault(
        "an epoch resumed one example late", "kbert/input_pipelines/epochs.py",
        "tf.constant(skipped, tf.int64), 0)", "tf.constant(skipped + 1, tf.int64), 0)",
        "kbert/input_pipelines/test_epochs.py",
    ),
    _fault(
        "shards counted from the last one's size", "kbert/input_pipelines/records/record_shares.py",
        "first += shard.num_examples", "first = shard.num_examples",
        "kbert/input_pipelines/records/test_record_shares.py",
    ),
    _fault(
        "an id as large as the vocabulary passes", "kbert/input_pipelines/records/record_ranges.py",
        'manifest.vocabulary["size"] - 1)', 'manifest.vocabulary["size"])',
        "kbert/input_pipelines/records/test_record_ranges.py",
    ),
    _fault(
        "rows filled beyond their end", "kbert/input_pipelines/packing.py",
        "room[row] -= lengths[example]", "room[row] -= lengths[example] - 1",
        "kbert/input_pipelines/test_packing.py",
    ),
)  # fmt: skip

_TRAINING = (
    _fault(
        "gradients scaled up to the norm, not down", "kbert/training/train_step.py",
        "tf.minimum(1.0 / norm, 1.0 / clipnorm)", "tf.maximum(1.0 / norm, 1.0 / clipnorm)",
        "kbert/training/test_train_step.py",
    ),
    _fault(
        "the same dropout in every step", "kbert/training/train_step.py",
        "tf.cast(step, state.dtype) * 1024,", "tf.cast(0 * step, state.dtype) * 1024,",
        "kbert/training/test_train_step.py",
    ),
    _fault(
        "parts of a batch share their dropout with the next step", "kbert/training/train_step.py",
        "first_draw = step * self._num_parts", "first_draw = step",
        "kbert/training/test_gradient_accumulation.py",
    ),
    _fault(
        "counts are summed in bfloat16 as well", "kbert/training/devices/gradient_all_reduce.py",
        ', all_reduce("sum", sums)', ', all_reduce("sum", {k: tf.cast(v, dtype) for k, v in sums.items()})',
        "kbert/training/devices/test_gradient_all_reduce.py",
    ),
    _fault(
        "the dtype of the all-reduce is forgotten", "kbert/training/trainer.py",
        "all_reduce_dtype=self._all_reduce_dtype", 'all_reduce_dtype="float32"',
        "kbert/training/devices/test_gradient_all_reduce.py::test_the_dtype_reaches_the_step",
    ),
    _fault(
        "a ring sends its bytes once", "benchmarks/replicas/on_paper.py",
        "return 2 * (devices - 1) / devices", "return (devices - 1) / devices",
        "benchmarks/test_scaling.py::test_a_ring_sends_what_the_formula_says",
    ),
    _fault(
        "one lucky step reaches a loss", "benchmarks/learning/on_the_clock.py",
        "np.flatnonzero(self.losses[self._window - 1 :] <= loss)", "np.flatnonzero(self.losses <= loss)",
        "benchmarks/test_time_to_quality.py",
    ),
    _fault(
        "good steps are counted on after the scale has grown", "kbert/training/loss_scale.py",
        "tf.where(finite & ~grows, good_steps, 0)", "tf.where(finite, good_steps, 0)",
        "kbert/training/test_loss_scale.py",
    ),
    _fault(
        "an overflow updates all the same", "kbert/training/train_step.py",
        "tf.cond(finite, lambda: apply(updates), lambda: None)", "apply(updates)",
        "kbert/training/test_loss_scale.py",
    ),
    _fault(
        "cosine over warm-up as well", "kbert/training/optimizers/schedule.py",
        "progress = tf.clip_by_value((step - self.num_warmup_steps) / num_decay_steps",
        "progress = tf.clip_by_value(step / num_decay_steps",
        "kbert/training/optimizers/test_schedule.py",
    ),
    _fault(
        "a page from elsewhere may ask the development server", "export/server/rest/http_app.py",
        "            self._host_names.check(scope[\"headers\"])\n", "",
        "export/server/rest/test_http.py",
    ),
    _fault(
        "the linear decay after warm-up counts from step 0", "kbert/training/optimizers/schedule.py",
        "(self.num_train_steps - step) / num_decay_steps",
        "(self.num_train_steps - step) / self.num_train_steps",
        "kbert/training/optimizers/test_schedule.py",
    ),
    _fault(
        "time used before a stop is forgotten", "kbert/training/optimizers/time_budget.py",
        "used = self._before + self._clock() - self._started", "used = self._clock() - self._started",
        "kbert/training/optimizers/test_schedule.py", "kbert/training/optimizers/test_budget_training.py",
    ),
    _fault(
        "bias corrected for one update too many", "kbert/training/optimizers/adam.py",
        "updates = tf.cast(step + 1, tf.float32)", "updates = tf.cast(step + 2, tf.float32)",
        "kbert/training/optimizers/test_optimizers.py",
    ),
    _fault(
        "the second moment decays like the first", "kbert/training/optimizers/adam.py",
        "(1.0 - config.beta_2) * tf.square(gradient)", "(1.0 - config.beta_1) * tf.square(gradient)",
        "kbert/training/optimizers/test_optimizers.py",
    ),
    _fault(
        "LAMB's ratio upside down", "kbert/training/optimizers/lamb.py",
        "tf.where(both, variable_norm / tf.where(both, update_norm, 1.0), 1.0)",
        "tf.where(both, update_norm / tf.where(both, variable_norm, 1.0), 1.0)",
        "kbert/training/optimizers/test_optimizers.py",
    ),
    _fault(
        "layers learn one layer's share too little", "kbert/training/optimizers/parameter_groups.py",
        "depth = num_layers - int(match[1])", "depth = num_layers - int(match[1]) + 1",
        "kbert/training/optimizers/test_parameter_groups.py",
    ),
    _fault(
        "updates counted from the first fresh phase", "kbert/training/phases.py",
        "return fresh[-1] if fresh else 0", "return fresh[0] if fresh else 0",
        "kbert/training/test_phases.py::test_moments_go_on_where_no_fresh_ones_are_asked_for",
    ),
    _fault(
        "a lost field: the sums of the open interval", "kbert/training/training_state.py",
        '"interval_sums": sums,', '"interval_sums": None,',
        "kbert/training/test_one_weight_trainings.py",
    ),
    _fault(
        "a lost field: what progress had counted", "kbert/training/training_state.py",
        'self.progress = state.get("progress")', "self.progress = None",
        "kbert/training/test_faults.py", "kbert/training/test_one_weight_trainings.py",
    ),
    _fault(
        "a lost field: the best so far", "kbert/training/training_state.py",
        'self._best.restore(state["best"])', "pass",
        "kbert/training/test_one_weight_trainings.py",
    ),
    _fault(
        "time left out of a resumed run", "kbert/training/training_state.py",
        'state.get("elapsed_seconds", 0.0), self._clock()', "0.0, self._clock()",
        "kbert/training/test_one_weight_trainings.py",
    ),
    _fault(
        "a resumed run counts its evaluation twice", "kbert/training/measuring/progress.py",
        "self._num_lines - (self._evaluated_step == step)", "self._num_lines",
        "kbert/training/measuring/test_progress.py", "kbert/training/test_faults.py",
    ),
    _fault(
        "a backward pass as cheap as the forward pass", "kbert/training/measuring/training_flops.py",
        "products = 3 * (weights + attention)", "products = 2 * (weights + attention)",
        "kbert/training/measuring/test_training_flops.py",
    ),
    _fault(
        "the batch's means divided by its batches", "kbert/training/evaluation_step.py",
        "np.asarray(total) / np.asarray(weight) if weight", "np.asarray(total) if weight",
        "kbert/training/test_train_step.py::test_a_tiny_model_overfits_one_batch",
    ),
)  # fmt: skip

_RUNS_AND_FILES = (
    _fault(
        "a dropped fsync", "kbert/runs/checkpoint.py",
        "            _bring_to_disk(aside / name)\n", "",
        "kbert/runs/test_checkpoint.py",
    ),
    _fault(
        "one checkpoint too few is kept", "kbert/runs/checkpoint.py",
        "list_checkpoints(directory)[:-keep]", "list_checkpoints(directory)[: 1 - keep or None]",
        "kbert/runs/test_checkpoint.py",
    ),
    _fault(
        "checkpoints in the order of their names", "kbert/runs/checkpoint.py",
        "return sorted(folders, key=step_of)", "return sorted(folders)",
        "kbert/runs/test_checkpoint.py",
    ),
    _fault(
        "a later equal is better", "kbert/runs/best_checkpoint.py",
        "self._sign * value > self._sign", "self._sign * value >= self._sign",
        "kbert/runs/test_best_checkpoint.py",
    ),
    _fault(
        "patience lost in a stop", "kbert/runs/best_checkpoint.py",
        'self._fruitless = state["fruitless"]', "self._fruitless = 0",
        "kbert/runs/test_best_checkpoint.py",
    ),
    _fault(
        "half a line of metrics stays", "kbert/runs/metrics_file.py",
        "            os.ftruncate(file.fileno(), end)\n", "",
        "kbert/runs/test_metrics_file.py", "kbert/training/test_faults.py",
    ),
    _fault(
        "a CRC that forgets what came before", "kbert/files/safetensors_file.py",
        "zlib.crc32(numbers.view(np.uint8), crc)", "zlib.crc32(numbers.view(np.uint8))",
        "kbert/runs/test_checkpoint.py", "kbert/files/test_safetensors_file.py",
    ),
    _fault(
        "what another process writes is swept away", "kbert/files/whole_file.py",
        "return try_lock(descriptor) is True", "return True",
        "kbert/files/test_whole_file.py",
    ),
    _fault(
        "a name that stands twice in JSON", "kbert/files/json_file.py",
        "object_pairs_hook=_unique if unique_names else None", "object_pairs_hook=None",
        "kbert/files/test_json_file.py",
    ),
    _fault(
        "infinite numbers pass for weights", "kbert/files/stored_tensor.py",
        "finite = np.isfinite(numbers)", "finite = ~np.isnan(numbers)",
        "kbert/checkpoints/test_finite_weights.py",
    ),
)  # fmt: skip

_CHECKPOINTS = (
    _fault(
        "query for key", "kbert/checkpoints/conversion/names.py",
        'f"{_HF_LAYER}.attention.self.query"', 'f"{_HF_LAYER}.attention.self.key"',
        "kbert/checkpoints/conversion/test_names.py", "kbert/checkpoints/hugging_face/test_folder.py",
    ),
    _fault(
        "offsets counted in bytes", "kbert/checkpoints/hugging_face/torch_file.py",
        "data, tensor.offset * dtype.itemsize, strides", "data, tensor.offset, strides",
        "kbert/checkpoints/hugging_face/test_torch_file.py",
    ),
    _fault(
        "new positions all take the first row", "kbert/checkpoints/conversion/resizing.py",
        "np.arange(max_position_embeddings) % len(table)", "np.arange(max_position_embeddings) // len(table)",
        "kbert/checkpoints/conversion/test_resizing.py",
    ),
    _fault(
        "Adam's moments read as weights", "kbert/checkpoints/google_tf1.py",
        "(adam_m|adam_v|lamb_m", "(adam_m|lamb_m",
        "kbert/checkpoints/test_google_tf1.py",
    ),
)  # fmt: skip

_ANSWERS = (
    _fault(
        "a mask beyond the end goes unnoticed", "kbert/tasks/pretraining/objectives.py",
        'if outputs["num_masks"] < inputs["text"].count(MASK_TOKEN):', 'if outputs["num_masks"] < 1:',
        "kbert/tasks/test_losses_by_hand.py",
    ),
    _fault(
        "true and predicted labels swapped", "kbert/tasks/sequences/sequence_classification.py",
        "ops.matmul(ops.transpose(true * weights[:, None]), predicted)",
        "ops.matmul(ops.transpose(predicted * weights[:, None]), true)",
        "kbert/tasks/test_losses_by_hand.py",
    ),
    _fault(
        "filling of the last batch counts in the loss", "kbert/tasks/sequences/sequence_regression.py",
        "ops.sum(errors * example_weights(batch))", "ops.sum(errors)",
        "kbert/tasks/test_losses_by_hand.py",
    ),
    _fault(
        "a sign in the loss of labels not held", "kbert/tasks/sequences/multi_label_classification.py",
        "ops.relu(logits) - logits * targets", "ops.relu(logits) + logits * targets",
        "kbert/tasks/test_losses_by_hand.py",
    ),
    _fault(
        "infinite answers pass", "kbert/inference/finite_numbers.py",
        "np.isfinite(row).all()", "not np.isnan(row).any()",
        "kbert/inference/test_finite_numbers.py",
    ),
    _fault(
        "numbers of texts that differ", "kbert/inference/texts.py",
        "if len(firsts) != len(seconds):", "if len(firsts) < len(seconds):",
        "kbert/inference/test_texts.py",
    ),
    _fault(
        "the deviation of a whole, not of a sample", "kbert/reports/seed_summary.py",
        "statistics.stdev(values)", "statistics.pstdev(values)",
        "kbert/reports/test_seed_summary.py",
    ),
    _fault(
        "evaluations drawn as training", "kbert/reports/run_metrics.py",
        '(line["split"] == "train") == is_training', 'line["split"] in ("train", "eval")',
        "kbert/reports/test_run_page.py",
    ),
    _fault(
        "the separators of a pair are forgotten when cutting is told", "kbert/tokenization/segment_packer.py",
        "second.row_lengths() > self.max_seq_length - 3", "second.row_lengths() > self.max_seq_length - 2",
        "kbert/tokenization/test_text_rows.py",
    ),
    _fault(
        "padding in front of a sequence passes", "kbert/tasks/signatures/token_id_checks.py",
        "tf.reduce_all(mask[..., :1] > 0)", "tf.reduce_all(mask[..., :1] >= 0)",
        "export/test_signatures.py::test_ids_that_mean_nothing_are_an_invalid_argument",
    ),
    _fault(
        "ids up to the rows of the table", "kbert/tasks/signatures/token_id_checks.py",
        "return cls(len(vocabulary), config", "return cls(config.vocab_size, config",
        "kbert/tasks/signatures/test_token_id_checks.py",
    ),
    _fault(
        "ops within functions are not looked at", "export/gate/op_gate.py",
        "for node in function.node_def:", "for node in function.node_def[:0]:",
        "export/gate/test_op_gate.py",
    ),
    _fault(
        "an op is known where any server has it", "export/gate/op_gate.py",
        "frozenset.intersection(*(release.ops for release in releases))",
        "frozenset().union(*(release.ops for release in releases))",
        "export/gate/test_op_gate.py",
    ),
    _fault(
        "constants are no stored weights", "export/gate/stored_weights.py",
        "numbers += tensor.ByteSize() // dtype.size", "numbers += 0",
        "export/gate/test_stored_weights.py",
    ),
    _fault(
        "an edited file is written over", "export/deployment/edited_files.py",
        "return first != _MARK + _digest(body)", "return not first.startswith(_MARK)",
        "export/deployment/test_edited_files.py", "export/deployment/test_beside_model.py",
    ),
    _fault(
        "numbers without the shortest form", "export/server/rest/json_answer.py",
        'array.astype("U32").astype(np.float64).tolist()', "array.astype(np.float64).tolist()",
        "export/server/rest/test_rest_api.py",
    ),
    _fault(
        "a second text without a first is sent", "export/serving_client.py",
        "given.text_pair is not None and given.text is None",
        "given.text_pair == given.text == ''",
        "export/test_command_lines.py",
    ),
    _fault(
        "a port too many", "export/development_server.py", "_LAST_PORT = 65535", "_LAST_PORT = 65536",
        "export/test_command_lines.py",
    ),
    _fault(
        "true is a number", "export/server/rest/json_request.py",
        "fits = isinstance(value, int) and not isinstance(value, bool)", "fits = isinstance(value, int)",
        "export/server/rest/test_json_request.py",
    ),
    _fault(
        "a shape is believed", "export/server/answers/tensor_protos.py",
        "if max([elements, *sizes]) > limits.max_elements:", "if elements < 0:",
        "export/server/answers/test_tensor_protos.py",
    ),
    _fault(
        "rows of a batch handed to the next request", "export/server/models/batching.py",
        "begin = end", "begin = end - 1",
        "export/server/models/test_batching.py",
    ),
    _fault(
        "a request that is cut off counts as ended", "export/server/rest/http_app.py",
        "running.add_done_callback(lambda _: self._service.admission.end(len(body)))",
        "self._service.admission.end(len(body))",
        "export/server/test_admission.py", "export/test_development_server.py",
    ),
    _fault(
        "answers wait for acknowledgements", "export/server/rest/http_server.py",
        "socket.SOCK_STREAM, socket.IPPROTO_TCP)", "socket.SOCK_STREAM)",
        "export/server/rest/test_http.py",
    ),
    _fault(
        "half a request is waited for", "export/server/rest/connection.py",
        "self._head_timer = self.loop.call_later(self.limits.head_seconds, self._head_is_late)", "pass",
        "export/server/rest/test_http.py",
    ),
    _fault(
        "every failure is tried again", "export/client/retries.py",
        "failure.status != UNAVAILABLE or", "",
        "export/client/test_serving_client.py",
    ),
)  # fmt: skip

_DATA_TOOLS = (
    _fault(
        "real next texts labelled random", "tfrecords_tools/pretraining/sentence_pairs.py",
        "pairs.extend((start, split, split, end, 0))", "pairs.extend((start, split, split, end, 1))",
        "tfrecords_tools/pretraining/test_sentence_pairs.py",
    ),
    _fault(
        "random texts of the same document", "tfrecords_tools/pretraining/sentence_pairs.py",
        "if other != document:", "if other >= 0:",
        "tfrecords_tools/pretraining/test_sentence_pairs.py",
    ),
    _fault(
        "a text ends in a separator", "tfrecords_tools/pretraining/full_sentences.py",
        "if parts[-1] is separator:", "if parts[-1] is None:",
        "tfrecords_tools/pretraining/test_full_sentences.py",
    ),
    _fault(
        "near duplicates are one hash nearer", "tfrecords_tools/corpus/duplicates.py",
        "num_equal >= MIN_EQUAL_HASHES", "num_equal > MIN_EQUAL_HASHES",
        "tfrecords_tools/corpus/test_duplicates.py",
    ),
    _fault(
        "varints of 128 in one byte", "tfrecords_tools/records/record_writer.py",
        "0 <= smallest and largest < 128:", "0 <= smallest and largest <= 128:",
        "tfrecords_tools/records/test_record_writer.py",
    ),
    _fault(
        "a tokenizer kept for another vocabulary", "tfrecords_tools/work/stored_vocabulary.py",
        "    fingerprint: str\n", "    fingerprint: str = field(compare=False)\n",
        "tfrecords_tools/test_create_finetuning_data.py"
        "::test_another_vocabulary_at_the_same_place_is_the_one_taken",
    ),
    _fault(
        "the same numbers sample and shuffle", "tfrecords_tools/pretraining/pretraining_stages.py",
        "_SAMPLING, _SHUFFLING = 1, 2", "_SAMPLING, _SHUFFLING = 1, 1",
        "tfrecords_tools/test_create_pretraining_data.py",
    ),
    _fault(
        "counted words weigh the same", "tfrecords_tools/vocabulary/greedy_match.py",
        "num_pieces += count * len(pieces", "num_pieces += len(pieces",
        "tfrecords_tools/vocabulary/test_greedy_match.py",
    ),
    _fault(
        "an unfinished plan of other settings is taken up", "tfrecords_tools/pretraining/pretraining_job.py",
        "            _refuse_other_plan(plan_file, plan)\n", "            pass\n",
        "tfrecords_tools/test_create_pretraining_data.py",
    ),
)  # fmt: skip

_GLUE = (
    _fault(
        "GLUE: Matthews of rows alone", "kbert/tasks/sequences/sequence_classification.py",
        "(true * predicted).sum()", "(true * true).sum()",
        "kbert/tasks/test_metrics_against_scikit_learn.py",
    ),
    _fault(
        "GLUE: rounding hides the majority class", "kbert/experiments/constant_answer.py",
        "_ROUNDING = 5e-7", "_ROUNDING = 0.0",
        "kbert/experiments/test_other_dev_files.py::test_better_than_constant_is_asked_of_every_metric_with_a_baseline",
    ),
    _fault(
        "figures: the first line of a file counts, not the last", "benchmarks/figures/records.py",
        "return chosen[-1]", "return chosen[0]",
        "benchmarks/figures",
    ),
    _fault(
        "figures: the slowest is bold", "benchmarks/figures/grids.py",
        '"min": min(numbers)', '"min": max(numbers)',
        "benchmarks/figures/test_pages.py",
    ),
    _fault(
        "tables: a whole row group in memory", "kbert/input_pipelines/tables/table_rows.py",
        ', "pre_buffer": False}', "}",
        "kbert/input_pipelines/tables/test_table_rows.py::test_rows_are_read_as_they_are_asked_for",
    ),
    _fault(
        "tables: the class -1 is the last name", "kbert/input_pipelines/tables/class_names.py",
        "value is None or value == NO_CLASS", "value is None",
        "kbert/input_pipelines/tables/test_table_rows.py::test_a_class_without_a_name_is_told_by_its_row",
    ),
    _fault(
        "tables: rows of a second batch are counted from 1", "kbert/input_pipelines/tables/table_rows.py",
        "number += batch.num_rows", "number = 0",
        "kbert/input_pipelines/tables/test_table_rows.py::test_rows_are_counted_in_each_file_across_batches",
    ),
    _fault(
        "tables: only the first shard counts", "kbert/input_pipelines/tables/table_paths.py",
        "for file in source_files(path)]", "for file in source_files(path)[:1]]",
        "kbert/input_pipelines/tables/test_table_paths.py",
    ),
    _fault(
        "GLUE: short rows are skipped in test files", "kbert/input_pipelines/labelled_files.py",
        "with_labels and dataset.skip_short_rows", "dataset.skip_short_rows",
        "kbert/experiments/glue/test_submission.py",
    ),
    _fault(
        "GLUE: a number of STS-B above 5", "kbert/experiments/glue/submission.py",
        "min(max(answer['prediction'], LOWEST), HIGHEST)", "max(answer['prediction'], LOWEST)",
        "kbert/experiments/glue/test_submission.py",
    ),
    _fault(
        "GLUE: indices of the reader's own", "kbert/experiments/glue/submission.py",
        "(record[index] if index else str(number))", "str(number)",
        "kbert/experiments/glue/test_submission.py",
    ),
    _fault(
        "GLUE: the learning rate of the best single run", "kbert/experiments/glue/glue_summary.py",
        'rates[rate][first]["mean"]', 'max(rates[rate][first]["values"])',
        "kbert/experiments/glue/test_glue_summary.py",
    ),
    _fault(
        "GLUE: WNLI in the average", "kbert/experiments/glue/glue_tasks.py",
        '(Submission("WNLI.tsv"),), in_average=False)', '(Submission("WNLI.tsv"),))',
        "kbert/experiments/glue/test_glue_summary.py",
    ),
    _fault(
        "GLUE: training and dev rows of MRPC exchanged", "kbert/experiments/glue/paraphrase_corpus.py",
        "(dev if ids in wanted else train)", "(train if ids in wanted else dev)",
        "kbert/experiments/glue/test_glue_files.py",
    ),
    _fault(
        "GLUE: a finished run counts for other data", "kbert/experiments/finished_run.py",
        "if not all(same.values()):", "if not same:",
        "kbert/experiments/test_other_dev_files.py::test_a_finished_run_is_known_by_all_that_was_asked",
    ),
)  # fmt: skip

_QUESTIONS = (
    _fault(
        "windows: one too few at the end", "kbert/tokenization/window_packer.py",
        "+ steps - 1) // steps", ") // steps",
        "kbert/tokenization/test_window_packer.py",
    ),
    _fault(
        "windows: maximal context without a hundredth of the length", "kbert/tokenization/window_packer.py",
        "around + 0.01 * tf.cast(lengths, tf.float64)", "around + 0.0 * tf.cast(lengths, tf.float64)",
        "kbert/tokenization/test_window_packer.py",
    ),
    _fault(
        "questions: an answer that a window cuts is learnt", "kbert/tasks/question_answering/windows.py",
        "whole = (inside.sum(axis=1) == once[owners]) & inside.any(axis=1)", "whole = inside.any(axis=1)",
        "kbert/tasks/question_answering/test_windows.py",
    ),
    _fault(
        "questions: of several answers the last is learnt", "kbert/tasks/question_answering/windows.py",
        "answer = question.answers[0]", "answer = question.answers[-1]",
        "kbert/tasks/question_answering/test_windows.py",
    ),
    _fault(
        "questions: answers may begin without maximal context",
        "kbert/tasks/question_answering/best_spans.py",
        "starts = np.where(rows.max_context > 0, rows", "starts = np.where(rows.offsets[..., 0] >= 0, rows",
        "kbert/tasks/question_answering/test_best_spans.py",
    ),
    _fault(
        "questions: the least score of no answer becomes the largest",
        "kbert/tasks/question_answering/graph_answers.py",
        "tf.math.unsorted_segment_min(no_answer,", "tf.math.unsorted_segment_max(no_answer,",
        "kbert/tasks/question_answering/test_best_spans.py",
    ),
    _fault(
        "questions: the last of equal windows answers", "kbert/tasks/question_answering/graph_answers.py",
        "candidates = tf.where(is_best, tf.range(tf.size(best)), tf.int32.max)\n"
        "    window = tf.math.unsorted_segment_min(",
        "candidates = tf.where(is_best, tf.range(tf.size(best)), -1)\n"
        "    window = tf.math.unsorted_segment_max(",
        "kbert/tasks/question_answering/test_best_spans.py",
    ),
    _fault(
        "questions: the same text twice among the best", "kbert/tasks/question_answering/span_answers.py",
        "if candidate.text not in seen:", "if candidate not in rivals:",
        "kbert/tasks/question_answering/test_span_answers.py::test_by_offsets_every_text_is_the_best_span_that_spells_it",
    ),
    _fault(
        "questions: an answer at the threshold is blanked", "kbert/tasks/question_answering/squad_scores.py",
        "float(not has) if odds > threshold else score", "float(not has) if odds >= threshold else score",
        "kbert/tasks/question_answering/test_squad_scores.py",
    ),
    _fault(
        "questions: an empty answer costs a point without an answer",
        "kbert/tasks/question_answering/squad_scores.py",
        "        elif answers[place]:\n", "        else:\n",
        "kbert/tasks/question_answering/test_squad_scores.py",
    ),
    _fault(
        "questions: an answer that does not stand there is taken",
        "kbert/tasks/question_answering/squad_files.py",
        "    if there != text:\n", "    if not there:\n",
        "kbert/tasks/question_answering/test_squad_files.py",
    ),
)  # fmt: skip

_PAGES = (
    _fault(
        "calibration: empty bins count", "kbert/tasks/pages/calibration.py",
        "(counts * gaps).sum() / max(counts.sum(), 1.0)", "gaps.mean()",
        "kbert/tasks/pages/test_sections.py",
    ),
    _fault(
        "pages: the least confident errors come first", "kbert/tasks/pages/labels.py",
        "np.argsort(-np.asarray(badness)[wrong], kind=\"stable\")",
        "np.argsort(np.asarray(badness)[wrong], kind=\"stable\")",
        "kbert/tasks/pages/test_sections.py",
    ),
)  # fmt: skip

_SIMILARITY = (
    _fault(
        "similarity: a replica takes the first rows for its own", "kbert/tasks/similarity/in_batch_loss.py",
        "labels = first + ops.arange(", "labels = ops.arange(",
        "kbert/tasks/similarity/test_in_batch_loss.py",
    ),
    _fault(
        "similarity: hard negatives forgotten", "kbert/tasks/similarity/in_batch_loss.py",
        "ops.concatenate([candidates, negatives], axis=0)",
        "ops.concatenate([candidates, candidates], axis=0)",
        "kbert/tasks/similarity/test_in_batch_loss.py",
    ),
    _fault(
        "similarity: equal texts in a batch", "kbert/input_pipelines/distinct_batches.py",
        "if texts.isdisjoint(self._texts[self._open[place]]):", "if place >= 0:",
        "kbert/input_pipelines/test_distinct_batches.py",
    ),
    _fault(
        "similarity: the checkpoint's pooling replaces the setting",
        "kbert/tasks/similarity/embedding_task.py",
        '"pooling": given.mode if self._mode is None else self._mode,', '"pooling": given.mode,',
        "kbert/tasks/similarity/test_examples.py",
    ),
    _fault(
        "similarity: ties are won", "kbert/tasks/similarity/retrieval_scores.py",
        "(above == 0) / (1 + ties)", "above == 0",
        "kbert/tasks/similarity/test_scores.py",
    ),
)  # fmt: skip

_FEATURES = (
    _fault(
        "features: the windows of another batch", "kbert/inference/layer_vectors.py",
        "values[windows, :length]", "values[: len(windows), :length]",
        "kbert/tasks/feature_based/test_layer_features.py",
    ),
    _fault(
        "features: the embeddings counted among all layers", "kbert/tasks/feature_based/settings.py",
        "tuple(range(1, last + 1))", "tuple(range(last + 1))",
        "kbert/tasks/feature_based/test_settings.py",
    ),
    _fault(
        "features: padding is read as words", "kbert/heads/bilstm_head.py",
        "mask=mask, training=training", "training=training",
        "kbert/heads/test_bilstm_head.py",
    ),
    _fault(
        "features: weights of layers that are not shares", "kbert/layers/scalar_mix.py",
        "ops.softmax(self.layer_weights)", "self.layer_weights + 1 / len(layers)",
        "kbert/layers/test_scalar_mix.py",
    ),
    _fault(
        "features: stored numbers that overflow", "kbert/input_pipelines/records/raw_numbers.py",
        "if not np.isfinite(numbers).all()", "if not np.isfinite(row).all()",
        "kbert/input_pipelines/records/test_raw_numbers.py",
    ),
)  # fmt: skip

_SUITE = (
    _fault(
        "the longest files of the suite come last", "tests/order_of_files.py",
        "(-slow[item.path], -number", "(slow[item.path], -number",
        "test_order_of_files.py",
    ),
    _fault(
        "the README asks for a flag that there is not", "README.md",
        "--eval_file=reviews.csv --split=dev --html_file", "--dev_file=reviews.csv --split=dev --html_file",
        "docs/test_commands.py",
    ),
    _fault(
        "a page shows a module where there is a command", "docs/finetuning.md",
        "    kbert predict --run_dir=runs/reviews",
        "    python -m kbert.scripts.run_prediction --run_dir=runs/reviews",
        "docs/test_commands.py",
    ),
    _fault(
        "a link without its first bracket", "docs/results.md",
        "[Phones](mobile.md) has", "Phones](mobile.md) has",
        "docs/test_links.py",
    ),
    _fault(
        "the site lacks a page", "mkdocs.yml",
        "      - Long texts: long_texts.md\n", "",
        "docs/test_links.py",
    ),
)  # fmt: skip

_DISTILLATION = (
    _fault(
        "distillation: the temperature without its square", "kbert/distillation/losses.py",
        "return temperature**2 * ops.sum(ops.exp(p) * (p - q), axis=-1)",
        "return temperature * ops.sum(ops.exp(p) * (p - q), axis=-1)",
        "kbert/distillation/test_losses.py",
    ),
    _fault(
        "distillation: teacher and student change places", "kbert/distillation/losses.py",
        "for logits in (teacher, student))", "for logits in (student, teacher))",
        "kbert/distillation/test_losses.py",
    ),
    _fault(
        "distillation: the layer below the one to imitate", "kbert/distillation/distillation_model.py",
        "theirs[layer + 1] for layer", "theirs[layer] for layer",
        "kbert/distillation/test_distillation.py",
    ),
    _fault(
        "distillation: a teacher that is trained", "kbert/distillation/teacher.py",
        "        model.trainable = not frozen\n", "",
        "kbert/distillation/test_distillation.py",
    ),
    _fault(
        "distillation: the digest forgets the numbers", "kbert/distillation/teacher.py",
        "            hashed.update(checkpoint.tensors[name].read().tobytes())\n", "",
        "kbert/distillation/test_teacher.py",
    ),
    _fault(
        "trimming: characters inside of words are dropped", "tfrecords_tools/vocabulary/trimming.py",
        "for piece in (c, CONTINUATION + c)", "for piece in (c,)",
        "tfrecords_tools/vocabulary/test_trimming.py",
    ),
    _fault(
        "trimming: ids in another order", "tfrecords_tools/vocabulary/trimming.py",
        "return [token for token in tokens if token in kept]", "return sorted(kept)",
        "tfrecords_tools/vocabulary/test_trimming.py",
    ),
)  # fmt: skip

_CHOSEN_ANSWERS = (
    _fault(
        "long texts: head and tail change places", "kbert/tokenization/long_texts.py",
        "kept * _HEAD // _WHOLE", "kept * (_WHOLE - _HEAD) // _WHOLE",
        "kbert/tokenization/test_long_texts.py",
    ),
    _fault(
        "long texts: a window too short for a pair", "kbert/tokenization/long_texts.py",
        "self._windows(second, room - kept)", "self._windows(second, room // 2)",
        "kbert/tokenization/test_long_texts.py",
    ),
    _fault(
        "long texts: a row after a gap joins the text before", "kbert/tokenization/long_texts.py",
        "tf.not_equal(numbers, before + 1)", "tf.less(numbers, before)",
        "kbert/tokenization/test_long_texts.py",
    ),
    _fault(
        "long texts: all windows count in a vote", "kbert/tasks/sequences/window_pooling.py",
        "tf.equal(own, tf.gather(elected, owners))", "tf.equal(own, own)",
        "kbert/tasks/test_long_texts.py",
    ),
    _fault(
        "long texts: constant answers count windows", "kbert/tasks/sequences/sequence_task.py",
        "batch[name][batch[WINDOW_FEATURE] == 0] if", "batch[name] if",
        "kbert/tasks/test_long_texts.py",
    ),
    _fault(
        "thresholds: the one nearest to 0.5 is not taken", "kbert/tasks/thresholds.py",
        "np.argmin(np.abs(middles", "np.argmax(np.abs(middles",
        "kbert/tasks/test_thresholds.py",
    ),
    _fault(
        "thresholds: a label is given above its threshold only", "kbert/tasks/thresholds.py",
        "right, given = total - before,", "right, given = total - before - held.any(),",
        "kbert/tasks/test_thresholds.py",
    ),
    _fault(
        "temperature: logits are multiplied by it", "kbert/tasks/temperature.py",
        "logits / temperature", "logits * temperature",
        "kbert/tasks/test_temperature.py",
    ),
    _fault(
        "temperature: the spread forgets the mean", "kbert/tasks/temperature.py",
        "mean = (likely * logits).sum(axis=-1)", "mean = logits.mean(axis=-1)",
        "kbert/tasks/test_temperature.py",
    ),
)  # fmt: skip

_ANSWERING = (
    _fault(
        "answering: heads of the text before", "kbert/answering/attention_rows.py",
        "places = starts * self._num_columns + self._column[:, None]",
        "places = starts * self._num_columns",
        "kbert/answering",
    ),
    _fault(
        "answering: padding takes part", "kbert/answering/answering_encoder.py",
        "* factor + mask)", "* factor)",
        "kbert/answering",
    ),
    _fault(
        "answering: the last layer asks for other tokens", "kbert/answering/real_tokens.py",
        "starts = tf.cumsum(lengths, exclusive=True)", "starts = tf.cumsum(lengths)",
        "kbert/answering",
    ),
    _fault(
        "answering: neighbours in a row attend to each other", "kbert/answering/attention_rows.py",
        "examples + 1, shape)", "tf.ones_like(examples), shape)",
        "kbert/answering",
    ),
    _fault(
        "answering: examples in a shared row overlap", "kbert/answering/attention_rows.py",
        "order = tf.argsort(halvings)", "order = tf.range(tf.size(halvings))",
        "kbert/answering",
    ),
    _fault(
        "answering: what the first row attends to is everyone's", "kbert/answering/attention_rows.py",
        "tf.gather(tf.gather(values, row), column", "tf.gather(tf.gather(values, 0 * row), column",
        "kbert/answering",
    ),
    _fault(
        "answering: copies where weights may change", "kbert/answering/answering_encoder.py",
        'if precision == "float32":', 'if precision == "":',
        "kbert/answering",
    ),
    _fault(
        "answering: the fused norm's own epsilon", "kbert/answering/answering_encoder.py",
        "variance + layer_norm.epsilon", "variance + 1e-3",
        "kbert/answering",
    ),
)  # fmt: skip

_PHONES = (
    _fault(
        "LiteRT: the scales of other tokens",
        "export/litert/token_table.py",
        "[table, lookup.gather.inputs[1]]",
        "[table, lookup.gather.inputs[1] * 0]",
        "export/litert/test_token_table.py",
    ),
    _fault(
        "a student of another recipe goes on in the folder",
        "export/student/recipe.py",
        'elif differing := differing_keys(read_json_object(path), asked)',
        'elif differing := differing_keys(asked, asked)',
        "export/student/test_student.py",
    ),
    _fault(
        "LiteRT: a full row goes to the next length", "export/litert/litert_model.py",
        "if tokens <= length:", "if tokens < length:",
        "export/litert/test_litert_model.py",
    ),
    _fault(
        "LiteRT: differences of the first row of a batch alone", "export/litert/comparison.py",
        ".reshape(len(one), -1).max(axis=1)", ".reshape(len(one), -1)[:1].max(axis=1)",
        "export/litert/test_comparison.py",
    ),
    _fault(
        "LiteRT: the vectors of an encoder are always of length 1", "kbert/tasks/encoding.py",
        "SequencePooling(self.pooling.mode, self.pooling.normalize)",
        "SequencePooling(self.pooling.mode, True)",
        "export/test_export_encoder_tflite.py",
    ),
    _fault(
        "LiteRT: the highest cosine as the lowest", "export/litert/comparison.py",
        '{"min": 0.0, "p1"', '{"min": 1.0, "p1"',
        "export/litert/test_comparison.py",
    ),
    _fault(
        "MediaPipe: capitals beyond ASCII in lower case", "export/litert/from_text/mediapipe_tokenizer.py",
        ".translate(_ASCII_LOWER)", ".lower()",
        "export/litert/from_text/test_mediapipe_tokenizer.py",
    ),
    _fault(
        "LiteRT: weights that are not aligned", "export/litert/flatbuffer.py",
        "_ALIGNMENT = 16", "_ALIGNMENT = 1",
        "export/litert/test_token_table.py", "export/litert/from_text/test_mediapipe_file.py",
    ),
    _fault(
        "LiteRT with its tokenizer: answers to what is read alike are kept as those to the rest",
        "export/litert/from_text/other_reading.py",
        "if changed.any():", "if changed.all():",
        "export/litert/from_text/test_other_reading.py",
    ),
    _fault(
        "LiteRT: one right end makes a span the same", "kbert/tasks/question_answering/question_answering.py",
        "return both[0] & both[1]", "return both[0] | both[1]",
        "kbert/tasks/test_same_answers.py",
    ),
    _fault(
        "Python's tokenizer: a sigma is final without a letter before it",
        "export/tokenizers/python/lower_casing.py",
        "return _meets_cased(text, place, -1) and not", "return not",
        "export/tokenizers/test_every_language.py",
    ),
    _fault(
        "Python's tokenizer: marks in the order of the text",
        "export/tokenizers/python/lower_casing.py",
        "return _with_ordered_marks(text) if _ORDERED_MARK.search(folded) else folded", "return folded",
        "export/tokenizers/test_every_language.py",
    ),
    _fault(
        "JavaScript's tokenizer: the odd place goes to the second text",
        "export/tokenizers/javascript/text_inputs.js",
        "Math.ceil(room / 2)", "Math.floor(room / 2)",
        "export/tokenizers/test_every_language.py::test_rows_are_the_graphs",
    ),
    _fault(
        "JavaScript's tokenizer: an accent of class 0 lets marks pass",
        "export/tokenizers/javascript/lower_casing.js",
        "if (fixedAccents.has(code)) runStart = result.length;", "",
        "export/tokenizers/test_every_language.py",
    ),
    _fault(
        "LiteRTModel imports TensorFlow", "export/litert/litert_model.py",
        "import numpy as np", "import numpy as np\nimport tensorflow as tf  # noqa: F401",
        "export/litert/test_litert_model.py",
    ),
    _fault(
        "the page reads [MASK] as letters", "export/server/page/files/views/masks.js",
        "  readsMasks: true,\n", "",
        "export/server/page/test_page_in_a_browser.py",
    ),
)  # fmt: skip

_MODEL_PAGE = (
    _fault(
        "the page to try models allows inline scripts", "export/server/page/page_files.py",
        "script-src 'self';", "script-src 'self' 'unsafe-inline';",
        "export/server/page/test_page_files.py",
    ),
    _fault(
        "the page to try models counts UTF-16 units", "export/server/page/files/views/question.js",
        "Array.from(context)", 'context.split("")',
        "export/server/page/test_page_in_a_browser.py::test_every_view_shows_what_the_server_answers",
    ),
    _fault(
        "the page to try models sorts no labels", "export/server/page/files/views/labels.js",
        "b.value - a.value", "a.index - b.index",
        "export/server/page/test_page_in_a_browser.py::test_every_view_shows_what_the_server_answers",
    ),
)  # fmt: skip

_OUTPUT = (
    _fault(
        "--json prints the table as well", "kbert/command_flags/closing_output.py",
        "allow_nan=False))\n        return\n", "allow_nan=False))\n",
        "kbert/scripts/test_checkpoints_of_others.py::test_a_folder_of_others_is_evaluated_as_the_run",
    ),
    _fault(
        "the closing table breaks paths", "kbert/reports/closing_table.py",
        "break_long_words=False", "break_long_words=True",
        "kbert/reports/test_closing_table.py",
    ),
    _fault(
        "what is printed stands behind the line of progress", "kbert/terminal_line.py",
        "            self._line.clear(nolock=True)\n", "",
        "kbert/test_log_lines.py::test_progress_stands_on_one_line_of_a_terminal_and_the_rest_above_it",
    ),
    _fault(
        "work without a name is not told", "kbert/activity.py",
        "if silent + check > (first", "if own and silent + check > (first",
        "kbert/test_activity.py::test_work_without_a_name_is_told_by_the_script",
    ),
)  # fmt: skip

_QUICKSTART = (
    _fault(
        "pretraining sees half of the classifier's positions", "kbert/quickstart/commands.py",
        '"--max_seq_length=64"', '"--max_seq_length=32"',
        "kbert/quickstart/test_commands.py",
    ),
    _fault(
        "the quickstart's verdict counts any difference", "kbert/quickstart/verdict.py",
        "if abs(points) <= deviation:", "if abs(points) <= 0.0:",
        "kbert/quickstart/test_verdict.py",
    ),
    _fault(
        "only right answers are shown", "kbert/quickstart/shown_examples.py",
        "e.is_right == right", "e.is_right",
        "kbert/quickstart/test_shown_examples.py",
    ),
)  # fmt: skip

FAULTS = (
    *_KERNELS, *_MODEL, *_TOKENIZATION, *_INPUT_PIPELINES, *_TRAINING, *_RUNS_AND_FILES, *_CHECKPOINTS,
    *_COMMANDS, *_ANSWERS, *_DATA_TOOLS, *_GLUE, *_QUESTIONS, *_SIMILARITY, *_FEATURES, *_SUITE, *_FINETUNING,
    *_DISTILLATION, *_PAGES, *_CHOSEN_ANSWERS, *_ANSWERING, *_MODEL_PAGE, *_PHONES, *_OUTPUT, *_QUICKSTART,
)  # fmt: skip
