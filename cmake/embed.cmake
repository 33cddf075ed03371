# SPDX-License-Identifier: MIT OR Apache-2.0
# cmake -DINPUT=file -DOUTPUT=file.c -DSYMBOL=name -P embed.cmake: a text file as a C array that
# ends in NUL; OUTPUT may be file.cpp too. (A string literal of that length would not be portable C; and
# C++ accepts no number in a char array that a char may be unable to hold.)
# The library's own kernels and headers are packed, to a ninth and a quarter (base/unpack.h).
if(SYMBOL MATCHES "^acui_.*_ptx$|^acui_header_")
    file(ARCHIVE_CREATE OUTPUT "${OUTPUT}.xz" PATHS "${INPUT}" FORMAT raw COMPRESSION XZ
        COMPRESSION_LEVEL 9)
    file(READ "${OUTPUT}.xz" hex HEX)
    file(SIZE "${OUTPUT}.xz" bytes)
    set(more "extern const unsigned ${SYMBOL}_bytes;\nconst unsigned ${SYMBOL}_bytes = ${bytes};\n")
else()
    file(READ "${INPUT}" hex HEX)
endif()
string(REGEX REPLACE "(................................)" "\\1\n    " hex "${hex}")
if(OUTPUT MATCHES "[.]cpp$")
    set(linkage "extern \"C\"")
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," numbers "${hex}")
else()
    set(linkage "extern")
    if(more)
        set(type "unsigned ")
    endif()
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," numbers "${hex}")
endif()
file(WRITE "${OUTPUT}" "/* Generated from a file's text. */
${linkage} const ${type}char ${SYMBOL}[];
const ${type}char ${SYMBOL}[] = {
    ${numbers}0
};
${more}")
