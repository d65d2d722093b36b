"""What can be asked with a text: everything else is refused here, before anything is converted."""


def check_mediapipe(source, lengths):
    """Raises ValueError unless MediaPipe's TextClassifier or TextEmbedder can answer as the model does."""
    task = source.task
    if task.one_text_output is None:
        raise ValueError(
            f"--mediapipe: {source.path} is a run of {task.name} that does not answer a single text "
            "with labels or a vector; MediaPipe's TextClassifier and TextEmbedder do nothing else (no pairs, "
            "numbers, words, spans or choices). Take the file that is asked with ids."
        )
    if len(lengths) > 1:
        raise ValueError(
            f"--mediapipe: MediaPipe asks one graph, received max_seq_length={list(lengths)}; give one."
        )
    if not task.cuts_long_texts:
        raise ValueError(
            f"--mediapipe: {source.path} reads long texts as its task_settings.long_texts says, and "
            "MediaPipe cuts them; take the file that is asked with ids, and make the rows in your program."
        )
    if not source.vocabulary.do_lower_case:
        raise ValueError(
            f"--mediapipe: {source.path} has a cased vocabulary (do_lower_case=false), and MediaPipe makes "
            "every text lower-case before it looks for pieces: words with capitals would become other words "
            "or [UNK]. Train an uncased encoder, or take the file that is asked with ids."
        )


def check_tokenizer_inside(source, lengths):
    """Raises ValueError unless one row, made of an example's texts, answers as the model does."""
    task = source.task
    if not task.row_texts:
        raise ValueError(
            f"--tokenizer_inside: {source.path} is a run of {task.name} whose answers need more "
            "than one row of its texts (words, spans, choices, windows of long texts); take the file that is "
            "asked with ids."
        )
    if len(lengths) > 1:
        raise ValueError(
            "--tokenizer_inside: how long a text is shows only inside the file, received "
            f"max_seq_length={list(lengths)}; give one."
        )
