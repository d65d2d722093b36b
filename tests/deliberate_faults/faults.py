"""Slips in the heart of kbert, as patches of functions (patching.py), and the tests that must notice each.

The tests are chosen small: a round takes minutes.
"""

from tests.deliberate_faults.patching import Fault


def _fault(name, target, patch, *tests, within=""):
    return Fault(name, target, patch, tuple(f"tests/{test}" for test in tests), within)


_KERNELS = (
    _fault(
        "the gradient of softmax is too large", "attention_softmax",
        "lambda original: lambda scores, *a, **k: "
        "original(1.1 * scores - 0.1 * tf.stop_gradient(scores), *a, **k)",
        "kbert/kernels/test_kernels.py",
    ),
    _fault(
        "packed texts look into each other", "mask_adder",
        "lambda original: lambda mask, packed, window=None, own=None, offset=0: original("
        "ops.cast(mask > 0, 'int32'), packed, window, None if own is None else ops.cast(own > 0, 'int32'), "
        "offset)",
        "kbert/kernels/test_kernels.py", "kbert/test_training_path.py",
    ),
    _fault(
        "numbers cut off instead of rounded", "rounded",
        "lambda original: lambda x, dtype: original(x, dtype) if dtype != 'bfloat16' else "
        "tf.bitcast(tf.cast(tf.bitwise.right_shift(tf.bitcast(x, tf.uint32), 16), tf.uint16), tf.bfloat16)",
        "kbert/kernels/test_arithmetic.py",
    ),
    _fault(
        "the norm's gradient forgets the mean", "normalized_gradient",
        "lambda original: lambda gradient, scaled, scale: scale * gradient",
        "kbert/kernels/test_kernels.py",
    ),
    _fault(
        "dropout that does not scale up", "dropout_mask",
        "lambda original: lambda shape, rate, seed: original(shape, rate, seed) * (1.0 - rate)",
        "kbert/kernels/test_dropout.py",
    ),
)  # fmt: skip

