#!/usr/bin/env python3
"""A small FSMT tokenizer, and the results of transformers and sacremoses for texts with it, for the tests.

All sentences are this file's own, and so are the lists of prefixes whose period belongs to them: sacremoses gets
those instead of its own. Needs transformers and sacremoses (0.2.0 made the files that are committed).
`expected.json` holds, by language,
  split: [text, tokens separated by spaces, their numbers]
  join: [tokens separated by spaces, text]
and below "argos" the same without numbers, by the rules of Argos Translate (sacremoses has none of pt's own),
of the sentences and of mixtures of their words, of punctuation and of unusual characters. More of them, to be tried once:
  tools/reference_moses.py DATA/mt/moses --texts 6000 --joins 6000 && cp -r tests/data/mt/fsmt DATA/mt
  RILL_TEST_DATA=DATA build/tests/domains/test_domains_moses_bpe
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
        "Prices rose by 3.5% to $1,250.00 (about €1,100).", "We met at 5 p.m. on Mon., Jan. 3, 2021.",
        "The U.S. and the U.K. agreed.", "Wait... what?", "A well-known state-of-the-art method - or so they say.",
        "He's reading 'War and Peace' by L. Tolstoy.", "“No,” she said, ‘never’.", "R&D costs 10 < 20 > 5 | 7.",
        "See [1] and {2} or e.g. the file a_b.txt.", "Mail me at john@example.com or http://example.com/a?b=c#d.",
        "The '90s were fun; weren't they?", "It is 5 o'clock.", "The cat sat on the mat",
        "  leading and  double   blanks ",
        "I'd've gone, y'all'd've stayed.", "Ten years ago (1999), he left; then - nothing.",
        "50 % of 1 000 000 people",
        "tabs\tand\u00a0blanks that do not break", "soft\u00adhyphen and zero\u200bwidth", "No.",
        "No. 12 vs. No. ten.",
        "Mr. and Mrs. Brown vs. the City of X.", "He came at 7.30.", "\"Yes,\" he said. \"No.\"", "…and so on…",
        "-- a dash — another – one more --", "1,2,3, 4,a b,5 ,,, ,", "a/b and/or c", "C++ and C# cost £5.",
        "café naïve über",
        "emoji 😀 here\ufe0f.", "\u4e2d\u6587。 \u65e5\u672c，《\u8a9e》！", "Vol. 3, pp. 12-15, Fig. 2.", "a.b.c. D",
        "A. B. c.",
        "what?! no!?", "'tis '' `` ` ´ twice", "10'000 and 5's and 's", "(parentheses (nested) ) .",
        "end with quote.'",
    ],
    "de": [
        "Ein Mann spielt Gitarre.", "Zwei Hunde laufen im Schnee!", "Er sagte: „Das weiß ich nicht.“",
        "Am 3. Mai 2020 um 12.30 Uhr kam Dr. Müller z.B. nach Hause.", "Das kostet 1.234,56 € bzw. 3,5 % mehr.",
        "Die Straße Nr. 5 ist ca. 10 km lang.", "Wie geht’s dir, Hans' Freund?", "»Ja«, sagte sie, »natürlich!«",
        "« Nein », rief er.", "Das ist der E-Mail-Verkehr - nicht mehr.", "Ärzte, Öle, Übungen und Straßen.",
        "Prof. Dr. A. Schmidt wohnt in der Hauptstr. 12.", "Um 8 Uhr usw. und so weiter.",
        "\"Komm,\" sagte er. \"Geh.\" Und ging.",
        "Das Haus ... ist groß.", "Der 1. FC gewann 3:2 (1:1).", "Bitte s. u. bzw. Abs. 3.", "Im 19. Jh. war das so.",
        "Sie fragt: ‚Warum?‘", "10 000 Menschen, 5\u00a0000 Hunde", "Ein Buch von J. W. v. Goethe.",
        "Max & Moritz <b>fett</b>",
        "Er sagt „er sagt ‚nein‘“.", "Freitag, d. 13. ist heute.", "Das sind 20 °C oder 5 m² – 50 §.",
        "Na so was ...\"", "Schluss.\" <",
        "A...\" b..\" c.\" d", "Größe: 5'7\"", "Ja/Nein", "„Hallo” und “Hallo“", "Herr Dr. med. Weber kam.",
        "Das war‘s, Leute", "GROẞ und STRASSE",
        "Nr.5 und Nr. fünf", "Das Ende.", "Eins, zwei,drei ,vier", "Haus- und Hofhund", "100%ig 100 %ig",
        "(Siehe S. 5.)", "30. 31. 32. 99.",
    ],
    "ru": [
        "Человек играет на гитаре.", "Две собаки бегут по снегу!",
        "Он сказал: «Я не знаю».", "Ул. Ленина, д. 5, кв. 12, г. Москва.", "В 1999 г. он уехал в США.",
        "Это стоит 1\u00a0250,50 руб. или 10 %.", "А. С. Пушкин — поэт.", "Что-то случилось, как-нибудь потом.",
        "Привет... Как дела?", "Замо\u0301к и за\u0301мок.", "„Да“, — сказала она.", "и т. д., и т.п.",
        "5 млн. человек", "Ёлка, ёж и йод.",
        "Тел. 8-800-555-35-35, e-mail: a@b.ru", "О'Нил и д'Артаньян", "рис. 3, с. 15; см. гл. 2", "Конец.",
        "Кто?! Я!", "№5 и № 6", "50 ₽, 50 ₽.", "Он – врач.",
        "Ф. М. Достоевский и др.", "(см. также)", "Город-герой Волгоград", "Цена: 3,5 — 4,5 тыс. руб.",
    ],
}
PREFIXES = {
    "en": ["# Titles and initials.", "A", "B", "C", "J", "L", "Dr", "Mr", "Mrs", "St", "Jan", "vs", "",
           "# Before numbers.", "No #NUMERIC_ONLY#", "Vol #NUMERIC_ONLY#", "Fig #NUMERIC_ONLY#", "pp #NUMERIC_ONLY#",
           "No #NUMERIC_ONLY#"],
    "de": ["A", "J", "S", "W", "v", "d", "Dr", "Prof", "Nr", "Abs", "Jh", "ca", "bzw", "1", "3", "13", "19", "Ö"],
    "ru": ["А", "С", "Ф", "М", "г", "д", "кв", "ул", "Ул", "руб", "с", "рис #NUMERIC_ONLY#"],
}
ODD = list(".,;:!?'\"`()[]{}<>&|@#$%^*-_+=/\\~ \t\u00a0\u3000\u2009\u2028\u00ad\u200b\u200d\ufeff\u0001\u007f\u0085") + [
    "..", "...", "....", "''", "``", "--", " - ", "@-@", "&amp;", "&apos;", "' ", " '", ".'", ",\"", ".\"", "...\"",
    "\"..", "\" ,", "1,000",
    "2.5", "3 %", "7\u00a0%", "1\u00a02\u00a03", "5 :", "(1)", ") .", "( x", "„", "“", "”", "‘", "’", "‚", "«", "»",
    "\u00a0«\u00a0", "\u00a0»",
    "´", "–", "—", "…", "€", "£", "¢", "§", "°", "²", "½", "Ⅷ", "n\u00ba\u00a05", "\u00a0\u00baC", "\u0301",
    "e\u0308", "ё", "ß", "İ", "ﬁ",
    "。 ", "，", "．  ", "５", "％", "《", "】", "\u4e2d\u56fd", "\ud55c\uad6d", "\u304b\u306a", "\u05e9\u05c1",
    "\u0915\u094d\u0937", "٥", "👍🏽", "𝔸",
    "\ue000", "Ⓐ", "ẞ", "™", "x·y", "¿", "¡"]
TOKENS = ["&apos;", "&quot;", "&amp;", "&#124;", "&lt;", "&gt;", "&#91;", "&#93;", "&apos;s", "&apos;re", "&apos;5",
          "@-@", "'", "\"", "``", "''", "„", "“", "”", "`", "(", ")", "[", "]", "{", "}", "$", "€", "$(",
          "¿", ",", ".", "...", "?!", ";", ":",
          "%", "\\", "-", "--", "s", "dogs", "James",
          "a", "5", "\u4e2d", "\u56fd\u4eba", "\u304b", "@-@@-@", "&amp;quot;", "&bar;", "&ket;", "’", "«", "»"]


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
    """Return an FSMTTokenizer that uses the folder's own prefix lists."""
    merges, vocabulary = (os.path.join(folder, name) for name in ("merges.txt", "vocab-src.json"))
    made = FSMTTokenizer([language, language], vocabulary, vocabulary, merges)
    made.cache_moses_tokenizer[language] = moses(folder, language)
    return made


