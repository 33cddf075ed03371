# SPDX-License-Identifier: MIT OR Apache-2.0
# cmake -DINPUT=file -DOUTPUT=file.c -DSYMBOL=name -P embed.cmake: a text file as a C array that
# ends in NUL. (A string literal of that length would not be portable C.)
file(READ "${INPUT}" hex HEX)
string(REGEX REPLACE "(................................)" "\\1\n    " hex "${hex}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
file(WRITE "${OUTPUT}" "/* Generated from a file's text. */
extern const char ${SYMBOL}[];
const char ${SYMBOL}[] = {
    ${bytes}0
};
")
