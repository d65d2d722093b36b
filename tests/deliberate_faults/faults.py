"""Slips in the heart of kbert, as patches of functions (patching.py), and the tests that must notice each.

The tests are chosen small: a round takes minutes.
"""

from tests.deliberate_faults.patching import Fault


def _fault(name, target, patch, *tests, within=""):
    return Fault(name, target, patch, tuple(f"tests/{test}" for test in tests), within)


_KERNELS = (
    _fault(
        "scores without their scale, in training", "attention_softmax",
        "lambda original: lambda scores, mask, seed, scale, *a: original(scores, mask, seed, 1.0, *a)",
        "kbert/test_training_path.py",
    ),
    _fault(
        "the gradient of softmax is too large", "attention_softmax",
        "lambda original: lambda scores, *a: original(1.1 * scores - 0.1 * tf.stop_gradient(scores), *a)",
        "kbert/kernels/test_kernels.py",
    ),
    _fault(
        "a mask too weak", "PADDING_ADDER", "lambda original: -10.0",
        "kbert/test_encoder.py",
    ),
    _fault(
        "packed texts look into each other", "mask_adder",
        "lambda original: lambda mask, packed: original(ops.cast(mask > 0, 'int32'), packed)",
        "kbert/kernels/test_kernels.py", "kbert/test_training_path.py",
    ),
    _fault(
        "a digit of GELU", "_CUBIC", "lambda original: 0.04475",
        "kbert/kernels/test_kernels.py",
    ),
    _fault(
        "numbers cut off instead of rounded", "rounded",
        "lambda original: lambda x, dtype: original(x, dtype) if dtype != 'bfloat16' else "
        "tf.bitcast(tf.cast(tf.bitwise.right_shift(tf.bitcast(x, tf.uint32), 16), tf.uint16), tf.bfloat16)",
        "kbert/kernels/test_rounding.py",
    ),
    _fault(
        "the norm's gradient forgets the mean", "normalized_gradient",
        "lambda original: lambda gradient, scaled, scale: scale * gradient",
        "kbert/kernels/test_kernels.py",
    ),
    _fault(
        "a sign in the gradient of the loss", "cross_entropy",
        "lambda original: lambda logits, labels: original(2.0 * tf.stop_gradient(logits) - logits, labels)",
        "kbert/kernels/test_kernels.py",
    ),
    _fault(
        "dropout that does not scale up", "dropout_mask",
        "lambda original: lambda shape, rate, seed: original(shape, rate, seed) * (1.0 - rate)",
        "kbert/kernels/test_random_bits.py",
    ),
    _fault(
        "the residual connection is lost, in training", "residual_norm",
        "lambda original: lambda product, bias, residual, *a, **k: original(product, bias, 0 * residual, "
        "*a, **k)",
        "kbert/test_training_path.py",
    ),
)  # fmt: skip

