#!/usr/bin/env python3
"""A small FSMT tokenizer and what transformers and sacremoses make of texts with it, for the tests.

All sentences are this file's own, and so are the lists of prefixes whose period belongs to them: sacremoses is given
those instead of the ones it brings. `expected.json` holds, by language,
  split: [text, pieces with blanks between them, their numbers]
  join: [pieces with blanks between them, text]
of the sentences and of mixtures of their words, of punctuation and of unusual characters.
"""

import argparse
import collections
import json
import os
import random
import unicodedata

import sacremoses
from transformers import FSMTTokenizer

SENTENCES = {
    "en": [
        "A man plays the guitar.", "Two dogs run in the snow!", "She said: \"I don't know, really.\"",
        "It's Dr. Smith's house, isn't it?", "The Jones' house is at No. 5, Main St. in Springfield.",
        "Prices rose by 3.5% to $1,250.00 (about \u20ac1,100).", "We met at 5 p.m. on Mon., Jan. 3, 2021.",
        "The U.S. and the U.K. agreed.", "Wait... what?", "A well-known state-of-the-art method - or so they say.",
        "He's reading 'War and Peace' by L. Tolstoy.", "\u201cNo,\u201d she said, \u2018never\u2019.", "R&D costs 10 < 20 > 5 | 7.",
        "See [1] and {2} or e.g. the file a_b.txt.", "Mail me at john@example.com or http://example.com/a?b=c#d.",
        "The '90s were fun; weren't they?", "It is 5 o'clock.", "The cat sat on the mat", "  leading and  double   blanks ",
        "I'd've gone, y'all'd've stayed.", "Ten years ago (1999), he left; then - nothing.", "50 % of 1 000 000 people",
        "tabs\tand\u00a0blanks that do not break", "soft\u00adhyphen and zero\u200bwidth", "No.", "No. 12 vs. No. ten.",
        "Mr. and Mrs. Brown vs. the City of X.", "He came at 7.30.", "\"Yes,\" he said. \"No.\"", "\u2026and so on\u2026",
        "-- a dash \u2014 another \u2013 one more --", "1,2,3, 4,a b,5 ,,, ,", "a/b and/or c", "C++ and C# cost \u00a35.", "caf\u00e9 na\u00efve \u00fcber",
        "emoji \U0001f600 here\ufe0f.", "\u4e2d\u6587\u3002 \u65e5\u672c\uff0c\u300a\u8a9e\u300b\uff01", "Vol. 3, pp. 12-15, Fig. 2.", "a.b.c. D", "A. B. c.",
        "what?! no!?", "'tis '' `` ` ´ twice", "10'000 and 5's and 's", "(parentheses (nested) ) .", "end with quote.'",
    ],
    "de": [
        "Ein Mann spielt Gitarre.", "Zwei Hunde laufen im Schnee!", "Er sagte: \u201eDas wei\u00df ich nicht.\u201c",
        "Am 3. Mai 2020 um 12.30 Uhr kam Dr. M\u00fcller z.B. nach Hause.", "Das kostet 1.234,56 \u20ac bzw. 3,5 % mehr.",
        "Die Stra\u00dfe Nr. 5 ist ca. 10 km lang.", "Wie geht\u2019s dir, Hans' Freund?", "\u00bbJa\u00ab, sagte sie, \u00bbnat\u00fcrlich!\u00ab",
        "\u00ab Nein \u00bb, rief er.", "Das ist der E-Mail-Verkehr - nicht mehr.", "\u00c4rzte, \u00d6le, \u00dcbungen und Stra\u00dfen.",
        "Prof. Dr. A. Schmidt wohnt in der Hauptstr. 12.", "Um 8 Uhr usw. und so weiter.", "\"Komm,\" sagte er. \"Geh.\" Und ging.",
        "Das Haus ... ist gro\u00df.", "Der 1. FC gewann 3:2 (1:1).", "Bitte s. u. bzw. Abs. 3.", "Im 19. Jh. war das so.",
        "Sie fragt: \u201aWarum?\u2018", "10 000 Menschen, 5\u00a0000 Hunde", "Ein Buch von J. W. v. Goethe.", "Max & Moritz <b>fett</b>",
        "Er sagt \u201eer sagt \u201anein\u2018\u201c.", "Freitag, d. 13. ist heute.", "Das sind 20 \u00b0C oder 5 m\u00b2 \u2013 50 \u00a7.", "Na so was ...\"", "Schluss.\" <",
        "A...\" b..\" c.\" d", "Gr\u00f6\u00dfe: 5'7\"", "Ja/Nein", "\u201eHallo\u201d und \u201cHallo\u201c", "Herr Dr. med. Weber kam.", "Das war\u2018s, Leute", "GRO\u1e9e und STRASSE",
        "Nr.5 und Nr. f\u00fcnf", "Das Ende.", "Eins, zwei,drei ,vier", "Haus- und Hofhund", "100%ig 100 %ig", "(Siehe S. 5.)", "30. 31. 32. 99.",
    ],
    "ru": [
        "\u0427\u0435\u043b\u043e\u0432\u0435\u043a \u0438\u0433\u0440\u0430\u0435\u0442 \u043d\u0430 \u0433\u0438\u0442\u0430\u0440\u0435.", "\u0414\u0432\u0435 \u0441\u043e\u0431\u0430\u043a\u0438 \u0431\u0435\u0433\u0443\u0442 \u043f\u043e \u0441\u043d\u0435\u0433\u0443!",
        "\u041e\u043d \u0441\u043a\u0430\u0437\u0430\u043b: \u00ab\u042f \u043d\u0435 \u0437\u043d\u0430\u044e\u00bb.", "\u0423\u043b. \u041b\u0435\u043d\u0438\u043d\u0430, \u0434. 5, \u043a\u0432. 12, \u0433. \u041c\u043e\u0441\u043a\u0432\u0430.", "\u0412 1999 \u0433. \u043e\u043d \u0443\u0435\u0445\u0430\u043b \u0432 \u0421\u0428\u0410.",
        "\u042d\u0442\u043e \u0441\u0442\u043e\u0438\u0442 1\u00a0250,50 \u0440\u0443\u0431. \u0438\u043b\u0438 10 %.", "\u0410. \u0421. \u041f\u0443\u0448\u043a\u0438\u043d \u2014 \u043f\u043e\u044d\u0442.", "\u0427\u0442\u043e-\u0442\u043e \u0441\u043b\u0443\u0447\u0438\u043b\u043e\u0441\u044c, \u043a\u0430\u043a-\u043d\u0438\u0431\u0443\u0434\u044c \u043f\u043e\u0442\u043e\u043c.",
        "\u041f\u0440\u0438\u0432\u0435\u0442... \u041a\u0430\u043a \u0434\u0435\u043b\u0430?", "\u0417\u0430\u043c\u043e\u0301\u043a \u0438 \u0437\u0430\u0301\u043c\u043e\u043a.", "\u201e\u0414\u0430\u201c, \u2014 \u0441\u043a\u0430\u0437\u0430\u043b\u0430 \u043e\u043d\u0430.", "\u0438 \u0442. \u0434., \u0438 \u0442.\u043f.", "5 \u043c\u043b\u043d. \u0447\u0435\u043b\u043e\u0432\u0435\u043a", "\u0401\u043b\u043a\u0430, \u0451\u0436 \u0438 \u0439\u043e\u0434.",
        "\u0422\u0435\u043b. 8-800-555-35-35, e-mail: a@b.ru", "\u041e'\u041d\u0438\u043b \u0438 \u0434'\u0410\u0440\u0442\u0430\u043d\u044c\u044f\u043d", "\u0440\u0438\u0441. 3, \u0441. 15; \u0441\u043c. \u0433\u043b. 2", "\u041a\u043e\u043d\u0435\u0446.", "\u041a\u0442\u043e?! \u042f!", "\u21165 \u0438 \u2116 6", "50 \u20bd, 50 \u20bd.", "\u041e\u043d \u2013 \u0432\u0440\u0430\u0447.",
        "\u0424. \u041c. \u0414\u043e\u0441\u0442\u043e\u0435\u0432\u0441\u043a\u0438\u0439 \u0438 \u0434\u0440.", "(\u0441\u043c. \u0442\u0430\u043a\u0436\u0435)", "\u0413\u043e\u0440\u043e\u0434-\u0433\u0435\u0440\u043e\u0439 \u0412\u043e\u043b\u0433\u043e\u0433\u0440\u0430\u0434", "\u0426\u0435\u043d\u0430: 3,5 \u2014 4,5 \u0442\u044b\u0441. \u0440\u0443\u0431.",
    ],
}
PREFIXES = {
    "en": ["# Titles and initials.", "A", "B", "C", "J", "L", "Dr", "Mr", "Mrs", "St", "Jan", "vs", "", "# Before numbers.",
           "No #NUMERIC_ONLY#", "Vol #NUMERIC_ONLY#", "Fig #NUMERIC_ONLY#", "pp #NUMERIC_ONLY#", "No #NUMERIC_ONLY#"],
    "de": ["A", "J", "S", "W", "v", "d", "Dr", "Prof", "Nr", "Abs", "Jh", "ca", "bzw", "1", "3", "13", "19", "\u00d6"],
    "ru": ["\u0410", "\u0421", "\u0424", "\u041c", "\u0433", "\u0434", "\u043a\u0432", "\u0443\u043b", "\u0423\u043b", "\u0440\u0443\u0431", "\u0441", "\u0440\u0438\u0441 #NUMERIC_ONLY#"],
}
ODD = list(".,;:!?'\"`()[]{}<>&|@#$%^*-_+=/\\~ \t\u00a0\u3000\u2009\u2028\u00ad\u200b\u200d\ufeff\u0001\u007f\u0085") + [
    "..", "...", "....", "''", "``", "--", " - ", "@-@", "&amp;", "&apos;", "' ", " '", ".'", ",\"", ".\"", "...\"", "\"..", "\" ,", "1,000",
    "2.5", "3 %", "7\u00a0%", "1\u00a02\u00a03", "5 :", "(1)", ") .", "( x", "\u201e", "\u201c", "\u201d", "\u2018", "\u2019", "\u201a", "\u00ab", "\u00bb", "\u00a0\u00ab\u00a0", "\u00a0\u00bb",
    "\u00b4", "\u2013", "\u2014", "\u2026", "\u20ac", "\u00a3", "\u00a2", "\u00a7", "\u00b0", "\u00b2", "\u00bd", "\u2167", "n\u00ba\u00a05", "\u00a0\u00baC", "\u0301", "e\u0308", "\u0451", "\u00df", "\u0130", "\ufb01",
    "\u3002 ", "\uff0c", "\uff0e  ", "\uff15", "\uff05", "\u300a", "\u3011", "\u4e2d\u56fd", "\ud55c\uad6d", "\u304b\u306a", "\u05e9\u05c1", "\u0915\u094d\u0937", "\u0665", "\U0001f44d\U0001f3fd", "\U0001d538",
    "\ue000", "\u24b6", "\u1e9e", "\u2122", "x\u00b7y", "\u00bf", "\u00a1"]
