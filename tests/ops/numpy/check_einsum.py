# SPDX-License-Identifier: MIT OR Apache-2.0
"""einsum beside NumPy's, by the same texts."""
from ctypes import POINTER, c_char_p, c_size_t, c_void_p

import numpy as np

import data
from data import LAYOUTS, close, numbers, refused, run, run_into, same, tensor, terms

_einsum = data.declare(c_void_p, "acu_op_einsum", c_char_p, POINTER(c_void_p), c_size_t, data.Site)
EXTENTS = {"a": 2, "b": 3, "c": 4, "i": 5, "j": 6, "k": 7, "l": 2}


WIDE = {"f": np.float64, "i": np.int64, "c": np.complex128}


def einsum(text, *operands):
    return _einsum(text.encode(), terms(*operands), len(operands), data._SITE)


TEXTS = ("ij,jk->ik", "ij,jk->ki", "bij,bjk->bik", "bij,kj->bik", "i,i->", "i,j->ij", "i,j->ji", "bi,ij->bj", "ij,j->i",
         "abij,abjk->abik", "ajbi,bka->jik", "ij,ij->", "ij,ij->ji", "abci,cia->b", "i,ij->j", "bij,bj->ib", "ai,bj->abij",
         "ij->ji", "ijk->j", "ij->", "ijk->kij", "abc -> c b a", "i->i", "acbl,kl->ckab")
for n, text in enumerate(TEXTS):
    for dtype in ("float32", "int32", "float64", "complex64", "complex128"):
        names = text.replace(" ", "").split("->")[0].split(",")
        operands = [numbers(dtype, [EXTENTS[c] for c in name], -9, 9) for name in names]
        want = np.einsum(text, *[x.astype(WIDE[x.dtype.kind]) for x in operands])
        summed = len(names) == 1 and len(text.replace(" ", "").split("->")[1]) < len(names[0])
        want = np.asarray(want).reshape(np.shape(want) or (1,)).astype("int64" if dtype == "int32" and summed else dtype)
        for k in range(2):
            held = [tensor(x, LAYOUTS[(n + i + k) % 4]) for i, x in enumerate(operands)]
            same(run(einsum(text, *held)), want, (text, dtype))
        same(run_into(einsum(text, *operands), want, LAYOUTS[n % 4]), want, text)
del held
x = np.ones((2, 3), np.float32)
for text, operands, words in (("ij,jk", (x, x), "result is missing"), ("ij,jk->ik", (x,), "as many operands"),
                              ("ii->i", (x,), "at place 1: a letter occurs once"), ("ij,j1->i", (x, x), "at place 4"),
                              ("ij,jk->ik", (x, x), "two extents of 'j'"), ("ij,jk->il", (x, x.T), "the result's 'l'"),
                              ("ij,kl->ik", (x, x), "nor the other operand has 'j'"), ("i,ij->j", (x, x), "operand '0'"),
                              ("i,j,k->i", (x, x, x), "at most two operands"), ("abcdefg->a", (x,), "at most six letters")):
    refused(einsum(text, *operands), words)
close()
