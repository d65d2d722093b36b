// A text or a pair -> encoder inputs: [CLS] a [SEP] b [SEP] and padding.

package kbert.tokenizer

private const val SHORTEST = 4

/** The inputs of one row, named as the model's: input_ids, input_mask and segment_ids. */
class Row(val inputIds: IntArray, val inputMask: IntArray, val segmentIds: IntArray)

/**
 * Tokenizes and packs one text or a pair.
 *
 * [vocabulary]: with its casing. [lengths]: those of the model's signatures, each at least 4; texts are cut at the
 * longest, and padded to the shortest that has room.
 */
class TextInputs(private val vocabulary: Vocabulary, lengths: List<Int>) {
    val lengths: List<Int> = lengths.sorted()
    val tokenizer = WordPieceTokenizer(vocabulary)

    init {
        require(lengths.isNotEmpty() && lengths.all { it >= SHORTEST }) {
            "lengths $lengths: expected one or more whole numbers of at least $SHORTEST."
        }
    }

    /** The row of a text, or of a text and its second text, as long as the signature that has room. */
    fun row(text: String, pair: String? = null): Row {
        val (first, second) = segments(text, pair)
        val used = first.size + second.size
        val length = lengths.first { it >= used }
        val ids = first + second
        return Row(
            IntArray(length) { ids.getOrElse(it) { vocabulary.padId } },
            IntArray(length) { if (it < used) 1 else 0 },
            IntArray(length) { if (it in first.size until used) 1 else 0 },
        )
    }

    /** [CLS] a [SEP], and b [SEP] or nothing, cut to fit. */
    private fun segments(text: String, pair: String?): Pair<List<Int>, List<Int>> {
        val first = tokenizer.ids(text)
        val longest = lengths.last()
        if (pair == null) return packed(listOf(vocabulary.clsId), first.take(longest - 2)) to emptyList()
        val second = tokenizer.ids(pair)
        val (keptFirst, keptSecond) = truncatedLengths(first.size, second.size, longest - 3)
        return packed(listOf(vocabulary.clsId), first.take(keptFirst)) to packed(emptyList(), second.take(keptSecond))
    }

    private fun packed(before: List<Int>, ids: List<Int>) = before + ids + vocabulary.sepId
}

/**
 * Lengths of two texts after popping from the longer (on a tie, from the second) until they fit:
 * `_truncate_seq_pair` of the original's run_classifier.py, in closed form.
 */
internal fun truncatedLengths(first: Int, second: Int, room: Int): Pair<Int, Int> {
    val keptFirst = minOf(first, maxOf((room + 1) / 2, room - second))
    return keptFirst to minOf(second, room - keptFirst)
}