_MODEL = (
    _fault(
        "packed texts numbered from 0", "PackedRows.call",
        "lambda original: lambda self, *a: original(self, *a) | "
        "{'text_numbers': ops.maximum(original(self, *a)['text_numbers'] - 1, 0)}",
        "kbert/test_training_path.py",
    ),
    _fault(
        "another pooler has BERT's tanh", "Pooler.build",
        "lambda original: lambda self, *a: original(self, *a) or setattr(self.dense, 'activation', ops.tanh)",
        "kbert/test_encoder.py",
    ),
    _fault(
        "what follows narrow tables forgets its bias", "BertEmbeddings.call",
        "lambda original: lambda self, input_ids, segment_ids, position_ids=None, training=False: "
        "original(self, input_ids, segment_ids) - (0.0 if self.projection is None else self.projection.bias)",
        "kbert/test_encoder.py",
    ),
    _fault(
        "relative positions look the other way", "PositionBias.between",
        "lambda original: lambda self, distances: original(self, -distances)",
        "kbert/layers/test_layers.py", "kbert/test_encoder.py",
    ),
    _fault(
        "rotary positions turn the other way", "angles", "lambda original: lambda *a: -original(*a)",
        "kbert/test_encoder.py",
    ),
    _fault(
        "local attention sees a token too few", "EncoderConfig.window",
        "lambda original: lambda self, layer: (lambda w: w and w - 1)(original(self, layer))",
        "kbert/test_encoder.py",
    ),
    _fault(
        "blocks of local attention forget who is beside them", "LocalBlocks.beside",
        "lambda original: lambda self, values: original(self, self.join(self.split(values)) * "
        "ops.cast(ops.arange(ops.shape(values)[-2]) != 0, values.dtype)[:, None])",
        "kbert/layers/test_local_blocks.py",
    ),
    _fault(
        "a mean over padding", "SequencePooling._pool",
        "lambda original: lambda self, mode, hidden, mask: original(self, mode, hidden, ops.ones_like(mask))",
        "kbert/layers/test_sequence_pooling.py",
    ),
    _fault(
        "a prompt's tokens count", "PoolingConfig.skipped_tokens",
        "lambda original: lambda self, name=None: 0",
        "kbert/tasks/similarity/test_embedding_model.py",
    ),
    _fault(
        "queries of a ranking stand behind the default prompt", "MultipleNegativesRanking.prompts_before",
        "lambda original: lambda self, example: self.prompts",
        "kbert/tasks/similarity/test_embedding_model.py",
    ),
    _fault(
        "relevant texts beyond the depth of a search are forgotten", "Best.gains_beyond",
        "lambda original: lambda self, *arguments: [0.0] * len(original(self, *arguments))",
        "kbert/experiments/retrieval/test_search.py",
    ),
    _fault(
        "keys of a folder that nobody looks at", "check_keys",
        "lambda original: lambda *arguments: None",
        "kbert/checkpoints/hugging_face/test_folder_keys.py",
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
        "candidates for a mask always stand behind a blank", "BytePairTokenizer.tokenize_words",
        "lambda original: lambda self, words, behind_space=True: original(self, words)",
        "kbert/tasks/test_filled_masks.py",
    ),
    _fault(
        "the odd place goes to the second text", "truncated_lengths",
        "lambda original: lambda first, second, room, *ops: original(second, first, room, *ops)[::-1]",
        "kbert/tokenization/test_segment_packer.py", within="kbert/",
    ),
    _fault(
        "pieces end a character too late", "WordPieceTokenizer.with_offsets",
        "lambda original: lambda self, texts: (lambda p: p._replace(ends=p.ends + 1))(original(self, texts))",
        "kbert/tokenization/test_offsets.py",
    ),
    _fault(
        "casing: accents prove nothing", "CasingEvidence.looks_cased",
        "lambda original: lambda self: original(self._replace(marks=0))",
        "kbert/tokenization/test_casing.py",
    ),
    _fault(
        "the limit of a word is google's in every folder", "_longest_word",
        "lambda original: lambda files: 200",
        "kbert/checkpoints/hugging_face/test_folder.py", within="tokenizer_wordpiece",
    ),
    _fault(
        "accents go whenever texts are lower-cased", "WordPieceRules.splitting",
        "lambda original: lambda self: original(self) | {'strip_accents': self.do_lower_case}",
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
        "core ops: marks in the order of the text", "_sort_marks",
        "lambda original: lambda flat, splits: flat",
        "kbert/tokenization/test_core_ops.py::test_marks_in_any_order_are_sorted_alike_and_not_across_texts",
    ),
    _fault(
        "long texts: a row after a gap joins the text before", "window_owners",
        "lambda original: lambda numbers: tf.cumsum(tf.cast(tf.equal(numbers, 0), tf.int32)) - 1",
        "kbert/tokenization/test_long_texts.py::test_rows_after_a_gap_are_a_text_of_their_own",
    ),
)  # fmt: skip