def moses(folder, language):
    path = os.path.join(folder, "nonbreaking_prefix." + language)
    return sacremoses.MosesTokenizer(lang=language, custom_nonbreaking_prefixes_file=path)


def normal(text, language):
    """Normalise a text as FSMTTokenizer does before it tokenizes; no vocabulary is needed."""
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
    """Whether Python's Unicode tables know all characters: sacremoses and rill may treat newer characters differently."""
    return all(unicodedata.category(c) != "Cn" for c in text)


def expected(folder, language, rng, texts, joins):
    made = tokenizer(folder, language)
    words = [w for line in SENTENCES[language] for w in line.split()]
    texts = SENTENCES[language] + [mixture(language, rng) for _ in range(texts)]
    assert all(map(visible, texts))
    split, join = [], []
    for text in texts:
        pieces = made.tokenize(text, split_special_tokens=True)
        split.append([text, " ".join(pieces), made.convert_tokens_to_ids(pieces)])
        join.append([" ".join(pieces), made.convert_tokens_to_string(pieces)])
    for _ in range(joins):
        tokens = [rng.choice(words) if rng.random() < 0.3 else rng.choice(TOKENS) for _ in range(rng.randint(1, 14))]
        pieces = [p for t in tokens for p in made.bpe(t).split(" ")]
        join.append([" ".join(pieces), made.convert_tokens_to_string(pieces)])
    return {"split": split, "join": join}