_MODEL = (
    _fault(
        "a vector of zeros is divided by its length", "unit",
        "lambda original: lambda vectors: ops.normalize(vectors, axis=-1, order=2)",
        "kbert/layers/test_sequence_pooling.py",
    ),
    _fault(
        "biases of the attention are forgotten", "SelfAttention._joined_weights",
        "lambda original: lambda self: (original(self)[0], 0 * original(self)[1])",
        "kbert/test_encoder.py",
    ),
    _fault(
        "segments swapped", "BertEmbeddings.call",
        "lambda original: lambda self, ids, segments, *a, **k: original(self, ids, 1 - segments, *a, **k)",
        "kbert/test_encoder.py",
    ),
    _fault(
        "a wrong epsilon", "TransformerBlock.__init__",
        "lambda original: lambda self, *a, **k: original(self, *a, **k | {'layer_norm_eps': 1e-3})",
        "kbert/test_encoder.py",
    ),
    _fault(
        "packed texts numbered from 0", "PackedRows.call",
        "lambda original: lambda self, *a: original(self, *a) | "
        "{'text_numbers': ops.maximum(original(self, *a)['text_numbers'] - 1, 0)}",
        "kbert/test_training_path.py",
    ),
    _fault(
        "the pooler takes the second token", "Pooler.call",
        "lambda original: lambda self, sequence: original(self, sequence[:, 1:])",
        "kbert/test_encoder.py",
    ),
    _fault(
        "another pooler has BERT's tanh", "Pooler.__init__",
        "lambda original: lambda self, *a, **k: original(self, *a[:2], **k)",
        "kbert/test_encoder.py",
    ),
    _fault(
        "what follows narrow tables forgets its bias", "BertEmbeddings._projected",
        "lambda original: lambda self, x: x if self.projection is None else self.projection.product(x)",
        "kbert/test_encoder.py",
    ),
    _fault(
        "a mean over padding", "SequencePooling._pool",
        "lambda original: lambda self, hidden, mask: original(self, hidden, ops.ones_like(mask))",
        "kbert/layers/test_sequence_pooling.py",
    ),
    _fault(
        "masked positions of the first row in all rows", "MaskedLMHead.call",
        "lambda original: lambda self, x, positions, **k: original(self, x, 0 * positions + "
        "positions[:1], **k)",
        "kbert/heads/test_heads.py",
    ),
    _fault(
        "a compiled kernel in what is exported", "MaskedLMHead.call",
        "lambda original: lambda self, x, positions, **k: original(self, x, positions, training=True)",
        "kbert/inference/test_inference.py",
    ),
    _fault(
        "logits in 16 bits", "ClassificationHead.call",
        "lambda original: lambda self, x, **k: ops.cast(original(self, x, **k), self.compute_dtype)",
        "kbert/heads/test_heads.py",
    ),
    _fault(
        "the same dropout for all adapters", "_GOLDEN", "lambda original: 0",
        "kbert/layers/test_low_rank_dense.py", within="low_rank",
    ),
)  # fmt: skip

_TOKENIZATION = (
    _fault(
        "the odd place goes to the second text", "truncated_lengths",
        "lambda original: lambda first, second, room: original(second, first, room)[::-1]",
        "kbert/tokenization/test_segment_packer.py", within="kbert/",
    ),
    _fault(
        "the first [SEP] in the second segment", "pack_dense",
        "lambda original: lambda *a, **k: (*original(*a, **k)[:2], tf.roll(original(*a, **k)[2], -1, 1))",
        "kbert/tokenization/test_segment_packer.py",
    ),
    _fault(
        "the replacement character kept", "_DROPPED",
        r"lambda original: original.replace(r'\x{FFFD}', '')",
        "kbert/tokenization/test_wordpiece_tokenizer.py",
    ),
    _fault(
        "accents kept", "_ACCENT", r"lambda original: r'\p{Mc}'",
        "kbert/tokenization/test_word_splitter.py", within="splitter",
    ),
    _fault(
        "ideographs of the extensions are no words", "_IDEOGRAPH",
        r"lambda original: original.replace(r'\x{20000}-\x{2A6DF}', '')",
        "kbert/tokenization/test_word_splitter.py",
    ),
    _fault(
        "a word of 200 characters is too long", "MAX_CHARACTERS_PER_WORD", "lambda original: original - 1",
        "kbert/tokenization/test_wordpiece_tokenizer.py", within="kbert/",
    ),
    _fault(
        "pieces end a character too late", "WordPieceTokenizer.with_offsets",
        "lambda original: lambda self, texts: (lambda p: p._replace(ends=p.ends + 1))(original(self, texts))",
        "kbert/tokenization/test_offsets.py",
    ),
    _fault(
        "a fingerprint without the casing", "Vocabulary.fingerprint",
        "lambda original: lambda self: original(type('V', (), {'tokens': self.tokens, 'do_lower_case': "
        "True}))",
        "kbert/tokenization/test_vocabulary.py",
    ),
    _fault(
        "windows: one too few at the end", "window_starts",
        "lambda original: lambda totals, rooms, steps: original(tf.maximum(totals - 1, 0), rooms, steps)",
        "kbert/tokenization/test_window_packer.py",
    ),
    _fault(
        "long texts: head and tail change places", "_HEAD", "lambda original: _WHOLE - original",
        "kbert/tokenization/test_long_texts.py::test_of_510_pieces_the_first_128_and_the_last_382_stay",
        within="tokenization",
    ),
    _fault(
        "long texts: a row after a gap joins the text before", "window_owners",
        "lambda original: lambda numbers: tf.cumsum(tf.cast(tf.equal(numbers, 0), tf.int32)) - 1",
        "kbert/tokenization/test_long_texts.py::test_rows_after_a_gap_are_a_text_of_their_own",
    ),
)  # fmt: skip

