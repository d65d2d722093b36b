// Text -> the words and marks that WordPiece sees: the graph's split_words, character by character.

package kbert.tokenizer

private const val SPACE = 0x20

object WordSplitter {
    private val spaces = CodePointSet(UnicodeTables["spaces"])
    private val dropped = CodePointSet(UnicodeTables["dropped"])
    private val alone = CodePointSet(UnicodeTables["alone"])

    /**
     * The words and marks of a text, normalized.
     *
     * [text]: any string; halves of surrogate pairs are ignored. [doLowerCase]: lower-case and strip accents.
     */
    fun splitWords(text: String, doLowerCase: Boolean): List<String> {
        val cleaned = clean(text)
        val words = ArrayList<String>()
        val word = StringBuilder()
        fun end() {
            if (word.isNotEmpty()) words.add(word.toString())
            word.setLength(0)
        }
        for (code in if (doLowerCase) LowerCasing.fold(cleaned) else cleaned) {
            val isAlone = code in alone
            if (isAlone || code == SPACE) end()
            if (code != SPACE) word.appendCodePoint(code)
            if (isAlone) end()
        }
        end()
        return words
    }

    private fun clean(text: String): List<Int> {
        val codes = ArrayList<Int>(text.length)
        var place = 0
        while (place < text.length) {
            val code = text.codePointAt(place)
            if (code !in dropped) codes.add(if (code in spaces) SPACE else code)
            place += Character.charCount(code)
        }
        return codes
    }
}