TOKENS = ["&apos;", "&quot;", "&amp;", "&#124;", "&lt;", "&gt;", "&#91;", "&#93;", "&apos;s", "&apos;re", "&apos;5", "@-@", "'", "\"", "``", "''",
          "\u201e", "\u201c", "\u201d", "`", "(", ")", "[", "]", "{", "}", "$", "\u20ac", "$(", "\u00bf", ",", ".", "...", "?!", ";", ":", "%", "\\", "-", "--", "s", "dogs", "James",
          "a", "5", "\u4e2d", "\u56fd\u4eba", "\u304b", "@-@@-@", "&amp;quot;", "&bar;", "&ket;", "\u2019", "\u00ab", "\u00bb"]


def count_pairs(words):
    pairs = collections.Counter()
    for word, count in words.items():
        for pair in zip(word, word[1:]):
            pairs[pair] += count
    return pairs


def merge_pair(word, pair):
    out, i = [], 0
    while i < len(word):
        if word[i:i + 2] == pair:
            out.append(word[i] + word[i + 1])
            i += 2
        else:
            out.append(word[i])
            i += 1
    return tuple(out)


def train_bpe(tokens, size):
    words = collections.Counter(tuple(t[:-1]) + (t[-1] + "</w>",) for t in tokens)
    merges = []
    while len(merges) < size:
        pairs = count_pairs(words)
        best = min(pairs, key=lambda p: (-pairs[p], p))
        merges.append(best)
        words = collections.Counter({merge_pair(w, best): c for w, c in words.items()})
    return merges, sorted({piece for w in words for piece in w})


