// Text -> the words and marks that WordPiece sees: the graph's split_words, character by character.

package kbert.tokenizer

private const val SPACE = 0x20

object WordSplitter {
    private val spaces = CodePointSet(UnicodeTables["spaces"])
    private val dropped = CodePointSet(UnicodeTables["dropped"])
    private val punctuation = CodePointSet(UnicodeTables["punctuation"])
    private val ideographs = CodePointSet(UnicodeTables["ideographs"])

    /**
     * The words and marks of a text, normalized.
     *
     * [text]: any string; halves of surrogate pairs are ignored. [rules]: how it is split.
     */
    fun splitWords(text: String, rules: Rules): List<String> {
        val codes = LowerCasing.fold(clean(text), rules.doLowerCase, rules.stripAccents)
        val words = ArrayList<String>()
        val word = StringBuilder()
        fun end() {
            if (word.isNotEmpty()) words.add(word.toString())
            word.setLength(0)
        }
        for (code in codes) {
            val isAlone = code in punctuation || (rules.tokenizeChineseChars && code in ideographs)
            if (isAlone || code == SPACE) end()
            if (code != SPACE) word.appendCodePoint(code)
            if (isAlone) end()
        }
        end()
        return words
    }

    /** The same by the rules of google-research/bert. */
    fun splitWords(text: String, doLowerCase: Boolean) = splitWords(text, Rules(doLowerCase))

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