_INPUT_PIPELINES = (
    _fault(
        "no piece is left unchanged", "_UNCHANGED_SHARE", "lambda original: 0.0",
        "kbert/input_pipelines/test_masking.py",
    ),
    _fault(
        "pieces of whole words are masked alone", "_Groups.__init__",
        "lambda original: lambda self, candidate, joins, ids: original(self, candidate, None, ids)",
        "kbert/input_pipelines/test_masking.py",
    ),
    _fault(
        "every epoch in the same order", "endless_epochs",
        "lambda original: lambda make, *a: original(lambda seed: make(0 * seed), *a)",
        "kbert/input_pipelines/test_epochs.py",
    ),
    _fault(
        "an epoch resumed one example late", "endless_epochs",
        "lambda original: lambda make, size, seed, start: original(make, size, seed, start + (start > 0))",
        "kbert/input_pipelines/test_epochs.py",
    ),
    _fault(
        "rows of filling count", "pad_last_batch",
        "lambda original: lambda *a: original(*a).map("
        "lambda batch: batch | {'example_weights': tf.ones_like(batch['example_weights'])})",
        "kbert/input_pipelines/test_epochs.py",
    ),
    _fault(
        "shares begin at the top of a shard", "record_ranges_of",
        "lambda original: lambda *a: [part._replace(skip=0) for part in original(*a)]",
        "kbert/input_pipelines/records/test_record_shares.py",
    ),
    _fault(
        "an id as large as the vocabulary passes", "ranges",
        "lambda original: lambda manifest: {k: (low, high + 1) for k, (low, high) in "
        "original(manifest).items()}",
        "kbert/input_pipelines/records/test_record_ranges.py", within="records",
    ),
    _fault(
        "rows filled beyond their end", "first_fit",
        "lambda original: lambda lengths, room: original(np.maximum(np.asarray(lengths) - 1, 1), room)",
        "kbert/input_pipelines/test_packing.py",
    ),
    _fault(
        "a split by place instead of by text", "held_out_places",
        "lambda original: lambda groups, *a: original([str(place) for place in range(len(groups))], *a)",
        "kbert/input_pipelines/test_held_out_split.py",
    ),
    _fault(
        "equal texts in a batch", "DistinctBatches.__init__",
        "lambda original: lambda self, texts, size: original(self, [[str(n)] for n, _ in "
        "enumerate(texts)], size)",
        "kbert/input_pipelines/test_distinct_batches.py",
    ),
)  # fmt: skip