_INPUT_PIPELINES = (
    _fault(
        "a decimal of a table is a float", "exact_number", "lambda original: float",
        "kbert/input_pipelines/test_unlabelled_columns.py",
    ),
    _fault(
        "a second text that is null is an empty one", "with_values",
        "lambda original: lambda example, source: {name: '' if value is None else value "
        "for name, value in example.items()}",
        "kbert/input_pipelines/test_unlabelled_columns.py",
    ),
    _fault(
        "a file of old characters is read as what it may be", "_decoded",
        "lambda original: lambda line, encoding: line.removesuffix(b'\\n').decode('latin-1')",
        "kbert/files/test_text_encoding.py", within="text_file",
    ),
    _fault(
        "UTF-8 is looked for at the beginning of a file alone", "beginning",
        "lambda original: lambda path, size, beyond_ascii=False: original(path, size)",
        "kbert/files/test_text_encoding.py",
    ),
    _fault(
        "columns of predictions are cut by another delimiter", "possible_columns",
        "lambda original: lambda *_: set()",
        "kbert/input_pipelines/test_unlabelled_columns.py",
    ),
    _fault(
        "the first wrong row ends the reading", "FileProblems.is_full",
        "lambda original: lambda self: bool(self)",
        "kbert/input_pipelines/test_file_problems.py",
    ),
    _fault(
        "the usual delimiter whatever the header says", "_find_delimiter",
        "lambda original: lambda line, usual, *a: usual",
        "kbert/input_pipelines/test_file_problems.py",
    ),
    _fault(
        "a header of several words is a row", "Headers._are_usual_heads",
        "lambda original: lambda self, record: False",
        "kbert/input_pipelines/test_labels.py",
    ),
    _fault(
        "numbers of words are words", "_count_up",
        "lambda original: lambda numbers: False",
        "kbert/tasks/token_classification/test_files.py",
    ),
    _fault(
        "pieces of whole words are masked alone", "_Groups.__init__",
        "lambda original: lambda self, candidate, joins, *rest: original(self, candidate, None, *rest)",
        "kbert/input_pipelines/test_masking.py",
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
        "every worker has the rows of the first", "own_rows",
        "lambda original: lambda value, size, share: original(value, size, share._replace("
        "input_pipeline_id=0))",
        "kbert/input_pipelines/records/test_record_reader.py", within="input_pipelines",
    ),
    _fault(
        "a packed file is taken for what its name says", "beginning",
        "lambda original: lambda path, *a: b'' if str(path).endswith('.gz') else original(path, *a)",
        "kbert/input_pipelines/test_formats_of_commands.py",
    ),
    _fault(
        "shares begin at the top of a shard", "locate_records",
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
        "a split by place instead of by text", "held_out_indices",
        "lambda original: lambda groups, *a: original([str(place) for place in range(len(groups))], *a)",
        "kbert/input_pipelines/test_held_out_split.py",
    ),
    _fault(
        "equal texts in a batch", "DistinctBatches.__init__",
        "lambda original: lambda self, texts, size: original(self, [(f'q {n}', f'p {n}') for n in "
        "range(len(texts))], size)",
        "kbert/input_pipelines/test_distinct_batches.py",
    ),
    _fault(
        "a positive of a query as its negative", "positives_of_queries",
        "lambda original: lambda texts: {query: {query} for query in original(texts)}",
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
        "the first micro-batch is taken again and again", "_stack_micro_batches",
        "lambda original: lambda value, number: tf.repeat(original(value, number)[:1], number, 0)",
        "kbert/training/test_micro_batches.py::test_sums_over_micro_batches_are_those_over_all_rows",
    ),
    _fault(
        "each replica divides by its own weight", "TrainStep._over_replicas",
        "lambda original: lambda self, values: "
        "values if isinstance(values, dict) else original(self, values)",
        "kbert/training/devices/test_strategies.py::test_replicas_and_micro_batches_take_the_steps_of_one_device",
    ),
    _fault(
        "an overflow does not shrink the loss scale", "DynamicLossScale.update",
        "lambda original: lambda self, finite: original(self, tf.constant(True))",
        "kbert/training/test_loss_scale.py::test_the_scale_doubles_after_many_good_steps_and_halves_at_an_overflow",
    ),
    _fault(
        "the second moment decays like the first", "new_moments",
        "lambda original: lambda config, *a: original(dataclasses.replace(config, beta_2=config.beta_1), *a)",
        "kbert/training/optimizers/test_optimizers.py::test_adamw_equals_kerass",
    ),
    _fault(
        "norms and biases are decayed", "is_decayed", "lambda original: lambda name, excluded: True",
        "kbert/training/optimizers/test_parameter_groups.py",
    ),
    _fault(
        "one layer too few is frozen", "FrozenConfig.holds",
        "lambda original: lambda self, name: "
        "original(dataclasses.replace(self, layers=max(self.layers - 1, 0)), name)",
        "kbert/training/test_frozen.py::test_as_many_layers_are_frozen_as_asked_for",
    ),
    _fault(
        "a config changes no checkpoint of others", "LoadedModel.for_files",
        "lambda original: lambda self, config: original(self, None)",
        "kbert/scripts/test_checkpoints_of_others.py::test_a_config_says_settings_and_length_too",
    ),
    _fault(
        "what was never trained is saved as trained", "BertCheckpoint.missing",
        "lambda original: property(lambda self: ())",
        "kbert/inference/test_saving.py::test_what_was_never_trained_is_not_saved_as_trained",
    ),
    _fault(
        "a model that was read forgets its tensors", "LoadedModel.read_described",
        "lambda original: lambda self: (original(self), setattr(self, 'description', "
        "dataclasses.replace(self.description, tensors={})))[0]",
        "kbert/inference/test_saving.py::test_a_model_for_files_has_the_weights_that_were_read",
    ),
    _fault(
        "overwrite looks at no folder", "files_beside",
        "lambda original: lambda folder: []",
        "kbert/checkpoints/test_conversion_files.py::test_what_is_no_conversion_is_never_replaced",
    ),
    _fault(
        "an evaluation reads the model anew", "open_model",
        "lambda original: lambda source, *a, **k: original(getattr(source, 'source', source), *a, **k)",
        "kbert/inference/test_loaded_model.py::test_an_evaluation_judges_the_weights_that_are_in_memory",
    ),
    _fault(
        "dropout in evaluations", "EvaluationStep._outputs",
        "lambda original: lambda self, inputs: self._model(inputs, training=True)",
        "kbert/training/test_trainer.py::test_evaluation_counts_every_example_once",
    ),
    _fault(
        "adapters merged without their scale", "_merged_kernel",
        "lambda original: lambda kernel, first, second, scale: original(kernel, first, second, 1.0)",
        "kbert/training/test_lora.py::test_merged_kernels_are_those_of_the_paper",
    ),
)  # fmt: skip

