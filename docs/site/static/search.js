/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The order of what the site's search finds. Sphinx's own puts all pages that have all words beside each
 * other; here rare words count for more, headings for more than text, a heading is found with the place
 * where it stands, and a word may be missing. The index is Sphinx's (searchindex.js).
 */
"use strict";

/* "C++" would be no word: its letter is too short. */
const lower = (text) => text.toLowerCase().replaceAll("c++", "cpp");

/* The words to look for, as they stand in the index; `stem` shortens "copies" to "copi". */
function searchWords(query, stem, ignored) {
  const words = lower(query).split(/[^a-z0-9_]+/).filter((word) => word.length > 1);
  const left = words.filter((word) => !ignored.includes(word));
  return [...new Set((left.length ? left : words).map(stem))];
}

const listOf = (files) => (files === undefined ? [] : Array.isArray(files) ? files : [files]);

/* How well each page has the word: 1 as it is, less as a part of another. */
function pagesWith(table, word) {
  const pages = new Map();
  for (const term of Object.keys(table)) {
    const fit = term === word ? 1 : word.length > 2 && term.includes(word) ? 0.4 : 0;
    if (fit)
      for (const page of listOf(table[term])) pages.set(page, Math.max(fit, pages.get(page) || 0));
  }
  return pages;
}

/* How well a heading or a name has the word, as one of the words that it consists of. */
function fitOf(text, word, stem) {
  let best = 0;
  for (const piece of lower(text).split(/[^a-z0-9]+/)) {
    if (piece === word || stem(piece) === word) return 1;
    if (word.length > 2 && piece.startsWith(word)) best = 0.5;
  }
  return text.toLowerCase() === word ? 1 : best;
}

/*
 * What the words find, best first: [page, title, anchor, description, score, file], as Sphinx shows
 * it. Pages count for words in their text and title, headings and declared names for their own words
 * and a little for the page around them.
 */
function rankSearch(index, words, stem) {
  const count = index.docnames.length;
  const weights = [], scores = new Map(), results = [];
  for (const word of words) {
    const text = pagesWith(index.terms, word), titles = pagesWith(index.titleterms, word);
    const weight = Math.log(1 + count / (1 + text.size));
    weights.push(weight);
    for (const [page, fit] of text) scores.set(page, (scores.get(page) || 0) + weight * fit);
    for (const [page, fit] of titles) scores.set(page, (scores.get(page) || 0) + weight * fit);
  }
  const all = weights.reduce((a, b) => a + b, 0) || 1;
  const add = (page, title, anchor, description, score) =>
    results.push([index.docnames[page], title, anchor, description, score, index.filenames[page]]);
  for (const [page, score] of scores)
    if (score >= 0.5 * all) add(page, index.titles[page], "", "page", score / all);
  const place = (text) =>
    words.reduce((sum, word, i) => sum + weights[i] * fitOf(text, word, stem), 0) / all;
  for (const [title, places] of Object.entries(index.alltitles)) {
    const score = place(title);
    for (const [page, id] of score >= 0.5 ? places : [])
      if (id !== null)
        add(page, title, "#" + id, "in " + index.titles[page], 4 * score + (scores.get(page) || 0) / all);
  }
  for (const [prefix, objects] of Object.entries(index.objects))
    for (const [page, kind, , , name] of objects) {
      const whole = words.length === 1 && ("acu_" + words[0] === name || words[0] === name.toLowerCase());
      const score = (whole ? 3 : 1) * place(name);
      if (score >= 0.6)
        add(page, name, "#" + name, index.objnames[kind][1] + ", in " + index.titles[page],
            3 * score + (scores.get(page) || 0) / all);
    }
  return results.sort((a, b) => b[4] - a[4]).slice(0, 40);
}

/* In a browser, on the page of the search: in the place of Sphinx's. */
if (typeof document !== "undefined")
  document.addEventListener("DOMContentLoaded", () => {
    if (typeof Search === "undefined") return;
    Search.query = (query) => {
      const stemmer = new Stemmer(), stem = (word) => stemmer.stemWord(word);
      const found = rankSearch(Search._index, searchWords(query, stem, stopwords), stem);
      const progress = document.getElementById("search-progress");
      if (progress) progress.innerText = "";
      _displayNextItem(found.reverse(), found.length, new Set(), new Set());
    };
  });