_TRAINING = (
    _fault(
        "gradients are not clipped", "Optimizer.apply",
        "lambda original: lambda *a, gradient_scale=1.0: original(*a)",
        "kbert/training/optimizers/test_optimizers.py::test_a_gradient_scale_is_as_scaled_gradients",
    ),
    _fault(
        "the same dropout in every step", "TrainStep._seed_dropout",
        "lambda original: lambda self, step, replica: original(self, 0 * step, replica)",
        "kbert/training/test_train_step.py::test_dropout_differs_between_steps",
    ),
    _fault(
        "the first part of a batch is taken again and again", "_in_parts",
        "lambda original: lambda value, parts: tf.repeat(original(value, parts)[:1], parts, 0)",
        "kbert/training/test_gradient_accumulation.py::test_sums_over_parts_are_those_over_all_rows",
    ),
    _fault(
        "each replica divides by its own weight", "TrainStep._over_replicas",
        "lambda original: lambda self, values: values",
        "kbert/training/devices/test_strategies.py::test_replicas_take_the_steps_of_one",
    ),
    _fault(
        "an overflow does not shrink the loss scale", "DynamicLossScale.update",
        "lambda original: lambda self, finite: original(self, tf.constant(True))",
        "kbert/training/test_loss_scale.py::test_the_scale_doubles_after_many_good_steps_and_halves_at_an_overflow",
    ),
    _fault(
        "the linear decay counts one step too many", "LinearWarmupDecay.decayed_share",
        "lambda original: lambda self, step: original(self, step + 1)",
        "kbert/training/optimizers/test_schedule.py",
    ),
    _fault(
        "bias corrected for one update too many", "beta_powers",
        "lambda original: lambda config, step: original(config, step + 1)",
        "kbert/training/optimizers/test_optimizers.py::test_adamw_equals_kerass",
    ),
    _fault(
        "the second moment decays like the first", "new_moments",
        "lambda original: lambda config, *a: original(dataclasses.replace(config, beta_2=config.beta_1), *a)",
        "kbert/training/optimizers/test_optimizers.py::test_adamw_equals_kerass",
    ),
    _fault(
        "LAMB's ratio upside down", "_trust_ratio",
        "lambda original: lambda variable_norm, update_norm: original(update_norm, variable_norm)",
        "kbert/training/optimizers/test_optimizers.py::test_lamb_steps_are_as_long_as_the_variable_times_the_rate",
    ),
    _fault(
        "layers learn one layer's share too little", "rate_shares",
        "lambda original: lambda names, decay: [share * decay for share in original(names, decay)]",
        "kbert/training/optimizers/test_parameter_groups.py",
    ),
    _fault(
        "norms and biases are decayed", "is_decayed", "lambda original: lambda name, excluded: True",
        "kbert/training/optimizers/test_parameter_groups.py",
        "kbert/training/optimizers/test_optimizers.py::test_lamb_steps_are_as_long_as_the_variable_times_the_rate",
    ),
    _fault(
        "one layer too few is frozen", "FrozenConfig.holds",
        "lambda original: lambda self, name: "
        "original(dataclasses.replace(self, layers=max(self.layers - 1, 0)), name)",
        "kbert/training/test_frozen.py::test_as_many_layers_are_frozen_as_asked_for",
    ),
    _fault(
        "means are sums", "means",
        "lambda original: lambda sums: original({k: (total, 1.0) for k, (total, _) in sums.items()})",
        "kbert/training/test_train_step.py::test_a_tiny_model_overfits_one_batch", within="evaluation",
    ),
    _fault(
        "dropout in evaluations", "EvaluationStep._outputs",
        "lambda original: lambda self, inputs: self._model(inputs, training=True)",
        "kbert/training/test_trainer.py::test_evaluation_counts_every_example_once",
    ),
    _fault(
        "adapters merged without their scale", "_sum_of",
        "lambda original: lambda kernel, first, second, scale: original(kernel, first, second, 1.0)",
        "kbert/training/test_lora.py::test_merged_kernels_are_those_of_the_paper",
    ),
)  # fmt: skip