_RESUME = (
    _fault(
        "an evaluation goes on after a signal", "evaluate_batches",
        "lambda original: lambda *a, after_batch=None, **k: original(*a, **k)",
        "kbert/training/test_one_weight_trainings.py::test_a_signal_in_an_evaluation_ends_it_between_batches",
    ),
    _fault(
        "a lost field: the sums of the open interval", "TrainingState.write",
        "lambda original: lambda self, *a, **k: setattr(self, '_sums', None) or original(self, *a, **k)",
        "kbert/training/test_one_weight_trainings.py::test_a_signal_in_an_open_interval_loses_nothing",
    ),
    _fault(
        "a lost field: the optimizer's moments", "TrainingState.read_optimizer",
        "lambda original: lambda self, path, variables: {}",
        "kbert/training/test_one_weight_trainings.py::test_a_killed_run_resumes_to_the_very_same_numbers",
    ),
    _fault(
        "a run goes on without its evaluation data, and nobody hears of it", "_compare_evaluations",
        "lambda original: lambda path, before, now, current: before and now and "
        "original(path, before, now, current)",
        "kbert/runs/test_run_directory.py",
    ),
    _fault(
        "patience lost in a stop", "BestCheckpoint.restore",
        "lambda original: lambda self, state: original(self, state | {'fruitless': 0})",
        "kbert/runs/test_best_checkpoint.py",
    ),
    _fault(
        "nothing is brought to disk", "_bring_to_disk", "lambda original: lambda path: None",
        "kbert/runs/test_checkpoint.py::test_all_is_on_the_disk_before_the_folder_has_its_name",
    ),
    _fault(
        "damaged files pass", "verify", "lambda original: lambda *a, **k: None",
        "kbert/runs/test_checkpoint.py::test_a_damaged_newest_checkpoint_gives_way_to_the_one_before",
        within="runs",
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
        "kbert/checkpoints/test_changed_files.py", within="stored_tensor",
    ),
    _fault(
        "infinite numbers pass for weights", "_require_finite",
        "lambda original: lambda array, numbers, what: None",
        "kbert/checkpoints/test_finite_weights.py::test_short_floats_are_checked_too",
        within="stored_tensor",
    ),
    _fault(
        "kernels of other houses are not turned", "StoredTensor.as_float32",
        "lambda original: lambda self, transposed=False, what=None: original(self, False, what)",
        "kbert/checkpoints/hugging_face/test_folder.py::test_stored_models_of_transformers_give_their_stored_answers",
    ),
    _fault(
        "Adam's moments read as weights", "_training_state", "lambda original: lambda tensors: {}",
        "kbert/checkpoints/test_google_tf1.py::test_every_weight_is_taken_and_every_slot_is_named",
        within="tf1",
    ),
    _fault(
        "a tagger's head is one of texts", "_refuse_taggers", "lambda original: lambda *a: None",
        "kbert/checkpoints/test_google_tf1.py::test_a_taggers_head_is_refused_by_its_optimizers_slots",
    ),
    _fault(
        "a head stays on an encoder of vectors", "BertCheckpoint.encoder_alone",
        "lambda original: lambda self: self",
        "kbert/checkpoints/hugging_face/test_sentence_transformers.py::"
        "test_a_head_behind_the_encoder_changes_no_vectors",
    ),
    _fault(
        "a temperature is lost in other formats", "_divided",
        "lambda original: lambda tensor, number: tensor",
        "kbert/checkpoints/conversion/test_answers.py::"
        "test_a_chosen_temperature_becomes_a_part_of_the_last_layer",
    ),
    _fault(
        "settings are lost in other formats", "_require_default_settings",
        "lambda original: lambda checkpoint, report: None",
        "kbert/checkpoints/conversion/test_answers.py::test_what_is_refused_may_be_allowed_and_is_noted",
    ),
    _fault(
        "files of two tokenizers pass for the same", "TokenizerFiles.same_content",
        "lambda original: lambda self, contents: next(iter(contents.items()))",
        "kbert/checkpoints/hugging_face/test_tokenizers.py::test_broken_files_have_their_sentence",
    ),
    _fault(
        "a table under the head's name alone is not seen", "_take_tied", "lambda original: lambda *a: None",
        "kbert/checkpoints/hugging_face/test_families.py::"
        "test_the_table_of_words_may_have_the_heads_name_alone",
    ),
    _fault(
        "a mask with other blanks passes", "refuse_other_masks", "lambda original: lambda *a: None",
        "kbert/checkpoints/hugging_face/test_tokenizers.py::"
        "test_a_mask_that_takes_other_blanks_is_refused_where_masks_are_filled",
    ),
    _fault(
        "a mask that leaves the space before it", "build_tokenizer_json",
        "lambda original: lambda *a: (lambda v: v | {'added_tokens': [t | {'lstrip': False} for t in "
        "v['added_tokens']]})(original(*a))",
        "kbert/checkpoints/hugging_face/test_tokenizers.py::"
        "test_the_package_tokenizers_packs_texts_and_finds_masks_as_kbert_does",
    ),
)  # fmt: skip

