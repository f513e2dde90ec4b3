#!/usr/bin/env python3
"""`rill convert ptb` on a made-up treebank in the LDC's form, and the trainer's messages about trees that were not converted.

usage: treebank.py RILL TOOLS
"""

import os
import subprocess
import sys
import tempfile

RILL, TOOLS = map(os.path.abspath, sys.argv[1:])
sys.path.insert(0, TOOLS)
import convert_ptb  # noqa: E402
from refusal import Refused  # noqa: E402

FIRST = r"""

( (S
    (NP-SBJ-1 (DT The) (NN baker) )
    (VP (VBD promised)
      (S
        (NP-SBJ (-NONE- *-1) )
        (VP (TO to)
          (VP (VB bake)
            (NP (PRP$ her) (NN bread) )))))
    (. .) ))
( (SBARQ
    (WHNP-2 (WP What) )
    (SQ (VBD did)
      (NP-SBJ (PRP he) )
      (VP (VB eat)
        (NP (-NONE- *T*-2) )
        (ADVP|PRT (RP up) )))
    (. ?) ))

( (S (NP-SBJ (-NONE- *) ) (VP (-NONE- *?*) )))
( (NP
    (NP (DT the) (NN cake) )
    (SBAR
      (WHNP-1 (-NONE- 0) )
      (S
        (NP-SBJ (-NONE- *T*-1) )
        (VP (-NONE- *?*) )))))
"""
GAPPING = r"""( (S
    (S
      (NP-SBJ-1 (NNP Anna) )
      (VP (VBD ate)
        (NP-2 (CD 1\/2) (NN soup) )))
    (CC and)
    (S
      (NP-SBJ=1 (NNP Ben) )
      (NP=2 (NN bread) ))
    (. .) ))
( (NP
    (PRN (-LRB- -LRB-) (JJ|NN café) (: --) (-RRB- -RRB-) )))
""".replace("\n", "\r\n")
OTHERS = "(TOP (S-HLN (VP (VB Stop) (S (NP-SBJ (-NONE- *))))))\n(ROOT(NP-TTL(NN x)))( (X-1 (X=2 (X (X oh)))) (-NONE- 0) (. .))"
EXPECTED = r"""(TOP (S (NP (DT The) (NN baker)) (VP (VBD promised) (S (VP (TO to) (VP (VB bake) (NP (PRP$ her) (NN bread)))))) (. .)))
(TOP (SBARQ (WHNP (WP What)) (SQ (VBD did) (NP (PRP he)) (VP (VB eat) (ADVP (RP up)))) (. ?)))
(TOP (NP (DT the) (NN cake)))
(TOP (S (S (NP (NNP Anna)) (VP (VBD ate) (NP (CD 1\/2) (NN soup)))) (CC and) (S (NP (NNP Ben)) (NP (NN bread))) (. .)))
(TOP (NP (PRN (-LRB- -LRB-) (JJ|NN café) (: --) (-RRB- -RRB-))))
"""

failures = 0


def check(what, got, wanted):
    global failures
    if got != wanted:
        failures += 1
        print(f"FAILED: {what}\n  expected {wanted!r}\n  found    {got!r}")


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(text if isinstance(text, bytes) else text.encode())


def read(path):
    with open(path, encoding="utf-8", newline="") as file:
        return file.read()