def argos_pieces(made, tokens):
    """Return the tokens in subword-nmt's form: the end of a word has no mark, other tokens have @@."""
    return [p[:-4] if p.endswith("</w>") else p + "@@" for t in tokens for p in made.bpe(t).split(" ")]


def expected_of_argos(folder, language, rng, texts, joins):
    """Return the results of Argos Translate's BPETokenizer, with the folder's own prefix lists."""
    known = language if language in SENTENCES else "en"
    made, normalizer = tokenizer(folder, known), sacremoses.MosesPunctNormalizer(language)
    path = os.path.join(folder, "nonbreaking_prefix." + known)
    cutter = sacremoses.MosesTokenizer(lang=language, custom_nonbreaking_prefixes_file=path)
    joiner = sacremoses.MosesDetokenizer(lang=language)
    split, join = [], []

    def add(pieces):
        join.append([" ".join(pieces), joiner.detokenize(" ".join(pieces).replace("@@ ", "").split(" "))])

    for text in SENTENCES[known] + [mixture(known, rng) for _ in range(texts)]:
        pieces = argos_pieces(made, cutter.tokenize(normalizer.normalize(text)))
        split.append([text, " ".join(pieces)])
        add(pieces)
    for _ in range(joins):
        add(argos_pieces(made, [rng.choice(TOKENS) for _ in range(rng.randint(1, 14))]))
    add(["ab@@", "c@@"])
    return {"split": split, "join": join}


def ways_as_json(ways):
    return "{" + ",".join(f'"{way}":[\n' + ",\n".join(json.dumps(c, ensure_ascii=False, separators=(",", ":")) for c in cases)
                          + "\n]" for way, cases in ways.items()) + "}"


def build(folder, texts, joins):
    os.makedirs(folder, exist_ok=True)
    for language, lines in PREFIXES.items():
        write(folder, "nonbreaking_prefix." + language, "".join(line + "\n" for line in lines))
    build_bpe(folder)
    rng = random.Random(11)
    cases = {language: expected(folder, language, rng, texts, joins) for language in SENTENCES}
    argos = {language: expected_of_argos(folder, language, rng, texts // 3, joins // 3)
             for language in [*SENTENCES, "pt"]}
    rows = [f'"{language}":{ways_as_json(ways)}' for language, ways in cases.items()]
    rows.append('"argos":{' + ",\n".join(f'"{language}":{ways_as_json(ways)}' for language, ways in argos.items()) + "}")
    write(folder, "expected.json", "{" + ",\n".join(rows) + "}\n")
    print({language: {way: len(c) for way, c in ways.items()} for language, ways in cases.items()})


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", help="where the files go: tests/data/mt/moses")
    parser.add_argument("--texts", type=int, default=110, help="mixtures to cut, per language (default 110)")
    parser.add_argument("--joins", type=int, default=90, help="mixtures of tokens to join, per language (default 90)")
    options = parser.parse_args()
    build(options.folder, options.texts, options.joins)
