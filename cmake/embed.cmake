# SPDX-License-Identifier: MIT OR Apache-2.0
# cmake -DINPUT=file -DOUTPUT=file.c -DSYMBOL=name -P embed.cmake: a text file as a C array that
# ends in NUL; OUTPUT may be file.cpp too. (A string literal of that length would not be portable C; and
# C++ accepts no number in a char array that a char may be unable to hold.)
if(SYMBOL MATCHES "^acui_.*_ptx$") # the library's own kernels, without what only readers need: an eighth
    file(READ "${INPUT}" text)
    string(REGEX REPLACE "[ \t]*//[^\n]*" "" text "${text}")
    string(REGEX REPLACE "\n[ \t\n]+" "\n" text "${text}")
    string(REGEX REPLACE "[ \t]+" " " text "${text}")
    string(REPLACE ", " "," text "${text}")
    string(HEX "${text}" hex)
else()
    file(READ "${INPUT}" hex HEX)
endif()
string(REGEX REPLACE "(................................)" "\\1\n    " hex "${hex}")
if(OUTPUT MATCHES "[.]cpp$")
    set(linkage "extern \"C\"")
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${hex}")
else()
    set(linkage "extern")
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
endif()
file(WRITE "${OUTPUT}" "/* Generated from a file's text. */
${linkage} const char ${SYMBOL}[];
const char ${SYMBOL}[] = {
    ${bytes}0
};
")
