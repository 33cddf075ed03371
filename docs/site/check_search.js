/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* check_search.js SITE SEARCHES: each line "WORDS: PAGE" of the file is a search that must have the page, or
 * the place PAGE#ANCHOR, among its first three results. */
"use strict";
const fs = require("fs"), vm = require("vm");
const [site, searches] = process.argv.slice(2);

const sandbox = { Search: { setIndex: (index) => (sandbox.index = index) } };
vm.createContext(sandbox);
for (const file of ["_static/language_data.js", "_static/search.js", "searchindex.js"])
  vm.runInContext(fs.readFileSync(`${site}/${file}`, "utf8"), sandbox);
sandbox.find = vm.runInContext(
  `(query) => {
    const stemmer = new Stemmer(), stem = (word) => stemmer.stemWord(word);
    return rankSearch(index, searchWords(query, stem, stopwords), stem);
  }`, sandbox);

let count = 0, wrong = 0;
for (const line of fs.readFileSync(searches, "utf8").split("\n")) {
  if (!line || line.startsWith("#")) continue;
  const [words, wanted] = line.split(": ");
  const found = sandbox.find(words).map((result) => result[0] + result[2]);
  const at = found.findIndex((place) => place === wanted);
  count++;
  if (at < 0 || at > 2) {
    wrong++;
    console.log(`a search for "${words}" has ${wanted} at place ${at + 1} of ${found.length}; first are:`,
                found.slice(0, 4).join(" "));
  }
}
console.log(`${count} searches, ${wrong} of which do not find what they should`);
process.exit(wrong || !count ? 1 : 0);