_RESUME = (
    _fault(
        "a lost field: the sums of the open interval", "TrainingState.write",
        "lambda original: lambda self, *a, **k: setattr(self, '_sums', None) or original(self, *a, **k)",
        "kbert/training/test_one_weight_trainings.py::test_a_signal_in_an_open_interval_loses_nothing",
    ),
    _fault(
        "a resumed run counts its evaluation twice", "TrainingProgress.state",
        "lambda original: lambda self, step: original(self, step) | {'num_lines': self._num_lines}",
        "kbert/training/measuring/test_progress.py",
    ),
    _fault(
        "a lost field: the optimizer's moments", "TrainingState.read_optimizer",
        "lambda original: lambda self, path, variables: {}",
        "kbert/training/test_one_weight_trainings.py::test_a_killed_run_resumes_to_the_very_same_numbers",
    ),
    _fault(
        "patience lost in a stop", "BestCheckpoint.restore",
        "lambda original: lambda self, state: original(self, state | {'fruitless': 0})",
        "kbert/runs/test_best_checkpoint.py",
    ),
    _fault(
        "Ctrl-C in a half-loaded library is a traceback", "is_from_interrupt",
        "lambda original: lambda error: isinstance(error, KeyboardInterrupt)",
        "kbert/cli/test_signals.py::test_an_error_made_of_a_keyboard_interrupt_is_one",
    ),
    _fault(
        "an error inside a pipeline is a traceback", "error_sentence",
        "lambda original: lambda error: original(error) if isinstance(error, _MENDABLE) else None",
        "kbert/cli/test_script.py::test_what_a_function_inside_a_pipeline_raised",
    ),
    _fault(
        "nothing is brought to disk", "_bring_to_disk", "lambda original: lambda path: None",
        "kbert/runs/test_checkpoint.py::test_all_is_on_the_disk_before_the_folder_has_its_name",
    ),
    _fault(
        "one checkpoint too few is kept", "_delete_old",
        "lambda original: lambda folder, newest, keep, *a: original(folder, newest, max(keep - 1, 1), *a)",
        "kbert/runs/test_checkpoint.py::test_the_newest_are_kept_and_unfinished_ones_ignored",
    ),
    _fault(
        "checkpoints in the order of their names", "list_checkpoints",
        "lambda original: lambda folder: sorted(original(folder))",
        "kbert/runs/test_checkpoint.py::test_steps_are_ordered_as_numbers",
    ),
    _fault(
        "damaged files pass", "verify", "lambda original: lambda *a, **k: None",
        "kbert/runs/test_checkpoint.py::test_a_damaged_newest_checkpoint_gives_way_to_the_one_before",
        within="runs",
    ),
    _fault(
        "a CRC of another file", "write_safetensors", "lambda original: lambda *a: original(*a) ^ 1",
        "kbert/files/test_safetensors_file.py", "kbert/runs/test_checkpoint.py",
    ),
    _fault(
        "what another process writes is swept away", "_remove_if_abandoned",
        "lambda original: lambda left, old_of: left.unlink(missing_ok=True)",
        "kbert/files/test_whole_file.py",
    ),
)  # fmt: skip

_CHECKPOINTS = (
    _fault(
        "numbers of two files are mixed", "_stamp", "lambda original: lambda path: 0",
        "kbert/checkpoints/test_changed_files.py", within="unchanged_file",
    ),
    _fault(
        "infinite numbers pass for weights", "_require_finite",
        "lambda original: lambda array, numbers, what: None",
        "kbert/checkpoints/test_finite_weights.py::test_short_floats_are_checked_too",
        within="stored_tensor",
    ),
    _fault(
        "Hugging Face's query for key", "HUGGING_FACE",
        "lambda original: original | {'body': "
        "tuple(row._replace(outside=row.outside.replace('self.query', 'self.k') "
        ".replace('self.key', 'self.query').replace('self.k.', 'self.key.')) for row in original['body'])}",
        "kbert/checkpoints/hugging_face/test_folder.py::test_stored_models_of_transformers_give_their_stored_answers",
        within="conversion",
    ),
    _fault(
        "kernels of other houses are not turned", "StoredTensor.as_finite_float32",
        "lambda original: lambda self, what, transposed=False: original(self, what)",
        "kbert/checkpoints/hugging_face/test_folder.py::test_stored_models_of_transformers_give_their_stored_answers",
    ),
    _fault(
        "new positions all take the first row", "resize_positions",
        "lambda original: lambda weights, n: (lambda found: found | "
        "{POSITION_TABLE: np.repeat(found[POSITION_TABLE][:1], n, 0)})(original(weights, n))",
        "kbert/checkpoints/conversion/test_resizing.py",
    ),
    _fault(
        "Adam's moments read as weights", "_SLOTS", "lambda original: re.compile(r'beta[12]_power')",
        "kbert/checkpoints/test_google_tf1.py::test_every_weight_is_taken_and_every_slot_is_named",
        within="tf1",
    ),
)  # fmt: skip

