# SPDX-License-Identifier: MIT OR Apache-2.0
# cmake -DINPUT=file -DOUTPUT=file.c -DSYMBOL=name -P embed.cmake: a text file as a C array that
# ends in NUL, or as one of C++, if OUTPUT is file.cpp. (A string literal of that length would not be
# portable C; in C++ a number that a char may not hold can not stand in its array.)
file(READ "${INPUT}" hex HEX)
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
