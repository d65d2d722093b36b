// Lower case, and decomposed without accents: as the graph's StringLower, NFD and dropping of marks.

package kbert.tokenizer

// Hangul syllables are arithmetic: The Unicode Standard, 3.12, "Conjoining Jamo Behavior".
private const val FIRST_SYLLABLE = 0xAC00
private const val LAST_SYLLABLE = 0xD7A3
private const val LEADING = 0x1100
private const val VOWEL = 0x1161
private const val TRAILING = 0x11A7
private const val VOWELS = 21
private const val TRAILINGS = 28
private const val CAPITAL_SIGMA = 0x3A3
private const val SMALL_SIGMA = 0x3C3
private const val FINAL_SIGMA = 0x3C2

/** Folds code points. An object: its tables are read once, when they are first needed. */
internal object LowerCasing {
    private val accents = CodePointSet(UnicodeTables["accents"])
    private val fixedAccents = CodePointSet(UnicodeTables["fixed_accents"])
    private val cased = CodePointSet(UnicodeTables["cased"])
    private val caseIgnorable = CodePointSet(UnicodeTables["case_ignorable"])
    private val lowered = numbers(UnicodeTables["lowered"])
    private val decomposed = numbers(UnicodeTables["decomposed"])
    private val markOrder = numbers(UnicodeTables["mark_order"])

    /** The text in lower case, and decomposed without accents, or one of both: code points in, code points out. */
    fun fold(codes: List<Int>, doLowerCase: Boolean, stripAccents: Boolean): List<Int> {
        val lower = if (doLowerCase) lower(codes) else codes
        return if (stripAccents) strip(lower) else lower
    }

    private fun lower(codes: List<Int>): List<Int> {
        val result = ArrayList<Int>(codes.size)
        codes.forEachIndexed { place, code ->
            if (code == CAPITAL_SIGMA) result.add(smallSigma(codes, place)) else addShifted(code, lowered, result)
        }
        return result
    }

    private fun strip(codes: List<Int>): List<Int> {
        val result = ArrayList<Int>(codes.size)
        var runStart = 0 // where the marks begin that may be put into another order
        for (code in codes) {
            if (code in accents) {
                if (code in fixedAccents) runStart = result.size
            } else {
                for (part in partsOf(code)) runStart = put(part, result, runStart)
            }
        }
        return result
    }

    private fun addShifted(code: Int, table: Map<Int, IntArray>, result: MutableList<Int>) {
        val shifts = table[code]
        if (shifts == null) result.add(code) else shifts.forEach { result.add(code + it) }
    }

    /** Appends a code point, a mark at its place in NFD's order; returns where the run of marks begins. */
    private fun put(code: Int, result: MutableList<Int>, runStart: Int): Int {
        val rank = rankOf(code)
        var place = result.size
        while (rank > 0 && place > runStart && rankOf(result[place - 1]) > rank) place--
        result.add(place, code)
        return if (rank > 0) runStart else result.size
    }

    private fun rankOf(code: Int) = markOrder[code]?.get(0) ?: 0

    private fun partsOf(code: Int): IntArray {
        if (code in FIRST_SYLLABLE..LAST_SYLLABLE) return jamo(code - FIRST_SYLLABLE)
        val shifts = decomposed[code] ?: return intArrayOf(code)
        return IntArray(shifts.size) { code + shifts[it] }
    }

    /** The two or three letters of a Hangul syllable. */
    private fun jamo(syllable: Int): IntArray {
        val trailing = syllable % TRAILINGS
        val rest = syllable / TRAILINGS
        val leading = LEADING + rest / VOWELS
        val vowel = VOWEL + rest % VOWELS
        return if (trailing == 0) intArrayOf(leading, vowel) else intArrayOf(leading, vowel, TRAILING + trailing)
    }

    /** At the end of a word a capital sigma becomes the final one: The Unicode Standard, table 3-17. */
    private fun smallSigma(codes: List<Int>, place: Int) =
        if (meetsCased(codes, place, -1) && !meetsCased(codes, place, 1)) FINAL_SIGMA else SMALL_SIGMA

    private fun meetsCased(codes: List<Int>, from: Int, step: Int): Boolean {
        var place = from + step
        while (place in codes.indices && codes[place] in caseIgnorable) place += step
        return place in codes.indices && codes[place] in cased
    }
}