_LOSSES = (
    _fault(
        "metrics see the labels by their order", "TaskModel.compute_metrics",
        "lambda original: lambda self, *a, **k: keras.Model.compute_metrics(self, *a, **k)",
        "kbert/tasks/test_task_model.py",
    ),
    _fault(
        "half a class is the class below", "cross_entropies",
        "lambda original: lambda logits, labels: original(logits, ops.cast(labels, 'int32'))",
        "kbert/tasks/test_task_model.py",
    ),
    _fault(
        "metrics of fit count words without a label", "TokenClassification.label_masks",
        "lambda original: lambda self, labels, batch: {}",
        "kbert/tasks/test_task_model.py",
    ),
    _fault(
        "a weighted loss divided by the number of examples", "SequenceTask.loss_weights",
        "lambda original: lambda self, batch, training=False: original(self, batch)",
        "kbert/tasks/test_label_losses.py",
    ),
    _fault(
        "distillation: the temperature without its square", "soft_label_error",
        "lambda original: lambda student, teacher, temperature: "
        "original(student, teacher, temperature) / temperature",
        "kbert/distillation/test_losses.py",
    ),
    _fault(
        "similarity: a replica takes the first rows for its own", "all_rows",
        "lambda original: lambda outputs, batch, task: (original(outputs, batch, task)[0], 0)",
        "kbert/tasks/similarity/test_in_batch_loss.py",
    ),
    _fault(
        "prompts that a cache may lack are left out without a word", "note_absence",
        "lambda original: lambda *a, **k: None",
        "kbert/checkpoints/hugging_face/test_sentence_transformers.py",
    ),
    _fault(
        "similarity: only the first length of nested vectors is learnt", "nested_outputs",
        "lambda original: lambda outputs, dims: original(outputs, dims[:1])",
        "kbert/tasks/similarity/test_matryoshka.py",
    ),
    _fault(
        "cross-encoders: the entropy of the score, not of the output before it", "SequenceRegression.number",
        "lambda original: lambda self, outputs: outputs['prediction']",
        "kbert/tasks/sequences/test_cross_encoder.py",
    ),
    _fault(
        "SPLADE: the regularization rises linearly", "ramp",
        "lambda original: lambda progress: original(progress) ** 0.5",
        "kbert/tasks/sparse_embedding/test_sparse_losses.py",
    ),
)  # fmt: skip

