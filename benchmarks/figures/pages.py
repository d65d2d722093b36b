"""Which tables there are, and the pages with them in it."""

from benchmarks import REPOSITORY
from benchmarks.figures import readme_tables, result_tables, speed_tables, training_tables
from benchmarks.figures.captions import caption
from benchmarks.figures.marked_pages import marked_names, written

# Name between the marks -> a function that returns (lines of the table, records that they are of).
TABLES = {
    function.__name__: function
    for function in (
        speed_tables.training_step_bert_mini,
        speed_tables.training_step_bert_base,
        speed_tables.training_step_bert_mini_bfloat16,
        speed_tables.training_step_bert_base_bfloat16,
        speed_tables.training_step_bert_mini_512,
        speed_tables.finetuning,
        speed_tables.finetuning_bfloat16,
        speed_tables.finetuning_without_amx,
        speed_tables.embedding,
        speed_tables.serving_minilm,
        speed_tables.serving_bert_base,
        speed_tables.litert,
        speed_tables.litert_two_threads,
        speed_tables.litert_sms_spam,
        training_tables.time_to_quality,
        training_tables.time_to_quality_one_hour,
        training_tables.scaling,
        result_tables.results,
        readme_tables.readme_scores,
        readme_tables.readme_speed,
    )
}


def pages_of_figures() -> list[str]:
    """The pages with marks, as paths from the top of the repository."""
    paths = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").glob("*.md"))]
    found = [path for path in paths if "<!-- figures:" in path.read_text(encoding="utf-8")]
    return [path.relative_to(REPOSITORY).as_posix() for path in found]


def written_page(page: str) -> str:
    """The text of a page with its tables as the records say.

    Raises:
      ValueError: naming the page, for a mark that is not whole or names no table, and for records without the
        figures of a table.
    """
    text = (REPOSITORY / page).read_text(encoding="utf-8")
    try:
        for name in marked_names(text):
            if name not in TABLES:
                raise ValueError(f"no table is called {name!r}; choose among {', '.join(TABLES)}.")
        return written(text, part_of)
    except ValueError as error:
        raise ValueError(f"{page}: {error}") from None


def part_of(name: str) -> str:
    """The table and its caption, as they stand between the marks."""
    lines, records = TABLES[name]()
    return "\n".join([*lines, "", *caption(records, not name.startswith("readme"))]) + "\n"
