// Words -> WordPiece ids: greedy longest match first.

package kbert.tokenizer

/** [vocabulary]: with its rules. */
class WordPieceTokenizer(private val vocabulary: Vocabulary) {
    private val first = vocabulary.ids // no word begins with ##: it is punctuation, and so split off
    private val inner = first.filterKeys { it.startsWith("##") }.mapKeys { it.key.substring(2) }
    private val longest = first.keys.maxOf { it.length } // in UTF-16 units, as all places below

    /** The ids of a text, without [CLS] and [SEP]. */
    fun ids(text: String): List<Int> =
        WordSplitter.splitWords(text, vocabulary.rules).flatMap { pieces(it) }

    private fun pieces(word: String): List<Int> {
        val unknown = listOf(vocabulary.unkId)
        if (word.codePointCount(0, word.length) > vocabulary.rules.maxInputCharsPerWord) return unknown
        val ids = ArrayList<Int>()
        var start = 0
        while (start < word.length) {
            val known = if (start == 0) first else inner
            var end = minOf(word.length, start + longest)
            // A place inside of a surrogate pair ends no piece: no token ends in half a character.
            while (end > start && word.substring(start, end) !in known) end--
            if (end == start) return unknown
            ids.add(known.getValue(word.substring(start, end)))
            start = end
        }
        return ids
    }
}
