#!/usr/bin/env python3
"""prose.py finds errors planted in a page, on their lines, and nothing in code, tables, quotations and links."""

import unittest

from prose import LONGEST, RETIRED, findings


def lines(text, **options):
    return [line for line, _ in sorted(findings(text, **options))]


class Prose(unittest.TestCase):
    def test_retired_words(self):
        self.assertGreater(len(RETIRED), 10)
        for sentence in ("A token was struck.", "The norm stands behind the block.", "Models of BART's kin.", "It runs by\nitself.",
                         "Those that remain are kept.", "Options that\nare given win."):
            self.assertEqual(lines("# A page\n\nText.\n\n" + sentence + "\n"), [5], sentence)
        self.assertEqual(lines("rill runs behind a reverse proxy; `struck` and ``kin`` are code.\n"), [])

    def test_long_sentences(self):
        words = LONGEST + 1
        sentence = " ".join(["word"] * words) + "."
        self.assertEqual(lines("One. Two.\n" + sentence + "\n"), [2])
        self.assertEqual(lines("- one\n- " + sentence.replace("word word", "word\n  word", 1) + "\n"), [2])
        self.assertEqual(lines(sentence, long_sentences=False), [])
        self.assertEqual(lines(" ".join(["word"] * LONGEST) + ". And on."), [])
        self.assertEqual(lines("- " + "\n- ".join(["an item"] * words)), [])
        self.assertEqual(lines(" ".join(["`a b c`"] * LONGEST) + "."), [])

    def test_no_prose(self):
        planted = "What was struck stands behind it."
        for text in ("```sh\n%s\n```\n", "| a | %s |\n", "> %s\n", "    %s\n", "[x](%s)\n", "<!-- %s -->\n"):
            self.assertEqual(lines(text % planted), [], text)


if __name__ == "__main__":
    unittest.main()