def write(folder, name, text):
    with open(os.path.join(folder, name), "w", encoding="utf-8", newline="\n") as file:
        file.write(text)


def tokenizer(folder, language):
    """FSMTTokenizer with the folder's own prefixes."""
    merges, vocabulary = (os.path.join(folder, name) for name in ("merges.txt", "vocab-src.json"))
    made = FSMTTokenizer([language, language], vocabulary, vocabulary, merges)
    made.cache_moses_tokenizer[language] = moses(folder, language)
    return made


def moses(folder, language):
    path = os.path.join(folder, "nonbreaking_prefix." + language)
    return sacremoses.MosesTokenizer(lang=language, custom_nonbreaking_prefixes_file=path)


def normal(text, language):
    """The text as the tokeniser gets it: FSMTTokenizer's pipeline, which needs no vocabulary."""
    made = FSMTTokenizer.__new__(FSMTTokenizer)
    made.sm, made.cache_moses_punct_normalizer = sacremoses, {}
    return made.moses_pipeline(text, language)


def build_bpe(folder):
    tokens = [t for language, lines in SENTENCES.items() for line in lines
              for t in moses(folder, language).tokenize(normal(line, language), aggressive_dash_splits=True)]
    merges, pieces = train_bpe(tokens, 500)
    letters = sorted({c for piece in pieces for c in piece.replace("</w>", "")} - set("xyz"))
    known = {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3}
    for piece in pieces + letters + [c + "</w>" for c in letters]:
        known.setdefault(piece, len(known))
    write(folder, "merges.txt", "".join(f"{a} {b}\n" for a, b in merges))
    write(folder, "vocab-src.json", json.dumps(known, ensure_ascii=False, separators=(",", ":")) + "\n")


