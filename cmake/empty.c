/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Keeps the library's list of sources from being empty, whatever options leave out. */
typedef int acui_empty;