_LOSSES = (
    _fault(
        "examples that only fill a batch count", "example_weights",
        "lambda original: lambda batch: ops.ones_like(original(batch))",
        "kbert/tasks/test_losses_by_hand.py",
    ),
    _fault(
        "a weighted loss divided by the number of examples", "SequenceClassification.training_loss_weights",
        "lambda original: lambda self, batch: self.loss_weights(batch)",
        "kbert/tasks/test_label_losses.py",
    ),
    _fault(
        "true and predicted labels swapped", "SequenceClassification.metric_sums",
        "lambda original: lambda self, *a: (lambda found: found | "
        "{'confusion': (ops.transpose(found['confusion'][0]), found['confusion'][1])})(original(self, *a))",
        "kbert/tasks/test_losses_by_hand.py",
    ),
    _fault(
        "a sign in the loss of several labels", "_binary_cross_entropies",
        "lambda original: lambda logits, targets: original(-logits, targets)",
        "kbert/tasks/test_losses_by_hand.py",
    ),
    _fault(
        "distillation: the temperature without its square", "soft_label_error",
        "lambda original: lambda student, teacher, temperature: "
        "original(student, teacher, temperature) / temperature",
        "kbert/distillation/test_losses.py",
    ),
    _fault(
        "similarity: a replica takes the first rows for its own", "all_rows",
        "lambda original: lambda outputs, batch: (original(outputs, batch)[0], 0)",
        "kbert/tasks/similarity/test_in_batch_loss.py",
    ),
    _fault(
        "similarity: hard negatives forgotten", "forward_logits",
        "lambda original: lambda own, everyone, scale: "
        "original(own, everyone._replace(texts=everyone.texts[:, :2]), scale)",
        "kbert/tasks/similarity/test_in_batch_loss.py",
    ),
)  # fmt: skip

_SCORES = (
    _fault(
        "Matthews without a sign", "matthews_correlation",
        "lambda original: lambda confusion: abs(original(confusion))",
        "kbert/tasks/test_metrics_against_scikit_learn.py",
    ),
    _fault(
        "SQuAD: articles count", "normalized", "lambda original: lambda answer: answer.lower()",
        "kbert/tasks/question_answering/test_squad_scores.py", within="squad",
    ),
    _fault(
        "SQuAD: an answer at the threshold is blanked", "scores_v2",
        "lambda original: lambda answers, odds, right, threshold: original(answers, odds, right, "
        "threshold - 1e-6)",
        "kbert/tasks/question_answering/test_squad_scores.py",
    ),
    _fault(
        "entities: one that is cut off counts", "scores_of",
        "lambda original: lambda right, predicted, true: original(right, predicted, predicted)",
        "kbert/tasks/token_classification/test_entity_scores.py",
    ),
    _fault(
        "temperature: logits are multiplied by it", "probabilities_of",
        "lambda original: lambda logits, temperature=1.0, *a, **k: original(logits, 1.0 / temperature, "
        "*a, **k)",
        "kbert/tasks/test_temperature.py",
    ),
    _fault(
        "long texts: all windows count in a vote", "_agree_on_one",
        "lambda original: lambda logits, owners, texts: tf.ones_like(logits)",
        "kbert/tasks/test_long_texts.py",
    ),
)  # fmt: skip

_QUESTIONS = (
    _fault(
        "answers may begin without maximal context", "_band",
        "lambda original: lambda rows, n: "
        "original(rows._replace(max_context=np.ones_like(rows.max_context)), n)",
        "kbert/tasks/question_answering/test_best_spans.py", within="best_spans",
    ),
    _fault(
        "an answer that does not stand there is taken", "_answer",
        "lambda original: lambda answer, context, where: "
        "original(answer | {'answer_start': context.find(answer['text'])}, context, where)",
        "kbert/tasks/question_answering/test_squad_files.py", within="squad",
    ),
    _fault(
        "one right end makes a span the same", "QuestionAnswering.same_answers",
        "lambda original: lambda self, outputs, expected, batch: "
        "original(self, outputs | {'end_logits': expected['end_logits']}, expected, batch)",
        "kbert/tasks/test_same_answers.py",
    ),
)  # fmt: skip