def mixture(language, rng):
    words = [w for line in SENTENCES[language] for w in line.split()]
    parts = [rng.choice(words) if rng.random() < 0.5 else rng.choice(ODD) for _ in range(rng.randint(1, 12))]
    return "".join(p + (" " if rng.random() < 0.4 else "") for p in parts)


def visible(text):
    """Characters assigned since the Unicode version of Python's tables are of category C in one place only."""
    return all(unicodedata.category(c) != "Cn" for c in text)


def expected(folder, language, rng):
    made = tokenizer(folder, language)
    words = [w for line in SENTENCES[language] for w in line.split()]
    texts = SENTENCES[language] + [mixture(language, rng) for _ in range(110)]
    assert all(map(visible, texts))
    split, join = [], []
    for text in texts:
        pieces = made.tokenize(text, split_special_tokens=True)
        split.append([text, " ".join(pieces), made.convert_tokens_to_ids(pieces)])
        join.append([" ".join(pieces), made.convert_tokens_to_string(pieces)])
    for _ in range(90):
        tokens = [rng.choice(words) if rng.random() < 0.3 else rng.choice(TOKENS) for _ in range(rng.randint(1, 14))]
        pieces = [p for t in tokens for p in made.bpe(t).split(" ")]
        join.append([" ".join(pieces), made.convert_tokens_to_string(pieces)])
    return {"split": split, "join": join}


def build(folder):
    os.makedirs(folder, exist_ok=True)
    for language, lines in PREFIXES.items():
        write(folder, "nonbreaking_prefix." + language, "".join(line + "\n" for line in lines))
    build_bpe(folder)
    rng = random.Random(11)
    cases = {language: expected(folder, language, rng) for language in SENTENCES}
    rows = [f'"{language}":{{' + ",".join(
        f'"{way}":[\n' + ",\n".join(json.dumps(c, ensure_ascii=False, separators=(",", ":")) for c in cases[language][way])
        + "\n]" for way in ("split", "join")) + "}" for language in cases]
    write(folder, "expected.json", "{" + ",\n".join(rows) + "}\n")
    print({language: {way: len(c) for way, c in ways.items()} for language, ways in cases.items()})


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", help="where the files go: tests/data/mt/moses")
    build(parser.parse_args().folder)