_SCORES = (
    _fault(
        "SQuAD: an answer at the threshold is blanked", "scores_v2",
        "lambda original: lambda answers, odds, right, threshold: original(answers, odds, right, "
        "threshold - 1e-6)",
        "kbert/tasks/question_answering/test_squad_scores.py",
    ),
    _fault(
        "temperature: logits are multiplied by it", "Temperature.probabilities",
        "lambda original: lambda self, logits: original(type(self)(1.0 / self.value, self.kind), logits)",
        "kbert/tasks/test_temperature.py",
    ),
    _fault(
        "long texts: all windows count in a vote", "_agree_on_one",
        "lambda original: lambda logits, owners, texts: tf.ones_like(logits)",
        "kbert/tasks/test_long_texts.py",
    ),
)  # fmt: skip

_LABELS = (
    _fault(
        "settings that no file has a use for are taken", "require_read",
        "lambda original: lambda task, dataset, paths=(): original(task, dataset)",
        "kbert/tasks/test_read_settings.py",
    ),
    _fault(
        "a printed list with an entry outside quotes is words", "begins_a_list",
        "lambda original: lambda cell: False",
        "kbert/tasks/token_classification/test_files.py", "kbert/input_pipelines/test_labels.py",
    ),
    _fault(
        "thresholds tell the best checkpoint", "Task.is_score",
        "lambda original: lambda self, metric: True",
        "kbert/tasks/test_thresholds.py", "kbert/experiments/test_refusals.py",
    ),
    _fault(
        "correlations have no place on the page of a run", "RunMetrics.scores",
        "lambda original: lambda self: [name for name in original(self) if is_share(name)]",
        "kbert/reports/test_run_page.py",
    ),
    _fault(
        "counts of labels are not in the order of ids", "RecordStatistics._label_counts",
        "lambda original: lambda self, batch: np.sort(original(self, batch))",
        "kbert/input_pipelines/records/test_label_counts.py",
    ),
    _fault(
        "a .tflite file of any size is the one of its folder", "_require_described",
        "lambda original: lambda path, about: None",
        "export/test_export_tflite.py",
    ),
    _fault(
        "-1 beside other negative numbers is left out", "_mark_of_none",
        "lambda original: lambda counts: "
        "original({n: c for n, c in counts.items() if n not in ('-2', '-50')})",
        "kbert/input_pipelines/test_labels.py",
    ),
    _fault(
        "a line with a tab is one text", "_example_of_line",
        "lambda original: lambda line, source, number, inputs, *a: "
        "original(line, source, number, inputs[:1], *a)",
        "kbert/input_pipelines/test_unlabelled_columns.py",
    ),
    _fault(
        "labels that look alike are two", "same_labels",
        "lambda original: lambda counts: ''",
        "kbert/input_pipelines/test_labels.py",
    ),
    _fault(
        "numbers with a plus are words", "as_number",
        "lambda original: lambda label: None if '+' in label else original(label)",
        "kbert/input_pipelines/test_labels.py",
    ),
    _fault(
        "an end in BIOES ends no entity", "find_entities",
        "lambda original: lambda tags, **modes: original("
        "[tag.replace('E-', 'I-').replace('S-', 'B-') for tag in tags], **modes)",
        "kbert/tasks/token_classification/test_entity_scores.py",
    ),
    _fault(
        "a span that says another text is taken", "same_words",
        "lambda original: lambda text, quote: True",
        "kbert/tasks/token_classification/test_files.py",
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
        "answers that can never be given are not counted", "say_lost_answers",
        "lambda original: lambda questions, rows, *others: "
        "original(questions, rows | {'max_context': np.ones_like(rows['max_context'])}, *others)",
        "kbert/tasks/question_answering/test_windows.py::"
        "test_right_answers_that_no_model_could_give_are_counted",
    ),
    _fault(
        "an answer that does not stand there is taken", "_answer",
        "lambda original: lambda text, start, context, where: "
        "original(text, context.find(text), context, where)",
        "kbert/tasks/question_answering/test_squad_files.py", within="squad",
    ),
)  # fmt: skip