def convert(*arguments):
    done = subprocess.run([RILL, "convert", "ptb", *arguments], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def whole_treebank():
    """Each section has a tree that names the section. Sections 2, 4 and 23 have more trees, to simplify or to order; section 3 has none."""
    for section in range(25):
        write(f"ldc/wsj/{section:02}/wsj_{section:02}01.mrg", f"\n( (NP (CD {section}) ))\n")
    write("ldc/wsj/02/wsj_0202.mrg", GAPPING)
    write("ldc/wsj/02/wsj_0201.mrg", FIRST)
    write("ldc/wsj/02/notes.txt", "((")
    write("ldc/wsj/03/wsj_0301.mrg", "")
    for number in (7, 3, 6, 2, 5, 4):
        write(f"ldc/wsj/04/wsj_040{number}.mrg", f"( (NP (NN {number}) ))\n")
    write("ldc/wsj/23/WSJ_2301.MRG", OTHERS)
    os.remove("ldc/wsj/23/wsj_2301.mrg")
    write("ldc/brown/cf/cf01.mrg", "((")

    rest = [f"(TOP (NP (CD {section})))\n" for section in range(4, 22)]
    rest[1:1] = [f"(TOP (NP (NN {number})))\n" for number in range(2, 8)]
    check("the treebank is converted", convert("ldc", "--out", "new"),
          (0, "new/train.ptb: 29 trees; 1 of traces alone left out\nnew/dev.ptb: 1 trees\nnew/test.ptb: 3 trees\n", ""))
    check("train.ptb", read("new/train.ptb"), EXPECTED + "".join(rest))
    check("dev.ptb", read("new/dev.ptb"), "(TOP (NP (CD 22)))\n")
    check("test.ptb", read("new/test.ptb"), "(TOP (S (VP (VB Stop))))\n(TOP (NP (NN x)))\n(TOP (X (X oh)) (. .))\n")

    check("other sections", convert("ldc/wsj", "--out", "other", "--train", "24,5-6", "--dev", "0", "--test", "01"),
          (0, "other/train.ptb: 3 trees\nother/dev.ptb: 1 trees\nother/test.ptb: 1 trees\n", ""))
    check("their order", read("other/train.ptb"), "(TOP (NP (CD 24)))\n(TOP (NP (CD 5)))\n(TOP (NP (CD 6)))\n")
    check("their names", read("other/dev.ptb") + read("other/test.ptb"), "(TOP (NP (CD 0)))\n(TOP (NP (CD 1)))\n")

    # Converting the converted trees again changes nothing.
    for part, section in (("train", "02"), ("dev", "22"), ("test", "23")):
        write(f"again/{section}/{part}.mrg", read(f"new/{part}.ptb"))
    check("again", convert("again", "--out", "same", "--train", "2")[0], 0)
    for part in convert_ptb.PARTS:
        check(f"{part}.ptb again", read(f"same/{part}.ptb"), read(f"new/{part}.ptb"))


def refused(what, *arguments):
    check(what, convert(*arguments, "--out", "none"), (1, "", f"rill convert: {what}\n"))
    check("nothing is made", os.path.exists("none"), False)


def bad_treebanks():
    refused("nowhere: section 02 of train is missing: expected a folder 02 with .mrg files", "nowhere")
    refused("section 22 is in train and in dev", "ldc", "--train", "2-22")
    refused("ldc: no trees in the sections of dev", "ldc", "--dev", "3", "--train", "2")
    for wanted in ("x", "21-2", "2-", ""):
        code, _, told = convert("ldc", "--out", "none", f"--train={wanted}")
        check(f"--train={wanted}", (code, "argument --train: invalid sections value" in told), (2, True))
    write("ldc/copy/02/wsj_0201.mrg", FIRST)
    code, _, told = convert("ldc", "--out", "none")
    check("a section of two folders", (code, told.startswith("rill convert: ldc: section 02 is there twice: ")), (1, True))

    inside = ", in the tree that begins in line 1"
    for text, line, what in (
            ("( (S (NN a) )\n\n( (NP (NN b) ))\n", 3, "a bracket without a label: one before it is not closed" + inside),
            ("( (NP (NN b) ))\r\n\r\n( (S\r\n (NN a) )\r\n", 3, "the tree that begins here is not closed"),
            ("( (S (NN a) )))\n", 1, "a bracket closes that was not opened"),
            ("( (S (NP )\n (NN a) ))\n", 1, "the bracket of NP is empty" + inside),
            ("( )", 1, "the bracket of no label is empty" + inside),
            ("( (S (NN\n a)\n (NN b c) ))\n", 3, '"b" is not in a bracket of a tag and one word' + inside),
            ("( (S (NN a)\n b ))\n", 2, '"b" is not in a bracket of a tag and one word' + inside),
            ("*x*\n( (S (NN a) ))\n", 1, '"*x*" is not in a bracket of a tag and one word'),
            ("( (S (NN a) ))\n(NN b)\n", 2, '"(NN b)" is not in a tree'),
            ("( (S (NN a) ))\n\n(S (NN b))\n", 3, "the outer bracket has the label S; expected none, TOP or ROOT")):
        write("bad/02/a.mrg", text)
        refused(f"bad/02/a.mrg: line {line}: {what}", "bad", "--train", "2")
    write("bad/02/a.mrg", b"( (S (NN \xff) ))\n")
    code, _, told = convert("bad", "--out", "none", "--train", "2")
    check("bytes that are not UTF-8", (code, told.startswith("rill convert: bad/02/a.mrg: expected UTF-8: ")), (1, True))


def trainer():
    """Trees that are not converted are refused with a message that says what to do; the trainer refuses them too, if PyTorch is there."""
    has_torch = subprocess.run([sys.executable, "-c", "import torch"], capture_output=True, check=False).returncode == 0
    advice = "; `rill convert ptb DIR --out NEW` makes train.ptb, dev.ptb and test.ptb of a treebank's .mrg files"
    for text, what in (
            (FIRST, "line 3: the outer bracket has no label, not TOP"),
            ("(TOP (NN a))\n( (S (NN a)))\n", "line 2: the outer bracket has no label, not TOP"),
            ("(TOP (NN a))\n(S (NN a))\n", "line 2: the outer bracket has S, not TOP"),
            ("(TOP (NN a))\n(TOP (S (NN a) (NP (-NONE- *))))\n", "line 2: the tree has traces (-NONE-)"),
            ("(TOP (S (NN a))\n", "line 1: the tree that begins here is not closed"),
            (None, "No such file or directory")):
        if os.path.exists("raw/train.ptb"):
            os.remove("raw/train.ptb")
        if text is not None:
            write("raw/train.ptb", text)
        try:
            found = [str(tree) for tree in convert_ptb.read_converted("raw/train.ptb")]
        except Refused as error:
            found = str(error)
        check("the trainer's reader", found, f"raw/train.ptb: {what}{advice}")
        if has_torch:
            done = subprocess.run([sys.executable, os.path.join(TOOLS, "train_shiftreduce.py"), "--data", "raw", "--out", "model"],
                                  capture_output=True, text=True, check=False)
            check("the trainer", (done.returncode, done.stderr), (1, f"train_shiftreduce: raw/train.ptb: {what}{advice}\n"))
    check("what was converted is read", [str(tree) for tree in convert_ptb.read_converted("new/train.ptb")],
          read("new/train.ptb").splitlines())


with tempfile.TemporaryDirectory() as work:
    os.chdir(work)
    whole_treebank()
    bad_treebanks()
    trainer()
print(f"{failures} failures")
sys.exit(1 if failures else 0)