_ANSWERS = (
    _fault(
        "infinite answers pass", "require_finite_answers", "lambda original: lambda values, *a, **k: None",
        "kbert/inference/test_finite_numbers.py",
    ),
    _fault(
        "texts without a second text are left out", "text_batch",
        "lambda original: lambda texts, pairs=None, *a, **k: original("
        "texts[: len(pairs)] if isinstance(pairs, list) else texts, pairs, *a, **k)",
        "kbert/inference/test_texts.py",
    ),
    _fault(
        "ids that mean nothing are let through", "checked_token_ids",
        "lambda original: lambda inputs, limits: inputs",
        "export/test_signatures.py::test_ids_that_mean_nothing_are_an_invalid_argument",
    ),
    _fault(
        "answering: neighbours and padding take part", "AttentionRows.mask",
        "lambda original: lambda self, *a: tf.zeros_like(original(self, *a))",
        "kbert/answering/test_attention_rows.py::test_tokens_attend_to_their_example_and_come_back",
    ),
    _fault(
        "answering: texts in a shared row overlap", "shared_rows",
        "lambda original: lambda lengths: (lambda row, column, *rest: (row, 0 * column, "
        "*rest))(*original(lengths))",
        "kbert/answering/test_attention_rows.py::test_examples_share_rows_without_overlap",
    ),
    _fault(
        "answering: the first token of the next text", "RealTokens.take_first",
        "lambda original: lambda self, values: tf.roll(original(self, values), 1, 0)",
        "kbert/answering/test_answering_model.py",
    ),
    _fault(
        "answering: copies where weights may change", "_weights_of",
        "lambda original: lambda *a: tuple(tf.Variable(w, trainable=False) for w in original(*a))",
        "kbert/answering/test_answering_model.py::test_it_follows_the_weights_of_the_model",
        within="answering",
    ),
)  # fmt: skip

_DATA_TOOLS = (
    _fault(
        "real next texts labelled random", "PairSampler.pairs",
        "lambda original: lambda self, documents: original(self, documents) ^ [0, 0, 0, 0, 1]",
        "tfrecords_tools/pretraining/test_sentence_pairs.py",
    ),
    _fault(
        "random texts of the same document", "PairSampler._random_text",
        "lambda original: lambda self, document, length: original(self, -1, length)",
        "tfrecords_tools/pretraining/test_sentence_pairs.py",
    ),
    _fault(
        "the second text is cut first", "truncate_pairs",
        "lambda original: lambda pairs, length, generator: "
        "original(pairs[:, [2, 3, 0, 1, 4]], length, generator)[:, [2, 3, 0, 1, 4]]",
        "tfrecords_tools/pretraining/test_sentence_pairs.py",
    ),
    _fault(
        "a text ends in a separator", "_close",
        "lambda original: lambda parts, lengths, used, separator: original(parts, lengths, used, None)",
        "tfrecords_tools/pretraining/test_full_sentences.py", within="full_sentences",
    ),
    _fault(
        "near duplicates are one hash nearer", "MIN_EQUAL_HASHES", "lambda original: original + 1",
        "tfrecords_tools/corpus/test_duplicates.py::test_near_duplicates_are_those_of_comparing_each_with_all_that_stay",
    ),
    _fault(
        "varints of 128 in one byte", "_packed_varints",
        "lambda original: lambda rows: [row.astype(np.uint8).tobytes() for row in rows] "
        "if rows.size and rows.min() >= 0 and rows.max() <= 128 else original(rows)",
        "tfrecords_tools/records/test_record_writer.py",
    ),
    _fault(
        "the same numbers sample and shuffle", "_SHUFFLING", "lambda original: 1",
        "tfrecords_tools/test_create_pretraining_data.py::test_each_stage_draws_numbers_of_its_own",
    ),
)  # fmt: skip