_ANSWERS = (
    _fault(
        "a run forgets the format that it was converted from", "RunDirectory.converted_from",
        "lambda original: property(lambda self: None)",
        "kbert/checkpoints/test_formats.py::"
        "test_from_a_run_to_any_format_and_back_no_bit_is_lost",
    ),
    _fault(
        "infinite answers pass", "require_finite_answers", "lambda original: lambda values, *a, **k: None",
        "kbert/inference/test_finite_numbers.py",
    ),
    _fault(
        "ids that mean nothing are let through", "checked_token_ids",
        "lambda original: lambda inputs, limits: inputs",
        "export/test_signatures.py::test_ids_that_mean_nothing_are_an_invalid_argument",
    ),
    _fault(
        "who asks for shapes changes new weights", "_built_without_values",
        "lambda original: lambda *a: (original(*a), random.random())[0]",
        "kbert/checkpoints/conversion/test_names.py",
    ),
    _fault(
        "answering: neighbours and padding take part", "TokensInRows.mask",
        "lambda original: lambda self, *a: tf.zeros_like(original(self, *a))",
        "kbert/layers/test_real_tokens.py::test_tokens_attend_to_their_example_and_come_back",
    ),
    _fault(
        "answering: long texts gather nothing", "_by_example",
        "lambda original: lambda *a: tf.zeros_like(original(*a))",
        "kbert/inference/test_answering_encoder.py::test_long_texts_are_answered_as_short_ones_are",
    ),
    _fault(
        "answering: copies where weights may change", "AnsweringDense.__init__",
        "lambda original: lambda self, *a: original(self, *a) or setattr(self, '_kernel', "
        "tf.Variable(self._kernel, trainable=False))",
        "kbert/inference/test_answering_encoder.py::test_it_follows_the_weights_of_the_model",
    ),
)  # fmt: skip

_DATA_TOOLS = (
    _fault(
        "folders that a glob matches are left out", "_require_folders_read",
        "lambda original: lambda *_: None",
        "tfrecords_tools/corpus/test_documents.py",
    ),
    _fault(
        "second texts are told by their segments alone", "second_texts",
        "lambda original: lambda inputs, sep_id, pair_separators: original(inputs, sep_id, 1)",
        "kbert/tokenization/test_segment_packer.py",
    ),
    _fault(
        "whether a sigma is final is asked in a part of its word", "_SIGMA",
        "lambda original: b'no such letter'",
        "tfrecords_tools/corpus/test_chunk_tokenizer.py", within="chunk_cutter",
    ),
    _fault(
        "real next texts labelled random", "PairSampler.pairs",
        "lambda original: lambda self, documents: original(self, documents) ^ [0, 0, 0, 0, 1]",
        "tfrecords_tools/pretraining/test_sentence_pairs.py",
    ),
    _fault(
        "sentences of records are read as texts of their own", "_as_running_text",
        "lambda original: lambda document, kind: document",
        "tfrecords_tools/pretraining/test_tokenization_stage.py",
    ),
    _fault(
        "a text ends in a separator", "_close",
        "lambda original: lambda parts, lengths, used, separator: original(parts, lengths, used, None)",
        "tfrecords_tools/pretraining/test_full_sentences.py", within="sampling_stage",
    ),
    _fault(
        "varints of 128 in one byte", "_packed_varints",
        "lambda original: lambda rows: [row.astype(np.uint8).tobytes() for row in rows] "
        "if rows.size and rows.min() >= 0 and rows.max() <= 128 else original(rows)",
        "tfrecords_tools/records/test_record_writer.py",
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
        "a request of any size runs at once", "_slices",
        "lambda original: lambda tokens, most: original(tokens, 10**9)",
        "export/server/test_batch_queue.py", within="batch_queue",
    ),
    _fault(
        "answers that depend on other texts run with them", "is_batchable",
        "lambda original: lambda *a: True",
        "export/server/test_batch_queue.py",
    ),
    _fault(
        "of a flag that is there twice the last counts", "_require_once",
        "lambda original: lambda arguments: None",
        "kbert/cli/test_flags.py",
    ),
    _fault(
        "a flag with an empty value is as left out", "_take_value",
        "lambda original: lambda flag: None if flag.value in ('', []) else original(flag)",
        "kbert/cli/test_flags.py",
    ),
    _fault(
        "a body behind an offer of another protocol is the next request",
        "_BoundedConnection._head_without_offer",
        "lambda original: lambda self: b''",
        "export/server/test_http.py",
    ),
    _fault(
        "a connection closes while a client sends, and the answer is lost", "_BoundedConnection._half_close",
        "lambda original: lambda self: False",
        "export/server/test_http.py",
    ),
    _fault(
        "what cannot be read is refused before the requests ahead are answered",
        "_BoundedConnection._answer_refusal",
        "lambda original: lambda self, *told: (vars(self.cycle or self).update(more_body=True), "
        "original(self, *told))",
        "export/server/test_http.py",
    ),
    _fault(
        "the card of a changed model has the scores of its checkpoint", "changes_since_checkpoint",
        "lambda original: lambda loaded: []",
        "export/test_export_savedmodel.py",
    ),
    _fault(
        "texts are ranked by what a sigmoid makes equal", "_by_pairs",
        "lambda original: lambda *a: (original(*a)[1],) * 2",
        "export/server/test_ranking.py",
    ),
    _fault(
        "fields of a request that are unknown are ignored", "RequestFields._named",
        "lambda original: lambda cls, document: [{name: part[name] for name in part if name in "
        "cls.model_fields} for part in original(cls, document)]",
        "export/server/test_request_fields.py",
    ),
    _fault(
        "numbers as bytes are those of another byte order", "as_bytes",
        "lambda original: lambda array: original(array.byteswap() if array.dtype.kind == 'f' else array)",
        "export/server/test_open_inference.py",
    ),
    _fault(
        "texts are ranked behind the prompt of queries", "prompts_of_ranking",
        "lambda original: lambda model: original(model)[::-1]",
        "export/server/test_ranking.py",
    ),
    _fault(
        "an op is known where the newest server has it", "releases_from",
        "lambda original: lambda *a: original(*a)[-1:]",
        "export/gate/test_op_gate.py",
    ),
    _fault(
        "answers that differ pass", "_compare",
        "lambda original: lambda place, served, expected, tolerance, *a: original(place, served, "
        "expected, 1e9, *a)",
        "export/gate/test_answer_check.py", within="answer_check",
    ),
    _fault(
        "LiteRT: the scales of other tokens", "quantize_rows",
        "lambda original: lambda table: (original(table)[0], np.roll(original(table)[1], 1, 0))",
        "export/litert/test_token_table.py::test_a_scale_for_each_row",
    ),
    _fault(
        "LiteRT: ids and segments change places", "in_order",
        "lambda original: lambda content, inputs: content",
        "export/litert/test_flatbuffer.py",
    ),
    _fault(
        "LiteRT: what a length answers is not looked at", "_answer_full",
        "lambda original: lambda model, expected, inputs: expected.by_ids",
        "export/test_export_tflite.py::test_each_length_is_asked_with_texts_that_need_it",
    ),
    _fault(
        "a prompt that is empty comes before one that is not", "VectorsConfig.prompt_name",
        "lambda original: lambda self, task, name=None: "
        "task if task in self.prompts else original(self, task, name)",
        "kbert/tasks/similarity/test_embedding_model.py::test_a_prompt_that_is_not_empty_comes_first",
    ),
    _fault(
        "texts that pairs with scores lack are compared", "_without_missing_texts",
        "lambda original: lambda task, features, examples: features",
        "export/litert/test_comparison_data.py::test_of_pairs_with_scores_no_negatives_are_compared",
    ),
    _fault(
        "Python's tokenizer: marks in the order of the text", "_with_ordered_marks",
        "lambda original: lambda text, becomes: text.translate(becomes)",
        "export/tokenizers/test_every_language.py::test_a_sample_of_characters_splits_as_in_the_graph",
        within="lower_casing",
    ),
)  # fmt: skip

FAULTS = (
    *_KERNELS, *_MODEL, *_TOKENIZATION, *_INPUT_PIPELINES, *_TRAINING, *_RESUME, *_CHECKPOINTS, *_LOSSES,
    *_SCORES,
    *_LABELS, *_QUESTIONS, *_ANSWERS, *_DATA_TOOLS, *_FROZEN, *_EXPORTS,
)  # fmt: skip