_FROZEN = (
    _fault(
        "dropout below a head on a frozen encoder", "HeadModel._encode",
        "lambda original: lambda self, inputs: "
        "tf.boolean_mask(self._encoder(inputs, training=True), inputs['input_mask'] > 0)",
        "kbert/experiments/test_frozen_encoder.py",
    ),
    _fault(
        "a tagger reads one layer too high", "TokenClassificationSettings.layer_numbers",
        "lambda original: lambda self, encoder: tuple(min(number + 1, encoder.num_hidden_layers) "
        "for number in original(self, encoder))",
        "kbert/tasks/token_classification/test_settings.py",
    ),
    _fault(
        "answers read the last layer for each", "AnsweringEncoder.compute_output_spec",
        "lambda original: lambda *a, **k: {name: (spec[-1],) * len(spec) if name == 'hidden_states' else "
        "spec for name, spec in original(*a, **k).items()}",
        "kbert/tasks/token_classification/test_settings.py",
    ),
)  # fmt: skip

_EXPORTS = (
    _fault(
        "ops within functions are not looked at", "list_ops",
        "lambda original: lambda folder: "
        "{op: places for op, places in original(folder).items() if any('graph' in place for place in "
        "places)}",
        "export/gate/test_op_gate.py",
    ),
    _fault(
        "an op is known where the newest server has it", "releases_from",
        "lambda original: lambda *a: original(*a)[-1:]",
        "export/gate/test_op_gate.py",
    ),
    _fault(
        "constants are no stored weights", "_constants",
        "lambda original: lambda folder: (0, original(folder)[1])",
        "export/gate/test_stored_weights.py", within="stored_weights",
    ),
    _fault(
        "answers that differ pass", "_compare",
        "lambda original: lambda place, served, expected, tolerance, *a: original(place, served, "
        "expected, 1e9, *a)",
        "export/gate/test_answer_check.py", within="answer_check",
    ),
    _fault(
        "LiteRT: every row goes to the longest length", "LiteRTModel.length_for",
        "lambda original: lambda self, mask: original(self, mask) and self.lengths[-1]",
        "export/litert/test_litert_model.py::test_the_shortest_length_that_fits_is_asked",
    ),
    _fault(
        "a missing package is not noticed", "_is_there", "lambda original: lambda module: True",
        "kbert/test_extras.py", within="extras",
    ),
    _fault(
        "LiteRT: what is read otherwise is not asked again", "quality_of_reading",
        "lambda original: lambda task, model, reading, *a: original(task, model, "
        "reading._replace(changed=reading.changed & False), *a)",
        "export/litert/from_text/test_other_reading.py",
    ),
    _fault(
        "LiteRT: differences of the first row alone", "_by_row",
        "lambda original: lambda answered, expected: original(answered[:1], expected[:1])",
        "export/litert/test_comparison.py", within="comparison",
    ),
    _fault(
        "LiteRT: weights that are not aligned", "_ALIGNMENT", "lambda original: 1",
        "export/litert/test_token_table.py::test_weights_are_aligned_and_a_file_without_int8_table_stays_as_it_is",
        within="flatbuffer",
    ),
    _fault(
        "LiteRT: the scales of other tokens", "quantize_rows",
        "lambda original: lambda table: (original(table)[0], np.roll(original(table)[1], 1, 0))",
        "export/litert/test_token_table.py::test_a_scale_for_each_row",
    ),
    _fault(
        "Python's tokenizer: marks in the order of the text", "_with_ordered_marks",
        "lambda original: lambda text: text",
        "export/tokenizers/test_every_language.py::test_random_texts_split_as_in_the_graph",
        within="lower_casing",
    ),
)  # fmt: skip

FAULTS = (
    *_KERNELS, *_MODEL, *_TOKENIZATION, *_INPUT_PIPELINES, *_TRAINING, *_RESUME, *_CHECKPOINTS, *_LOSSES,
    *_SCORES,
    *_QUESTIONS, *_ANSWERS, *_DATA_TOOLS, *_FROZEN, *_EXPORTS,
)  # fmt: skip
